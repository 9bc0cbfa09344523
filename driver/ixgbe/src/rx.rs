//! Receiving: `ixgbe_clean_rx_irq`, `ixgbe_construct_skb`, `ixgbe_is_non_eop`,
//! `ixgbe_process_skb_fields`, `ixgbe_can_reuse_rx_page` (6.12).
//!
//! The bytes stay where the device put them (`build_skb`); no headroom is modelled. Left out: XDP,
//! receive side coalescing, VLAN tags, padding of short packets.

use crate::rx_ring::{RxBuffer, LENGTH_WORD};
use crate::{Core, RxRing, Traffic};
use pollproof_events::{emit, Event};
use pollproof_kapi::DmaAddr;
use pollproof_netcore::{Frag, Napi, Page, SkBuff};
use pollproof_regs::ixgbe_desc::rx;
use pollproof_sync::Ordering::Relaxed;
use pollproof_sync::{bug, dma_rmb};

/// A descriptor as the device wrote it back.
struct WriteBack {
    info: u32,
    hash: u32,
    status: u32,
    len: usize,
}

/// `ixgbe_clean_rx_irq`: at most `budget` packets go up; gives how many did and their bytes.
pub(crate) fn clean_rx_irq(core: &Core, ring: &RxRing, napi: &Napi, budget: u32) -> Traffic {
    let mut done = Traffic { packets: 0, bytes: 0 };
    let mut unused = ring.desc_unused();
    let before = ring.consumed();
    let mut open = ring.skb.with(Option::take).flatten();
    while done.packets < budget {
        if unused >= core.options.rx_buffer_write {
            ring.alloc_rx_buffers(core, unused);
            unused = 0;
        }
        let Some(written) = next(ring) else { break };
        unused += 1;
        let index = ring.consumed();
        let (cq, slot) = (ring.index, napi.slot);
        emit(Event::CqeConsume { cq, index, napi: slot });
        let buffer = ring.consume();
        let part = take_buffer(core, ring, buffer, &written);
        let ends = written.status & rx::EOP != 0;
        if !ends {
            ring.stats.non_eop_descs.fetch_add(1, Relaxed);
            emit(Event::CqePartial { cq, index, napi: slot });
        }
        done.packets += u32::from(ends);
        let number = u64::from(cq) << 32 | u64::from(index);
        // Most packets are one buffer: built where they go up from.
        if let (true, None) = (ends, &open) {
            let Some((buf, page, len)) = part else { continue };
            done.bytes = done.bytes.saturating_add(len as u32);
            let napi_id = napi.napi_id();
            let (hash, csum_unnecessary) = skb_fields(&written);
            emit(Event::SkbBuilt { skb: number, flow: hash, len: len as u32 });
            let frag = Frag { buf, page: Some(page), offset: 0, len };
            let skb = SkBuff::received(frag, (number, hash, napi_id), csum_unnecessary);
            up(core, napi, skb, &written);
            if bug("E-30") {
                decide_late(core, ring);
            }
            continue;
        }
        open = add_part(open.take(), part);
        if let Some(mut skb) = open.take_if(|_| ends) {
            done.bytes = done.bytes.saturating_add(skb.len as u32);
            skb.number = number;
            skb.napi_id = napi.napi_id();
            (skb.hash, skb.csum_unnecessary) = skb_fields(&written);
            emit(Event::SkbBuilt { skb: skb.number, flow: skb.hash, len: skb.len as u32 });
            up(core, napi, skb, &written);
        }
    }
    if open.is_some() {
        ring.skb.with(|kept| *kept = open);
    }
    if ring.consumed() != before {
        ring.count_frames(done.packets);
        // No register has it; the tail that the next refill writes goes by it.
        let consumer = ring.consumed() & 0x00ff_ffff;
        emit(Event::CqSetCi { cq: ring.index, consumer });
    }
    done
}

/// The descriptor at `next_to_clean`, if the device wrote it back.
#[inline(always)]
fn next(ring: &RxRing) -> Option<WriteBack> {
    let (at, _) = ring.current();
    // Without the barrier a CPU may have the other words from before it sees the length.
    let early = bug("E-1").then(|| ring.desc.read_words(at));
    let len = (ring.desc.load32(at + LENGTH_WORD, Relaxed) & 0xffff) as usize;
    if len == 0 {
        return None;
    }
    // The other words may be read only after the length was seen.
    dma_rmb();
    let [info, hash, status] = early.unwrap_or_else(|| ring.desc.read_words(at));
    Some(WriteBack { info, hash, status, len })
}

/// The buffer becomes part of a packet: its address, its page and how much of it. The page goes on
/// in the ring, unless the stack still has the other half.
#[inline(always)]
fn take_buffer(
    core: &Core,
    ring: &RxRing,
    buffer: Option<RxBuffer>,
    written: &WriteBack,
) -> Option<(DmaAddr, Page, usize)> {
    let dma = &*core.below.dma;
    let RxBuffer { page, half, .. } = buffer?;
    let buf = page.half(half);
    dma.unmap_buf(buf);
    // What a device says of a length is not to be believed.
    let len = written.len.min(dma.buf_len());
    // Looked at before the half is handed over: afterwards the stack may be done with it already.
    let only_me = page.count() == 1;
    page.get();
    dma.hand_up(buf);
    let kept = page.clone();
    if bug("E-30") {
        ring.undecided.with(|undecided| *undecided = Some((page, half)));
        return Some((buf, kept, len));
    }
    if only_me {
        ring.reuse_rx_page(page, half ^ 1);
    } else {
        page.put(dma);
    }
    Some((buf, kept, len))
}

/// After the hand-off two references look like ours and the packet's, whoever has the second.
#[cold]
fn decide_late(core: &Core, ring: &RxRing) {
    let Some((page, half)) = ring.undecided.with(Option::take).flatten() else { return };
    if page.count() == 2 {
        ring.reuse_rx_page(page, half ^ 1);
    } else {
        page.put(&*core.below.dma);
    }
}

/// A packet of several buffers, with the next of them.
#[cold]
fn add_part(open: Option<SkBuff>, part: Option<(DmaAddr, Page, usize)>) -> Option<SkBuff> {
    let Some((buf, page, len)) = part else { return open };
    let frag = Frag { buf, page: Some(page), offset: 0, len };
    Some(match open {
        Some(mut skb) => {
            skb.add_rx_frag(frag);
            skb
        }
        None => SkBuff::build(frag),
    })
}

/// `ixgbe_process_skb_fields`: hash, and whether the checksum is known to be good.
#[inline(always)]
fn skb_fields(written: &WriteBack) -> (u32, bool) {
    let hash = if written.info & rx::RSS_TYPE != 0 { written.hash } else { 0 };
    (hash, checksum_ok(written))
}

/// A whole packet goes up; a frame with an error ends here (`ixgbe_cleanup_headers`).
#[inline(always)]
fn up(core: &Core, napi: &Napi, skb: SkBuff, written: &WriteBack) {
    if written.status & rx::RXE != 0 {
        core.net.kfree_skb(skb, "rx_error");
    } else {
        core.net.napi_gro_receive(napi, skb);
    }
}

/// `ixgbe_rx_checksum`: both sums were looked at and are good.
fn checksum_ok(written: &WriteBack) -> bool {
    let bad_ip = written.status & rx::IPCS != 0 && written.status & rx::IPE != 0;
    written.status & rx::L4CS != 0 && written.status & rx::TCPE == 0 && !bad_ip
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_counts_only_when_it_was_looked_at_and_good() {
        let of = |status| checksum_ok(&WriteBack { info: 0, hash: 0, status, len: 60 });
        assert!(of(rx::IPCS | rx::L4CS));
        assert!(of(rx::L4CS), "IPv6 has no sum of its own");
        assert!(!of(rx::IPCS));
        assert!(!of(rx::IPCS | rx::L4CS | rx::TCPE));
        assert!(!of(rx::IPCS | rx::L4CS | rx::IPE));
    }
}
