//! What becomes of sent packets: `ixgbe_clean_tx_irq`, `ixgbe_check_tx_hang` (6.12).

use crate::tx_ring::{tx_state, unmap_and_free, STATUS_WORD};
use crate::{lock, state, Core, Traffic, TxRing};
use pollproof_events::{emit, Event};
use pollproof_regs::ixgbe_desc::tx;
use pollproof_sync::Ordering::Relaxed;
use pollproof_sync::{bug, PlainU32};

/// What a poll found in a transmit ring.
pub(crate) struct TxCleaned {
    pub traffic: Traffic,
    /// Nothing that is done is left.
    pub clean: bool,
    /// Nothing moves although it should.
    pub hang: bool,
}

/// `ixgbe_clean_tx_irq`: frees packets that were sent, in order, at most `limit` of them.
pub(crate) fn clean_tx_irq(core: &Core, ring: &TxRing, limit: u32) -> TxCleaned {
    let mut left = limit;
    let mut index = ring.clean_at();
    let mut traffic = Traffic { packets: 0, bytes: 0 };
    let mut descriptors = 0;
    while left > 0 && !core.has(state::DOWN) {
        let Some(watch) = done_until(core, ring, index) else { break };
        let (next, sent, count) = free_packet(core, ring, index, watch);
        index = next;
        traffic.packets += sent.packets;
        traffic.bytes = traffic.bytes.saturating_add(sent.bytes);
        descriptors += count;
        left -= 1;
    }
    if descriptors > 0 {
        emit(Event::TxDone { tail: ring.tail(), count: descriptors });
        ring.set_clean(index);
        ring.stats.packets.fetch_add(traffic.packets.into(), Relaxed);
        ring.stats.bytes.fetch_add(traffic.bytes.into(), Relaxed);
    }
    let hang = check_tx_hang(ring);
    if hang {
        emit(Event::TxHang { tail: ring.tail() });
    }
    if !hang && descriptors > 0 {
        ring.wake(core.has(state::CARRIER) && !core.has(state::DOWN));
    }
    TxCleaned { traffic, clean: left > 0, hang }
}

/// The last descriptor of the packet that begins at `first`, if the device reported it.
fn done_until(core: &Core, ring: &TxRing, first: u32) -> Option<u32> {
    // Stale reports lie beyond next_to_use: there no packet begins.
    // A cleaner that goes by descriptors alone meets reports of the lap before.
    let watch = if bug("E-8") { Some(first) } else { ring.watch(first) }?;
    let status = core.below.dma.load32(ring.at(watch) + STATUS_WORD, Relaxed);
    if status & tx::DD == 0 {
        return None;
    }
    // Nothing else of the descriptor is read.
    Some(watch)
}

/// Frees the buffers of a packet; gives the descriptor behind it.
fn free_packet(core: &Core, ring: &TxRing, first: u32, last: u32) -> (u32, Traffic, u32) {
    let dma = &*core.below.dma;
    let (mut index, mut count) = (first, 0);
    ring.clear_watch(first);
    let packets = ring.packets.get(first as usize).map_or(0, PlainU32::get);
    let mut sent = Traffic { packets, bytes: 0 };
    loop {
        let buffer = lock(&ring.buffers).get_mut(index as usize).map(std::mem::take);
        if let Some(buffer) = buffer {
            sent.bytes += buffer.bytes;
            if let Some(frag) = buffer.frag {
                unmap_and_free(dma, frag);
            }
        }
        count += 1;
        let is_last = index == last;
        index = ring.after(index);
        if is_last || count == ring.count {
            return (index, sent, count);
        }
    }
}

/// `ixgbe_check_tx_hang`: the watchdog asked, and since it asked before nothing was sent although
/// something waits. A pause frame in between disarms it.
fn check_tx_hang(ring: &TxRing) -> bool {
    if ring.state.fetch_and(!tx_state::CHECK, Relaxed) & tx_state::CHECK == 0 {
        return false;
    }
    emit(Event::HangCheck { tail: ring.tail() });
    let done = ring.stats.packets.load(Relaxed) as u32;
    if done == ring.done_old.get() && ring.pending() > 0 {
        return ring.state.fetch_or(tx_state::ARMED, Relaxed) & tx_state::ARMED != 0;
    }
    ring.done_old.set(done);
    ring.state.fetch_and(!tx_state::ARMED, Relaxed);
    false
}
