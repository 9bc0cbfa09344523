//! Receiving: `ixgbe_clean_rx_irq`, `ixgbe_construct_skb`, `ixgbe_is_non_eop`,
//! `ixgbe_process_skb_fields`, `ixgbe_can_reuse_rx_page` (6.12).
//!
//! The bytes stay where the device put them (`build_skb`); no headroom is modelled. Left out: XDP,
//! receive side coalescing, VLAN tags, padding of short packets.

use crate::rx_ring::{RxBuffer, LENGTH_WORD, RX_BUFFER_WRITE};
use crate::{Core, RxRing, Traffic};
use pollproof_events::{emit, Event};
use pollproof_netcore::{Frag, Napi, SkBuff};
use pollproof_regs::ixgbe_desc::rx;
use pollproof_sync::dma_rmb;
use pollproof_sync::Ordering::Relaxed;

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
        if unused >= RX_BUFFER_WRITE {
            ring.alloc_rx_buffers(core, unused);
            unused = 0;
        }
        let Some(written) = next(core, ring) else { break };
        unused += 1;
        let index = ring.consumed();
        let (cq, slot) = (ring.index, napi.slot);
        emit(Event::CqeConsume { cq, index, napi: slot });
        let buffer = ring.consume();
        let frag = take_buffer(core, ring, buffer, &written);
        let ends = written.status & rx::EOP != 0;
        let number = u64::from(cq) << 32 | u64::from(index);
        if !ends {
            ring.stats.non_eop_descs.fetch_add(1, Relaxed);
            emit(Event::CqePartial { cq, index, napi: slot });
        }
        done.packets += u32::from(ends);
        // Most packets are one buffer: built where they go up from.
        if let (true, None) = (ends, &open) {
            let Some(frag) = frag else { continue };
            let skb = SkBuff::build(frag);
            done.bytes = done.bytes.saturating_add(skb.len as u32);
            deliver(core, skb, number, napi.napi_id(), &written);
            continue;
        }
        open = match (open.take(), frag) {
            (Some(mut skb), Some(frag)) => {
                skb.add_rx_frag(frag);
                Some(skb)
            }
            (None, Some(frag)) => Some(SkBuff::build(frag)),
            (open, None) => open,
        };
        if let Some(skb) = open.take_if(|_| ends) {
            done.bytes = done.bytes.saturating_add(skb.len as u32);
            deliver(core, skb, number, napi.napi_id(), &written);
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
fn next(core: &Core, ring: &RxRing) -> Option<WriteBack> {
    let dma = &*core.below.dma;
    let (at, _) = ring.current();
    let len = (dma.load32(at + LENGTH_WORD, Relaxed) & 0xffff) as usize;
    if len == 0 {
        return None;
    }
    // The other words may be read only after the length was seen.
    dma_rmb();
    let [info, hash, status] = dma.read_words(at);
    Some(WriteBack { info, hash, status, len })
}

/// The buffer becomes part of a packet; its page goes on in the ring, unless the stack still has
/// the other half.
#[inline]
fn take_buffer(
    core: &Core,
    ring: &RxRing,
    buffer: Option<RxBuffer>,
    written: &WriteBack,
) -> Option<Frag> {
    let dma = &*core.below.dma;
    let mut buffer = buffer?;
    let buf = buffer.page.half(buffer.half);
    dma.unmap_buf(buf);
    buffer.mapped = false;
    // What a device says of a length is not to be believed.
    let len = written.len.min(dma.buf_len());
    // Looked at before the half is handed over: afterwards the stack may be done with it already.
    let only_me = buffer.page.count() == 1;
    buffer.page.get();
    dma.hand_up(buf);
    let page = Some(buffer.page.clone());
    if only_me {
        buffer.half ^= 1;
        ring.reuse_rx_page(buffer);
    } else {
        buffer.page.put(dma);
    }
    Some(Frag { buf, page, len })
}

/// `ixgbe_process_skb_fields`, then up; a frame with an error ends here (`ixgbe_cleanup_headers`).
#[inline]
fn deliver(core: &Core, mut skb: SkBuff, number: u64, napi_id: u32, written: &WriteBack) {
    skb.number = number;
    skb.napi_id = napi_id;
    skb.hash = if written.info & rx::RSS_TYPE != 0 { written.hash } else { 0 };
    skb.csum_unnecessary = checksum_ok(written);
    emit(Event::SkbBuilt { skb: skb.number, flow: skb.hash, len: skb.len as u32 });
    if written.status & rx::RXE != 0 {
        core.net.kfree_skb(skb, "rx_error");
    } else {
        core.net.napi_gro_receive(skb);
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
