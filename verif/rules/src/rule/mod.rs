//! One file a rule (small ones that look at the same events share one).

mod arm;
mod budget;
mod buffers;
mod config;
mod conservation;
mod context;
mod disable;
mod gro;
mod hang;
mod hrtimer;
mod id;
mod lists;
mod masked;
mod order;
mod owner;
mod packets;
mod port;
mod qdisc;
mod rate;
mod refs;
mod rest;
mod ring;
mod tail;

use crate::judge::Verdicts;
use pollproof_events::{Event, Record};

/// A rule sees each event once, in order.
pub(crate) trait Rule {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts);
}

/// All rules.
#[derive(Default)]
pub(crate) struct Rules {
    budget: budget::Budget,
    arm: arm::Arm,
    lists: lists::Lists,
    disable: disable::Disable,
    ids: id::Ids,
    conservation: conservation::Conservation,
    order: order::Order,
    ring: ring::Ring,
    buffers: buffers::Buffers,
    rest: rest::Rest,
    tail: tail::Tail,
    port: port::Port,
    owner: owner::Owner,
    contexts: context::Contexts,
    hang: hang::Hang,
    masked: masked::Masked,
    gro: gro::Gro,
    packets: packets::Packets,
    refs: refs::Refs,
    hrtimers: hrtimer::Hrtimers,
    qdiscs: qdisc::Qdiscs,
    rates: rate::Rates,
    configs: config::Configs,
}

impl Rules {
    /// Shows an event to the rules that look at it. A packet has a dozen events that few rules look
    /// at; the test below holds the lists to what rules do.
    #[inline]
    pub(crate) fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        match record.event {
            Event::SkbBuilt { .. } => {}
            Event::DmaWrite { .. } | Event::DmaRead { .. } => {
                if self.port.minds_dma() {
                    self.port.see(record, verdicts);
                }
            }
            Event::Own { .. } => {
                self.buffers.see(record, verdicts);
                self.tail.see(record, verdicts);
            }
            Event::Descriptor { .. } => {
                self.tail.see(record, verdicts);
                self.hang.see(record, verdicts);
            }
            Event::WireRx { .. } => {
                self.conservation.see(record, verdicts);
                self.order.see(record, verdicts);
            }
            Event::SkbEnd { .. } => {
                self.ids.see(record, verdicts);
                self.conservation.see(record, verdicts);
                self.order.see(record, verdicts);
                self.gro.see(record, verdicts);
                self.packets.see(record, verdicts);
            }
            Event::Skb(_) => {
                self.budget.see(record, verdicts);
                self.packets.see(record, verdicts);
                self.refs.see(record, verdicts);
            }
            Event::CqeWrite { .. } => {
                if self.refs.minds_frames() {
                    self.refs.see(record, verdicts);
                }
                self.conservation.see(record, verdicts);
                self.order.see(record, verdicts);
                self.ring.see(record, verdicts);
                self.tail.see(record, verdicts);
            }
            Event::CqeConsume { .. } => {
                self.budget.see(record, verdicts);
                self.disable.see(record, verdicts);
                self.conservation.see(record, verdicts);
                self.ring.see(record, verdicts);
                self.packets.see(record, verdicts);
            }
            Event::Sched(_) => {
                self.hrtimers.see(record, verdicts);
                self.qdiscs.see(record, verdicts);
                self.rates.see(record, verdicts);
                self.configs.see(record, verdicts);
            }
            _ => self.show_all(record, verdicts),
        }
    }

    #[inline(never)]
    pub(crate) fn show_all(&mut self, record: &Record, verdicts: &mut Verdicts) {
        let all: [&mut dyn Rule; 23] = [
            &mut self.budget,
            &mut self.arm,
            &mut self.lists,
            &mut self.disable,
            &mut self.ids,
            &mut self.conservation,
            &mut self.order,
            &mut self.ring,
            &mut self.buffers,
            &mut self.rest,
            &mut self.tail,
            &mut self.port,
            &mut self.owner,
            &mut self.contexts,
            &mut self.hang,
            &mut self.masked,
            &mut self.gro,
            &mut self.packets,
            &mut self.refs,
            &mut self.hrtimers,
            &mut self.qdiscs,
            &mut self.rates,
            &mut self.configs,
        ];
        all.into_iter().for_each(|rule| rule.see(record, verdicts));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pollproof_events::{CqId, Owner, SkbEnd as End, What};
    use pollproof_sync::cpu::Context;

    /// Some event, often of those that not all rules are shown; numbers are small, so that they
    /// meet.
    fn some_event(mut next: impl FnMut(u32) -> u32) -> Event {
        use Event::*;
        let (cq, napi, index): (CqId, _, _) = (next(2), next(2), next(6));
        let (ring, number, flow) = (cq, u64::from(next(6)), next(2));
        let (skb, buf) = (u64::from(cq) << 32 | u64::from(index), 0x1000 + number * 64);
        let owner = |n| [Owner::Free, Owner::Driver, Owner::Device, Owner::Stack][n as usize];
        match next(22) {
            0 => DmaWrite { addr: buf, len: 16, what: What::Cqe },
            1 => DmaRead { addr: buf, len: 16, what: What::Wqe },
            2 => SkbBuilt { skb, flow, len: 60 },
            3 | 4 => Own { buf, from: owner(next(4)), to: owner(next(4)) },
            5 | 6 => Descriptor { tail: cq.into(), index, buf },
            7 | 8 => WireRx { number, flow, len: 60 },
            9 => SkbEnd { skb, flow, napi_id: index, end: End::Socket(flow) },
            10 => SkbEnd { skb, flow, napi_id: 0, end: End::Dropped("why") },
            11 | 12 => CqeWrite { cq, index, number },
            13 | 14 => CqeConsume { cq, index, napi },
            15 => PollEnter { napi, budget: 2, netpoll: false },
            16 => PollExit { napi, work: 1, budget: 2 },
            17 => NapiComplete { napi, work: 1, done: true },
            18 => MmioWrite { bar: 0, offset: cq.into(), value: index.into() },
            19 => RingStarted { ring, cq },
            20 if next(4) == 0 => RingStopped { ring, cq },
            _ => {
                let tail = u64::from(cq);
                TailRing(pollproof_events::TailRing { bar: 0, tail, entries: 4, cq: Some(cq) })
            }
        }
    }

    #[test]
    fn rules_that_are_not_shown_an_event_would_not_have_looked_at_it() {
        let mut state = 7_u64;
        let mut next = |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % u64::from(below)) as u32
        };
        for _ in 0..300 {
            let (mut few, mut all) = (Rules::default(), Rules::default());
            let (mut some, mut every) = (Verdicts::default(), Verdicts::default());
            for number in 0..60 {
                let (event, context) = (some_event(&mut next), Context::default());
                let (step, time_ps, at) = (0, 0, ("here", 1));
                let thread = next(2) as usize;
                let record = Record { number, step, time_ps, thread, context, at, event };
                few.see(&record, &mut some);
                all.show_all(&record, &mut every);
            }
            assert_eq!((&some.findings, &some.reached), (&every.findings, &every.reached));
        }
    }
}
