//! `RING-ARITHMETIC`, `VALID-BEFORE-USE` and `POST-BEFORE-DOORBELL`, as far as events show them.
//!
//! The engine's race detector stands behind the last two: a descriptor word that is read before its
//! ownership was seen, or fetched before it was published, is a race.

use super::Rule;
use crate::judge::Verdicts;
use crate::map::FewMap;
use pollproof_events::{CqId, Event, Record, RingId};

const RING: &str = "RING-ARITHMETIC";
const VALID: &str = "VALID-BEFORE-USE";
const POST: &str = "POST-BEFORE-DOORBELL";

#[derive(Default)]
struct Cq {
    written: u32,
    consumed: u32,
    set_ci: u32,
}

#[derive(Default)]
struct Ring_ {
    refilled: u32,
    rung: u32,
}

/// State of each queue.
#[derive(Default)]
pub(crate) struct Ring {
    cqs: FewMap<CqId, Cq>,
    rings: FewMap<RingId, Ring_>,
}

impl Rule for Ring {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        match record.event {
            Event::RingStarted { ring, cq } => {
                self.cqs.remove(cq);
                self.rings.remove(ring);
            }
            Event::CqeWrite { cq, index, .. } => {
                self.cqs.entry(cq).written = index.wrapping_add(1);
            }
            Event::CqeConsume { cq, index, .. } => self.consumed(cq, index, record, verdicts),
            Event::CqSetCi { cq, consumer } => {
                let state = self.cqs.entry(cq);
                state.set_ci = consumer;
                if consumer != state.consumed & 0xff_ffff {
                    let message = format!(
                        "CQ {cq:#x}: index {consumer} is published, but {} \
                                           completions were consumed",
                        state.consumed
                    );
                    verdicts.broken(RING, record, message);
                }
            }
            Event::CqOverrun { cq, producer, consumer, size } => {
                let message = format!(
                    "CQ {cq:#x} overruns: producer {producer}, consumer {consumer}, {size} entries"
                );
                verdicts.broken(RING, record, message);
            }
            Event::EqOverrun { eq } => {
                verdicts.broken(RING, record, format!("EQ {eq} overruns"));
            }
            Event::Refill { ring, producer, consumer, size } => {
                verdicts.reach(RING, "refilled");
                self.rings.entry(ring).refilled = producer;
                if producer.wrapping_sub(consumer) > size {
                    let message = format!("ring {ring:#x}: {producer} - {consumer} exceeds {size}");
                    verdicts.broken(RING, record, message);
                }
            }
            Event::Doorbell { ring, producer } => {
                verdicts.reach(POST, "rung");
                let state = self.rings.entry(ring);
                state.rung = producer;
                if producer.wrapping_sub(state.refilled) as i32 > 0 {
                    let message = format!(
                        "ring {ring:#x}: {producer} is rung, but only {} was \
                                           posted",
                        state.refilled
                    );
                    verdicts.broken(POST, record, message);
                }
            }
            Event::Rest(_) => self.at_rest(record, verdicts),
            _ => {}
        }
    }
}

impl Ring {
    fn consumed(&mut self, cq: CqId, index: u32, record: &Record, verdicts: &mut Verdicts) {
        let state = self.cqs.entry(cq);
        verdicts.reach(VALID, "consumed");
        if index != state.consumed {
            let message =
                format!("CQ {cq:#x}: completion {index} is consumed, {} is next", state.consumed);
            verdicts.broken(VALID, record, message);
        }
        if state.written.wrapping_sub(index) as i32 <= 0 {
            let message =
                format!("CQ {cq:#x}: completion {index} is consumed before the device wrote it");
            verdicts.broken(VALID, record, message);
        }
        state.consumed = index.wrapping_add(1);
    }

    fn at_rest(&self, record: &Record, verdicts: &mut Verdicts) {
        for (cq, state) in self.cqs.iter() {
            if state.set_ci != state.consumed & 0xff_ffff {
                let message = format!(
                    "CQ {cq:#x}: {} completions were consumed, but the index last published is {}",
                    state.consumed, state.set_ci
                );
                verdicts.broken(RING, record, message);
            }
        }
        for (ring, state) in self.rings.iter() {
            if state.rung != state.refilled {
                let message = format!(
                    "ring {ring:#x}: posted up to {}, rung up to {}",
                    state.refilled, state.rung
                );
                verdicts.broken(POST, record, message);
            }
        }
    }
}
