//! Sending: one buffer a packet, its descriptor, doorbell, and the event that tells that it was
//! sent (`efx_enqueue_skb`, `efx_xmit_done` of `tx.c`, `tx_common.c`; 6.12).
//!
//! Left out: fragments, TSO, copying into a shared buffer, queue stops by byte limits (a full ring
//! refuses).

use crate::channel::Channel;
use pollproof_kapi::{Coherent, DmaAddr};
use pollproof_regs::ef10::{desc, ev, BAR_VI, QWORD_BYTES, TX_DESC_UPD, VI_STRIDE};
use pollproof_sync::Private;

/// A send ring.
pub struct TxQueue {
    pub(crate) ring: Coherent,
    pub(crate) entries: u32,
    pub(crate) state: Private<TxState>,
}

/// `insert_count`, `read_count`, and the buffer of each descriptor.
pub(crate) struct TxState {
    pub inserted: u32,
    pub read: u32,
    pub bufs: Vec<DmaAddr>,
}

/// The ring is full, or there is no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxBusy;

impl Channel {
    /// `efx_hard_start_xmit`: under the queue's lock, which its caller has.
    pub fn xmit(&self, bytes: &[u8]) -> Result<(), TxBusy> {
        let dma = &self.below.dma;
        let full = |state: &mut TxState| state.inserted.wrapping_sub(state.read) >= self.tx.entries;
        if bytes.len() > dma.buf_len() || self.tx.state.with(full).unwrap_or(true) {
            return Err(TxBusy);
        }
        let buf = dma.alloc_buf().map_err(|_| TxBusy)?;
        dma.write_buf(buf, 0, bytes);
        dma.map_buf(buf);
        let insert = |state: &mut TxState| {
            let at = state.inserted & (self.tx.entries - 1);
            state.bufs[at as usize] = buf;
            state.inserted = state.inserted.wrapping_add(1);
            (at, state.inserted)
        };
        let Some((at, inserted)) = self.tx.state.with(insert) else { return Err(TxBusy) };
        let descriptor = buf & desc::ADDR | (bytes.len() as u64) << desc::BYTES_SHIFT;
        let words = [descriptor as u32, (descriptor >> 32) as u32];
        self.tx.ring.write_words(at * QWORD_BYTES, words);
        let register = u64::from(self.index) * VI_STRIDE + TX_DESC_UPD;
        self.below.mmio.write32(BAR_VI, register, inserted & (self.tx.entries - 1));
        Ok(())
    }
}

impl TxQueue {
    /// `efx_xmit_done`: all up to the index of the event were sent. Gives how many.
    pub(crate) fn completed(&self, channel: &Channel, event: u64) -> u32 {
        let last = (event & ev::TX_DESC_MASK) as u32;
        let mask = self.entries - 1;
        let take = |state: &mut TxState| {
            let count = (last.wrapping_add(1).wrapping_sub(state.read)) & mask;
            let waiting = state.inserted.wrapping_sub(state.read);
            // A whole ring at once looks like nothing.
            let count = if count == 0 && waiting > mask { waiting } else { count };
            // What an event says of an index is not to be believed.
            let count = count.min(waiting);
            let slots = (0..count).map(|n| (state.read.wrapping_add(n) & mask) as usize);
            let done: Vec<DmaAddr> = slots.map(|at| std::mem::take(&mut state.bufs[at])).collect();
            state.read = state.read.wrapping_add(count);
            done
        };
        let done = self.state.with(take).unwrap_or_default();
        for &buf in done.iter().filter(|buf| **buf != 0) {
            channel.below.dma.unmap_buf(buf);
            channel.below.dma.free_buf(buf);
        }
        channel.stats.tx_packets.add(done.len() as u64);
        done.len() as u32
    }
}
