//! Event queues: EQE, owner by lap, one MSI-X message per arm.

use crate::ConnectX3;
use pollproof_events::{emit, Event, What};
use pollproof_pcie::Payload;
use pollproof_regs::mlx4::{db, eqe, EqContext};
use pollproof_sync::switch::bug;

pub(crate) struct Eq {
    pub(crate) context: EqContext,
    producer: u32,
    consumer: u32,
    armed: bool,
}

/// An event of a CQ that is not written yet.
#[derive(Clone, Copy)]
pub(crate) struct Delayed {
    pub(crate) due_ps: u64,
    eqn: u32,
    kind: u32,
    pub(crate) cqn: u32,
    syndrome: u32,
}

/// State of an EQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EqView {
    /// Free-running producer index.
    pub producer: u32,
    /// Consumer index as the device knows it, 24 bits.
    pub consumer: u32,
    /// Entries.
    pub size: u32,
    /// Whether the next EQE sends a message.
    pub armed: bool,
}

impl Eq {
    /// An EQ starts armed, as `mlx4_create_eq` asks for.
    pub(crate) fn new(context: EqContext) -> Self {
        Self { context, producer: 0, consumer: 0, armed: true }
    }

    fn size(&self) -> u32 {
        1 << self.context.log_size
    }

    fn pending(&self) -> u32 {
        self.producer.wrapping_sub(self.consumer) & db::INDEX_MASK
    }

    pub(crate) fn view(&self) -> EqView {
        let (producer, consumer) = (self.producer, self.consumer);
        EqView { producer, consumer, size: self.size(), armed: self.armed }
    }
}

impl ConnectX3 {
    /// An event of a CQ: at once, or after [`crate::Params::event_delay_ps`].
    pub(crate) fn push_eqe(&mut self, eqn: u32, kind: u32, cqn: u32, syndrome: u32) {
        if self.params.event_delay_ps == 0 {
            return self.push_async_eqe(eqn, kind, 0, [cqn, 0, syndrome, 0, 0, 0]);
        }
        let due_ps = self.now_ps.saturating_add(self.params.event_delay_ps);
        self.events.push_back(Delayed { due_ps, eqn, kind, cqn, syndrome });
    }

    /// Events of CQs that are due are written.
    pub(crate) fn push_due_eqes(&mut self) {
        while let Some(event) = self.events.front().filter(|e| e.due_ps <= self.now_ps) {
            let Delayed { eqn, kind, cqn, syndrome, .. } = *event;
            self.events.pop_front();
            self.push_async_eqe(eqn, kind, 0, [cqn, 0, syndrome, 0, 0, 0]);
        }
    }

    /// Writes an EQE, its words from the second on, and signals it when the EQ is armed.
    pub(crate) fn push_async_eqe(&mut self, eqn: u32, kind: u32, subtype: u32, words: [u32; 6]) {
        let Some(eq) = self.eqs.get_mut(eqn as usize).and_then(Option::as_mut) else { return };
        // Assumed: an EQ of n entries holds n. Linux keeps a spare half anyway (`eq.c`).
        if eq.pending() >= eq.size() {
            self.stats.eq_overruns += 1;
            emit(Event::EqOverrun { eq: eqn });
            return;
        }
        let lap = eq.producer >> eq.context.log_size & 1;
        let entry = entry(&[
            (eqe::TYPE, kind << 16 | subtype),
            (eqe::CQN, words[0]),
            (eqe::CQN + 4, words[1]),
            (eqe::SYNDROME, words[2]),
            (eqe::SYNDROME + 4, words[3]),
            (eqe::SYNDROME + 8, words[4]),
            (eqe::SYNDROME + 12, words[5]),
            (eqe::OWNER_WORD, lap * eqe::OWNER),
        ]);
        let slot = eq.producer & (eq.size() - 1);
        let addr = eq.context.buf + u64::from(slot * eqe::BYTES);
        eq.producer = eq.producer.wrapping_add(1);
        self.stats.eqes += 1;
        self.out.write(addr, Payload::entry(entry), What::Eqe);
        self.signal(eqn);
    }

    /// Sends the message of an armed EQ that has entries pending.
    fn signal(&mut self, eqn: u32) {
        let Some(eq) = self.eqs.get_mut(eqn as usize).and_then(Option::as_mut) else { return };
        if eq.armed && eq.pending() != 0 {
            eq.armed = bug("M-EQ-TWICE");
            self.stats.msix += 1;
            self.out.msix(eq.context.vector);
        }
    }

    /// The EQ doorbell: consumer index, and arm in bit 31. Arming with entries pending fires at
    /// once: the driver arms after its last look and does not look again (`mlx4_eq_int`).
    pub(crate) fn eq_doorbell(&mut self, eqn: u32, word: u32, offset: u64) {
        let Some(eq) = self.eqs.get_mut(eqn as usize).and_then(Option::as_mut) else {
            return self.misuse("EQ doorbell without an EQ", offset);
        };
        let consumer = word & db::INDEX_MASK;
        let pending = eq.producer.wrapping_sub(consumer) & db::INDEX_MASK;
        let sound = pending <= db::INDEX_MASK / 2;
        if pending < eq.pending() {
            eq.consumer = consumer;
        }
        eq.armed |= word & db::EQ_ARM != 0;
        if !sound {
            self.misuse("EQ consumer index passes the producer", offset);
        }
        self.signal(eqn);
    }
}

/// A big-endian entry of 32 bytes from its words by offset; all others are zero.
#[inline]
pub(crate) fn entry<const N: usize>(words: &[(u32, u32); N]) -> [u8; 32] {
    // By way of whole words, which stay in registers.
    let mut halves = [0u128; 2];
    for &(at, word) in words {
        halves[((at / 16) & 1) as usize] |= u128::from(word) << (96 - 8 * (at % 16));
    }
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&halves[0].to_be_bytes());
    bytes[16..].copy_from_slice(&halves[1].to_be_bytes());
    bytes
}
