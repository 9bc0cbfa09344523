//! The device as a whole: time in, completions in, requests out.

use crate::csr::{Csr, Touch};
use crate::flow::{FlowConfig, FlowControl};
use crate::irq::Irq;
use crate::mac::Link;
use crate::misuse::Misuses;
use crate::nvm::Nvm;
use crate::out::{Out, Read};
use crate::params::{IdleWriteBack, Medium};
use crate::queue_set::QueueSet;
use crate::rsc::Aggregate;
use crate::rss::Toeplitz;
use crate::rx::Arrived;
use crate::rxq::RxQueue;
use crate::sfp::Sfp;
use crate::stuck::Leftover;
use crate::tx::TxEngine;
use crate::txq::{TxQueue, TX_STALLED};
use crate::{Misuse, Params, Stats};
use pollproof_pcie::{MsixBar, MsixTable, Outbound, Ring};
use pollproof_regs::ixgbe::{pci, QUEUES, VECTORS};
use pollproof_regs::ixgbe_map as map;
use pollproof_regs::ixgbe_stat as stat;
use std::collections::BTreeMap;

/// BAR 4 as after a reset (9.3.8).
pub(crate) fn msix(params: &Params) -> MsixBar {
    MsixBar::new(VECTORS, pci::MSIX_PBA, params.msix_masked_at_reset)
}

/// One port of an 82599. See the crate for how it is driven.
pub struct Intel82599 {
    pub(crate) params: Params,
    pub(crate) now_ps: u64,
    pub(crate) reset_done_ps: u64,
    pub(crate) csr: Csr,
    pub(crate) out: Out,
    pub(crate) irq: Irq,
    pub(crate) msix: MsixBar,
    pub(crate) nvm: Nvm,
    pub(crate) sfp: Sfp,
    pub(crate) link: Link,
    pub(crate) flow: FlowControl,
    pub(crate) leftover: Vec<Leftover>,
    pub(crate) rxq: Vec<RxQueue>,
    pub(crate) fifo: Ring<Arrived>,
    pub(crate) fifo_bytes: u32,
    pub(crate) toeplitz: Option<Toeplitz>,
    pub(crate) rsc: Vec<Aggregate>,
    pub(crate) txq: Vec<TxQueue>,
    pub(crate) tx: TxEngine,
    /// Transmit queues that are enabled.
    pub(crate) active_tx: QueueSet,
    /// Queues whose fetch waits for the bus.
    pub(crate) stalled: QueueSet,
    pub(crate) stats: Stats,
    pub(crate) misuses: Misuses,
}

impl Intel82599 {
    /// A device after power on.
    pub fn new(params: Params) -> Self {
        let module = matches!(params.medium, Medium::Sfp { module: true });
        let mut device = Self {
            params,
            now_ps: 0,
            reset_done_ps: 0,
            csr: Csr::new(),
            out: Out::default(),
            irq: Irq::of(&params),
            msix: msix(&params),
            nvm: Nvm::new(params.medium, params.mac),
            sfp: Sfp::new(module),
            link: Link::new(),
            flow: FlowControl::default(),
            leftover: Vec::new(),
            rxq: vec![RxQueue::default(); QUEUES as usize],
            fifo: Ring::default(),
            fifo_bytes: 0,
            toeplitz: None,
            rsc: Vec::new(),
            txq: vec![TxQueue::default(); QUEUES as usize],
            tx: TxEngine::default(),
            active_tx: QueueSet::default(),
            stalled: QueueSet::default(),
            stats: Stats::default(),
            misuses: Misuses::default(),
        };
        device.hard_reset();
        device
    }

    /// Tells the time; it never goes back. Call [`Self::expire`] after it.
    #[inline]
    pub fn set_time(&mut self, now_ps: u64) {
        self.now_ps = self.now_ps.max(now_ps);
    }

    /// When the device next does something by itself.
    pub fn next_deadline(&self) -> Option<u64> {
        let now_ps = self.now_ps;
        let mut first = u64::MAX;
        let mut offer = |at_ps: u64| first = first.min(at_ps);
        let later = |ps: u64| if ps > now_ps { ps } else { u64::MAX };
        offer(self.fifo.front().map_or(u64::MAX, |head| later(head.ready_ps())));
        offer(later(self.reset_done_ps));
        offer(self.flow.repeat_ps().unwrap_or(u64::MAX));
        offer(self.link_deadline().unwrap_or(u64::MAX));
        offer(self.tx_deadline().unwrap_or(u64::MAX));
        offer(self.leftover_deadline().unwrap_or(u64::MAX));
        // What needs the bus waits while the driver keeps the function off it.
        if self.may_master() {
            if !self.tx.holding.is_empty() {
                let due = |n| self.tx_flush_deadline(n).unwrap_or(u64::MAX);
                self.active_tx.iter().for_each(|n| offer(due(n)));
            }
            self.rsc.iter().for_each(|group| offer(group.close_ps()));
            offer(self.irq.next_deadline(now_ps).unwrap_or(u64::MAX));
        }
        (first != u64::MAX).then_some(first)
    }

    /// Does what is due now.
    pub fn expire(&mut self) {
        self.update_link();
        if self.may_master() {
            self.expire_held();
        }
        self.check_fill();
        self.pump();
    }

    /// Aggregates and write-backs whose time has come.
    fn expire_held(&mut self) {
        while let Some(at) = self.rsc.iter().position(|g| g.close_ps() <= self.now_ps) {
            let n = self.rsc.get(at).map_or(0, Aggregate::queue);
            self.rsc_close(at);
            self.flush_rx(n);
        }
        if self.tx.holding.is_empty() {
            return;
        }
        for n in self.active_tx.iter() {
            if self.tx_flush_deadline(n).is_some_and(|ps| ps <= self.now_ps) {
                self.flush_tx(n);
            }
        }
    }

    /// Vectors whose message or held work waits for moderation, lowest first.
    pub fn pending_vectors(&self) -> Vec<u32> {
        let mut bits = self.irq.pending();
        for group in &self.rsc {
            bits |= self.irq.queue_vector(group.queue(), false).map_or(0, |v| 1 << v);
        }
        for n in self.active_tx.iter() {
            let waits = self.params.tx_wb_idle != IdleWriteBack::Never;
            let holds = self.txq.get(n as usize).is_some_and(|q| q.write_back.since_ps().is_some());
            let holds = waits && holds;
            let vector = self.irq.queue_vector(n, true).filter(|_| holds);
            bits |= vector.map_or(0, |v| 1 << v);
        }
        (0..64).filter(|v| bits >> v & 1 != 0).collect()
    }

    /// Lets the moderation of a vector end whatever the time; false when nothing waits for it.
    pub fn expire_vector(&mut self, vector: u32) -> bool {
        if !self.may_master() || !self.pending_vectors().contains(&vector) {
            return false;
        }
        self.irq.expire(vector, self.now_ps);
        self.flush_vector(vector);
        self.pump();
        true
    }

    /// The next request to the bus.
    #[inline]
    pub fn pop(&mut self) -> Option<Outbound> {
        let was_full = self.out.len() >= self.params.out_limit;
        let out = self.out.pop();
        if was_full {
            self.pump();
        }
        out
    }

    /// The next request to the bus, where it waits, if taking it lets nothing else go on and no
    /// frame waits at the wire either.
    #[inline]
    pub fn front(&self) -> Option<&Outbound> {
        let plain = self.out.len() < self.params.out_limit && self.tx.wire.is_empty();
        self.out.front().filter(|_| plain)
    }

    /// That request was performed.
    #[inline]
    pub fn front_done(&mut self) {
        self.out.drop_front();
    }

    /// The next request leaves for the bus. It stays where it is until it has [`Self::arrived`],
    /// and arrives in order; a reset no longer takes it back. Not to be mixed with [`Self::pop`].
    #[inline]
    pub fn depart(&mut self) -> Option<&Outbound> {
        let was_full = self.out.len() >= self.params.out_limit;
        if !self.out.depart() {
            return None;
        }
        if was_full {
            self.pump();
        }
        self.out.departed()
    }

    /// The request that arrives next.
    #[inline]
    pub fn on_bus(&self) -> Option<&Outbound> {
        self.out.on_bus()
    }

    /// That request arrived.
    #[inline]
    pub fn arrived(&mut self) {
        self.out.arrived();
    }

    /// Whether no request waits for the bus and no frame at the wire.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.out.len() == 0 && self.tx.wire.is_empty()
    }

    /// Whether a request waits for the bus.
    #[inline]
    pub fn has_output(&self) -> bool {
        self.out.len() != 0
    }

    /// A DMA read is answered. Bytes that are missing count as zero.
    pub fn dma_complete(&mut self, tag: u32, bytes: &[u8]) {
        match self.out.take_read(tag) {
            None => self.tell(Misuse::UnknownRead, u64::from(tag)),
            Some(Read::Descriptors { is_tx: false, queue, id }) => self.rx_filled(queue, id, bytes),
            Some(Read::Descriptors { is_tx: true, queue, id }) => self.tx_filled(queue, id, bytes),
            Some(Read::TxData { job, part }) => self.tx_data_filled(job, part, bytes),
            Some(Read::Abandoned) => {}
        }
        self.pump();
    }

    /// Moves everything on until it has to wait.
    pub(crate) fn pump(&mut self) {
        if !self.stalled.is_empty() {
            self.fetch_stalled();
        }
        if !self.leftover.is_empty() {
            self.land_leftovers();
        }
        while self.rx_step() || self.tx_step() {}
        // Only a batch leaves something held.
        for n in 0..if self.params.rx_wb_batch > 1 { QUEUES } else { 0 } {
            self.flush_rx(n);
        }
        if self.irq.wants() {
            self.interrupt();
        }
    }

    #[inline(never)]
    fn fetch_stalled(&mut self) {
        for n in std::mem::take(&mut self.stalled).iter() {
            if n < TX_STALLED {
                self.fetch_rx(n, 0);
            } else {
                self.fetch_tx(n - TX_STALLED);
            }
        }
    }

    /// Write-backs that are held for a vector go before its message (7.3.2.1).
    fn flush_vector(&mut self, vector: u32) {
        while let Some(at) =
            self.rsc.iter().position(|g| self.irq.queue_vector(g.queue(), false) == Some(vector))
        {
            let n = self.rsc.get(at).map_or(0, Aggregate::queue);
            self.rsc_close(at);
            self.flush_rx(n);
        }
        for n in self.active_tx.iter() {
            if self.irq.queue_vector(n, true) == Some(vector) {
                self.flush_tx(n);
            }
        }
    }

    /// Fires the vectors that are due.
    #[inline(never)]
    fn interrupt(&mut self) {
        while let Some(vector) = self.irq.due(self.now_ps) {
            if !self.may_master() {
                return;
            }
            self.flush_vector(vector);
            self.irq.fire(vector, self.now_ps);
            if self.irq.gpie() & pollproof_regs::ixgbe::gpie::MSIX_MODE == 0 {
                continue;
            }
            self.stats.msix += 1;
            if self.msix.send(vector) {
                self.out.msix(vector);
            }
        }
    }

    /// Looks at the fill of the packet buffer: XOFF or XON goes out when it is due.
    #[inline]
    pub(crate) fn check_fill(&mut self) {
        // Without flow control, as most ports are, nothing is ever sent.
        if self.csr.get(map::FCCFG) == 0 && !self.flow.is_xoff() {
            return;
        }
        self.check_thresholds();
    }

    fn check_thresholds(&mut self) {
        let config = FlowConfig {
            fccfg: self.csr.get(map::FCCFG),
            fcrth: self.csr.get(map::FCRTH),
            fcrtl: self.csr.get(map::FCRTL),
            pause: self.csr.get(map::FCTTV) as u16,
            repeat: self.csr.get(map::FCRTV) as u16,
            byte_ps: self.params.wire_byte_ps,
        };
        let Some(quanta) = self.flow.filled(self.fifo_bytes, &config, self.now_ps) else { return };
        self.send_pause(quanta);
    }

    /// XOFF, or XON with a pause time of 0.
    #[cold]
    fn send_pause(&mut self, quanta: u16) {
        let room = self.tx.wire.len() < self.params.wire_limit.saturating_mul(2).max(16);
        if !self.link.up || self.loops() || !room {
            return;
        }
        let counter = if quanta == 0 { stat::LXONTXC } else { stat::LXOFFTXC };
        self.csr.count(counter, 1);
        let low = self.csr.get(map::RAL).to_le_bytes();
        let high = self.csr.get(map::RAH).to_le_bytes();
        let from = [low[0], low[1], low[2], low[3], high[0], high[1]];
        self.put_on_wire(crate::flow::pause_frame(from, quanta));
    }

    /// Frames inside the device: in the packet buffer or in an open aggregate.
    pub fn held(&self) -> u64 {
        self.fifo.len() as u64 + self.rsc.len() as u64
    }

    /// Frames behind the oldest in the packet buffer whose own queue has descriptors.
    pub fn blocked(&self) -> u64 {
        let could = |n: u32| {
            self.rxq.get(n as usize).is_some_and(|q| q.enable.is_on() && q.ring.owned() > 0)
        };
        self.fifo.iter().skip(1).filter(|frame| could(frame.queue)).count() as u64
    }

    /// Bytes in the receive packet buffer.
    pub fn buffered_bytes(&self) -> u32 {
        self.fifo_bytes
    }

    /// What was counted.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// What the driver did wrong, by kind.
    pub fn misuses(&self) -> &BTreeMap<Misuse, u64> {
        self.misuses.counts()
    }

    /// Registers that were touched and are not modelled, by offset.
    pub fn not_modelled(&self) -> &BTreeMap<u32, Touch> {
        self.csr.touched()
    }

    /// A register as it is stored, without the effects of a read.
    pub fn peek(&self, offset: u32) -> u32 {
        self.csr.get(self.csr.canonical(offset))
    }

    /// The cause logic.
    pub fn irq(&self) -> &Irq {
        &self.irq
    }

    /// Level of the legacy interrupt (INTx).
    pub fn intx(&self) -> bool {
        self.irq.line()
    }

    /// The MSI-X table: masks and pending bits.
    pub fn msix_table(&self) -> &MsixTable {
        self.msix.table()
    }

    /// Address and data of a vector's message, as the driver wrote them to the table.
    pub fn msix_message(&self, vector: u32) -> Option<(u64, u32)> {
        self.msix.message(vector)
    }

    /// Enable and function mask of the MSI-X capability.
    pub fn set_msix_control(&mut self, enabled: bool, function_mask: bool) {
        for vector in self.msix.control(enabled, function_mask) {
            self.out.msix(vector);
        }
    }

    pub(crate) fn tell(&mut self, kind: Misuse, at: u64) {
        self.misuses.tell(kind, at);
    }
}
