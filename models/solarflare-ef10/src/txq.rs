//! Send rings: descriptors, the bytes of packets, an event for each batch.

use crate::device::Read;
use crate::Ef10;
use pollproof_events::What;
use pollproof_regs::ef10::{desc, ev, McdiError, RingContext, QWORD_BYTES};

/// A ring.
#[derive(Clone, Debug)]
pub(crate) struct Txq {
    context: RingContext,
    posted: u32,
    fetched: u32,
    reading: bool,
    /// Bytes of the packet that is being read.
    packet: Vec<u8>,
    /// Descriptors of a fetch that are still to be read.
    left: Vec<u64>,
}

impl Ef10 {
    /// `MC_CMD_INIT_TXQ`.
    pub fn init_txq(&mut self, txq: u32, context: RingContext) -> Result<(), McdiError> {
        if !Self::ring_fits(txq, &context) {
            return Err(McdiError::Invalid);
        }
        let slot = Self::slot(&mut self.txqs, txq);
        if slot.is_some() {
            return Err(McdiError::Busy);
        }
        let (packet, left) = (Vec::new(), Vec::new());
        *slot = Some(Txq { context, posted: 0, fetched: 0, reading: false, packet, left });
        Ok(())
    }

    /// `MC_CMD_FINI_TXQ`.
    pub fn fini_txq(&mut self, txq: u32) -> Result<(), McdiError> {
        Self::slot(&mut self.txqs, txq).take().map(|_| ()).ok_or(McdiError::NoQueue)
    }

    /// `TX_DESC_UPD`.
    pub(crate) fn write_tx_wptr(&mut self, txq: u32, value: u32) {
        let Some(ring) = self.txqs.get_mut(txq as usize).and_then(Option::as_mut) else {
            return self.misuse("doorbell of a send ring that is not there", txq.into());
        };
        let mask = ring.context.entries - 1;
        ring.posted = ring.posted.wrapping_add(value.wrapping_sub(ring.posted) & mask);
        self.tx_pump(txq);
    }

    fn tx_pump(&mut self, txq: u32) {
        let most = self.params.fetch.max(1);
        let Some(ring) = self.txqs.get_mut(txq as usize).and_then(Option::as_mut) else { return };
        let left = ring.posted.wrapping_sub(ring.fetched);
        if ring.reading || left == 0 {
            return;
        }
        let at = ring.fetched & (ring.context.entries - 1);
        let count = left.min(most).min(ring.context.entries - at);
        ring.reading = true;
        ring.fetched = ring.fetched.wrapping_add(count);
        let addr = ring.context.buf + u64::from(at * QWORD_BYTES);
        self.read(addr, count * QWORD_BYTES, What::Wqe, Read::Tx(txq));
    }

    /// Descriptors that were read.
    pub(crate) fn tx_fetched(&mut self, txq: u32, bytes: &[u8]) {
        let Some(ring) = self.txqs.get_mut(txq as usize).and_then(Option::as_mut) else { return };
        let word = |b: &[u8]| b.try_into().map_or(0, u64::from_le_bytes);
        ring.left = bytes.chunks_exact(QWORD_BYTES as usize).map(word).collect();
        ring.left.reverse();
        self.tx_next(txq);
    }

    /// Reads the bytes of the next descriptor, or tells that all of the fetch are done.
    fn tx_next(&mut self, txq: u32) {
        let Some(ring) = self.txqs.get_mut(txq as usize).and_then(Option::as_mut) else { return };
        if let Some(descriptor) = ring.left.last().copied() {
            let len = (descriptor >> desc::BYTES_SHIFT & desc::BYTES_MASK) as u32;
            return self.read(descriptor & desc::ADDR, len, What::Data, Read::TxData(txq));
        }
        ring.reading = false;
        let last = ring.fetched.wrapping_sub(1) & (ring.context.entries - 1);
        let event = ev::CODE_TX << ev::CODE_SHIFT
            | u64::from(ring.context.label) << ev::QLABEL_SHIFT
            | u64::from(last) & ev::TX_DESC_MASK;
        let evq = ring.context.evq;
        if self.evq_has_room(evq) {
            self.push_event(evq, event);
        }
        self.tx_pump(txq);
    }

    /// Bytes that were read.
    pub(crate) fn tx_data(&mut self, txq: u32, bytes: &[u8]) {
        let Some(ring) = self.txqs.get_mut(txq as usize).and_then(Option::as_mut) else { return };
        let Some(descriptor) = ring.left.pop() else { return };
        ring.packet.extend_from_slice(bytes);
        if descriptor & desc::CONT == 0 {
            let packet = std::mem::take(&mut ring.packet);
            self.stats.tx_packets += 1;
            self.sent.push_back(packet);
        }
        self.tx_next(txq);
    }
}
