//! The device as a whole: registers, time, requests to the bus and their answers.

use crate::evq::Evq;
use crate::rxq::Rxq;
use crate::txq::Txq;
use crate::{Params, Stats};
use pollproof_connectx_3::Toeplitz;
use pollproof_events::{emit, Event, What};
use pollproof_pcie::Outbound;
use pollproof_regs::ef10::{
    RingContext, BAR_VI, DESC_WPTR_MASK, EVQ_RPTR, EVQ_TMR, EVQ_TMR_HOLDOFF, EVQ_TMR_VALUE,
    RX_DESC_UPD, TX_DESC_UPD, VI_STRIDE,
};
use std::collections::{BTreeMap, VecDeque};

/// Why the device reads memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Receive descriptors of a ring.
    Rx(u32),
    /// Send descriptors of a ring.
    Tx(u32),
    /// Bytes of a packet that is sent.
    TxData(u32),
}

/// One function of an EF10. See the crate for how it is driven.
pub struct Ef10 {
    pub(crate) params: Params,
    pub(crate) now_ps: u64,
    pub(crate) evqs: Vec<Option<Evq>>,
    pub(crate) rxqs: Vec<Option<Rxq>>,
    pub(crate) txqs: Vec<Option<Txq>>,
    pub(crate) toeplitz: Toeplitz,
    pub(crate) rss_queues: u32,
    pub(crate) out: VecDeque<Outbound>,
    pub(crate) sent: VecDeque<Vec<u8>>,
    reads: BTreeMap<u32, Read>,
    next_tag: u32,
    pub(crate) stats: Stats,
}

impl Ef10 {
    /// Queues of a kind.
    pub(crate) const QUEUES_MAX: u32 = 64;

    /// A device without queues.
    pub fn new(params: Params) -> Self {
        Self {
            params,
            now_ps: 0,
            evqs: Vec::new(),
            rxqs: Vec::new(),
            txqs: Vec::new(),
            toeplitz: Toeplitz::new(&[0; 40]),
            rss_queues: 1,
            out: VecDeque::new(),
            sent: VecDeque::new(),
            reads: BTreeMap::new(),
            next_tag: 0,
            stats: Stats::default(),
        }
    }

    /// `MC_CMD_RSS_CONTEXT_SET_KEY` and `_SET_TABLE`: queues in turn.
    pub fn set_rss(&mut self, key: &[u8; 40], queues: u32) {
        self.toeplitz = Toeplitz::new(key);
        self.rss_queues = queues.clamp(1, Self::QUEUES_MAX);
    }

    pub(crate) fn slot<T>(queues: &mut Vec<Option<T>>, index: u32) -> &mut Option<T> {
        let index = index.min(Self::QUEUES_MAX) as usize;
        if queues.len() <= index {
            queues.resize_with(index + 1, || None);
        }
        &mut queues[index]
    }

    pub(crate) fn ring_fits(index: u32, context: &RingContext) -> bool {
        let sized = context.entries.is_power_of_two() && (8..=4096).contains(&context.entries);
        sized && index < Self::QUEUES_MAX && context.label < 32
    }

    /// Tells the time, picoseconds; it never goes back.
    pub fn set_time(&mut self, now_ps: u64) {
        self.now_ps = self.now_ps.max(now_ps);
    }

    /// When it next does something by itself.
    pub fn next_deadline(&self) -> Option<u64> {
        let holdoffs = self.evqs.iter().flatten().filter(|q| q.pending).map(|q| q.quiet_until_ps);
        holdoffs.chain(self.rx_deadline()).min()
    }

    /// Does what is due.
    pub fn expire(&mut self) {
        (0..self.rxqs.len() as u32).for_each(|rxq| self.pump(rxq));
        self.flush_due(false);
        self.end_holdoffs(false);
    }

    /// Does one thing that waits for time, whatever the time; false when nothing does.
    pub fn expire_any(&mut self) -> bool {
        self.flush_due(true) || self.end_holdoffs(true)
    }

    /// The next request to the bus.
    pub fn pop(&mut self) -> Option<Outbound> {
        self.out.pop_front()
    }

    /// The same where it waits, if it is no message: the table tells of those as they are taken.
    pub fn front(&self) -> Option<&Outbound> {
        self.out.front().filter(|out| !matches!(out, Outbound::Msix { .. }))
    }

    /// Whether there is one.
    pub fn has_output(&self) -> bool {
        !self.out.is_empty()
    }

    /// A packet that was sent.
    pub fn pop_frame(&mut self) -> Option<Vec<u8>> {
        self.sent.pop_front()
    }

    pub(crate) fn read(&mut self, addr: u64, len: u32, what: What, read: Read) {
        let tag = self.next_tag;
        self.next_tag = tag.wrapping_add(1);
        self.reads.insert(tag, read);
        self.out.push_back(Outbound::DmaRead { tag, addr, len, what });
    }

    /// A DMA read is answered.
    pub fn dma_complete(&mut self, tag: u32, bytes: &[u8]) {
        match self.reads.remove(&tag) {
            Some(Read::Rx(rxq)) => self.rx_fetched(rxq, bytes),
            Some(Read::Tx(txq)) => self.tx_fetched(txq, bytes),
            Some(Read::TxData(txq)) => self.tx_data(txq, bytes),
            None => self.misuse("completion of a read that is not open", tag.into()),
        }
    }

    /// A register is written.
    pub fn mmio_write32(&mut self, bar: u8, offset: u64, value: u32) {
        let (vi, register) = ((offset / VI_STRIDE) as u32, offset % VI_STRIDE);
        if bar != BAR_VI || offset / VI_STRIDE >= u64::from(Self::QUEUES_MAX) {
            return self.misuse("write of an unknown register", offset);
        }
        match register {
            EVQ_RPTR => self.write_rptr(vi, value),
            EVQ_TMR if value & !EVQ_TMR_VALUE == EVQ_TMR_HOLDOFF => {
                self.write_tmr(vi, value & EVQ_TMR_VALUE);
            }
            EVQ_TMR if value == 0 => self.write_tmr(vi, 0),
            RX_DESC_UPD => self.write_rx_wptr(vi, value & DESC_WPTR_MASK),
            TX_DESC_UPD => self.write_tx_wptr(vi, value & DESC_WPTR_MASK),
            _ => self.misuse("write of an unknown register", offset),
        }
    }

    /// A register is read. None of these can be: 0.
    pub fn mmio_read32(&mut self, _bar: u8, offset: u64) -> u32 {
        self.misuse("read of an unknown register", offset);
        0
    }

    /// Frames inside the device.
    pub fn held(&self) -> u64 {
        self.rx_held()
    }

    /// What was counted.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    #[cold]
    pub(crate) fn misuse(&mut self, why: &'static str, at: u64) {
        self.stats.misuse += 1;
        emit(Event::DeviceMisuse { why, at });
    }
}
