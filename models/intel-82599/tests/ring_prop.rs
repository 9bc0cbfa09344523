//! Properties: a queue of plain code beside the device, for rings, write-back, segmentation, RSC.

#[allow(dead_code)]
mod host;

use host::{tcp, udp, Host, TX_BUF};
use pollproof_intel_82599::{
    Context, DescriptorCache, FetchPolicy, Orders, Params, Segmenter, TailWrite,
};
use pollproof_regs::ixgbe::{eitr, queue};
use pollproof_regs::ixgbe_desc::tx;
use pollproof_regs::ixgbe_map as map;
use proptest::prelude::*;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
enum Op {
    Frame(usize),
    /// Performs up to this many requests.
    Bus(u8),
    Post(u32),
    Poll,
    /// Gives a held read completion, by a number that picks one.
    Answer(usize),
    Ack,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..3500usize).prop_map(Op::Frame),
        4 => (1..8u8).prop_map(Op::Bus),
        2 => (1..6u32).prop_map(Op::Post),
        2 => Just(Op::Poll),
        4 => (0..4usize).prop_map(Op::Answer),
        1 => Just(Op::Ack),
    ]
}

fn frame(n: u32, len: usize) -> Vec<u8> {
    let bytes: Vec<u8> = (0..len as u32).map(|i| (i ^ n) as u8).collect();
    let mut frame = udp(n as u16, &bytes);
    frame.resize(frame.len().max(60), 0);
    frame
}

proptest! {
    #[test]
    fn frames_come_whole_and_in_order_and_each_is_told(
        ops in proptest::collection::vec(op(), 1..200),
        size in prop_oneof![Just(8u32), Just(16), Just(64)],
        batch in 1..4u32,
        moderated in any::<bool>(),
    ) {
        let mut host = Host::receiving(Params { rx_wb_batch: batch, ..Params::zero() }, 1, size);
        host.set(map::HLREG0, host.dev.peek(map::HLREG0) | 4);
        host.set(map::MAXFRS, 9728 << 16);
        if moderated {
            host.set(map::EITR, 40 | eitr::CNT_WDIS);
        }
        host.hold_reads = true;
        let mut expected = VecDeque::new();
        let (mut next, mut posted, mut told) = (0u32, 0u32, true);
        for op in ops {
            match op {
                Op::Frame(len) => {
                    let bytes = frame(next, len);
                    host.frame(&bytes);
                    expected.push_back(bytes);
                    next += 1;
                }
                Op::Bus(n) => (0..n).for_each(|_| { host.step(); }),
                Op::Post(n) => {
                    let n = n.min(size - 1 - posted);
                    host.post(0, n);
                    posted += n;
                }
                Op::Poll => {
                    while let Some(got) = host.poll(0) {
                        let bytes = expected.pop_front().expect("a frame that was sent");
                        prop_assert!(got.data == bytes);
                        prop_assert!(got.chain.windows(2).all(|w| w[1].0 == (w[0].0 + 1) % size));
                        posted -= got.chain.len() as u32;
                    }
                }
                Op::Answer(n) if !host.held.is_empty() => {
                    let at = n % host.held.len();
                    let (tag, bytes) = host.held.remove(at);
                    host.dev.dma_complete(tag, &bytes);
                }
                Op::Ack => {
                    told &= host.msix.iter().all(|&v| v == 0);
                    host.set(map::EIMS_EX, 1);
                }
                Op::Answer(_) => {}
            }
        }
        // The rest: everything arrives once there are buffers, and the last is told.
        host.hold_reads = false;
        for (tag, bytes) in std::mem::take(&mut host.held) {
            host.dev.dma_complete(tag, &bytes);
        }
        let mut rounds = 0;
        while !expected.is_empty() {
            rounds += 1;
            prop_assert!(rounds < 2000, "{} left", expected.len());
            host.set(map::EIMS_EX, 1);
            host.run();
            let before = host.msix.len();
            while let Some(got) = host.poll(0) {
                let bytes = expected.pop_front().expect("a frame that was sent");
                prop_assert!(got.data == bytes);
                posted -= got.chain.len() as u32;
            }
            host.post(0, size - 1 - posted);
            posted = size - 1;
            host.run();
            let later = host.dev.next_deadline().unwrap_or(0);
            host.run_until(later);
            prop_assert!(host.msix.len() >= before);
        }
        // The driver may have looked before the message came.
        host.run_until(host.dev.next_deadline().unwrap_or(0));
        prop_assert!(told && !host.msix.is_empty() || next == 0);
        prop_assert!(host.dev.misuses().is_empty(), "{:?}", host.dev.misuses());
    }

    #[test]
    fn a_descriptor_is_fetched_once_in_order_and_never_past_the_tail(
        tails in proptest::collection::vec(0..32u32, 1..60),
        policy in (1..40u32, 1..9u32, 0..33u32, 0..9u32, 1..5u32),
        answers in proptest::collection::vec(0..4usize, 60),
    ) {
        let (cache, burst, pthresh, hthresh, in_flight) = policy;
        let policy = FetchPolicy { cache, burst, pthresh, hthresh, in_flight };
        let mut ring = DescriptorCache::new(0x1000, 32, 0, 0);
        let mut open = Vec::new();
        let (mut given, mut taken) = (0u64, 0u64);
        for (tail, answer) in tails.iter().zip(answers) {
            let more = (u64::from(*tail) + 32 - given % 32) % 32;
            if given - taken + more < 32 {
                prop_assert_eq!(ring.set_tail(*tail), TailWrite::Ok);
                given += more;
            }
            while let Some(fetch) = ring.plan(&policy, 0) {
                prop_assert!(fetch.len > 0 && fetch.len <= burst * 16);
                prop_assert!(fetch.addr + u64::from(fetch.len) <= 0x1000 + 32 * 16);
                open.push(fetch);
                prop_assert!(open.len() <= in_flight as usize);
            }
            prop_assert!(ring.cached() <= cache);
            if !open.is_empty() {
                let fetch = open.remove(answer % open.len());
                let first = (fetch.addr - 0x1000) / 16;
                let bytes: Vec<u8> =
                    (0..fetch.len).map(|i| (first + u64::from(i / 16)) as u8).collect();
                prop_assert!(ring.filled(fetch.id, &bytes));
            }
            for _ in 0..answer {
                let Some(d) = ring.pop() else { break };
                prop_assert_eq!(u64::from(d.index), taken % 32);
                prop_assert_eq!(d.bytes, [(taken % 32) as u8; 16]);
                taken += 1;
                prop_assert!(taken <= given);
            }
            prop_assert_eq!(u64::from(ring.owned()), given - taken);
        }
    }

    #[test]
    fn segments_add_up_whatever_the_sizes(
        payload in 1..4000usize,
        mss in 1..2000usize,

    ) {
        let bytes: Vec<u8> = (0..payload).map(|i| (i * 13) as u8).collect();
        let packet = tcp(9, 77, true, &bytes);
        let context = Context {
            ip_len: 20, mac_len: 14, vlan: 0, ipv4: true, l4_type: 1, l4_len: 20, mss,
        };
        let orders = Orders {
            context: Some(context), segment: true, ip_checksum: true, append_fcs: true,
            flags: [0xff6, 0xff6, 0xf7f], ..Orders::default()
        };
        let mut frames = Segmenter::new(packet, orders, 9728).expect("good orders");
        let mut all = Vec::new();
        let mut count = 0;
        while let Some(frame) = frames.next_frame() {
            let part = &frame[54..];
            prop_assert!(part.len() <= mss && !part.is_empty());
            let seq = u32::from_be_bytes([frame[38], frame[39], frame[40], frame[41]]);
            prop_assert_eq!(seq, 77 + all.len() as u32);
            all.extend_from_slice(part);
            let push = frame[47] & 8 != 0;
            prop_assert_eq!(push, all.len() == payload);
            count += 1;
        }
        prop_assert!(all == bytes);
        prop_assert_eq!(count, payload.div_ceil(mss));
    }

    #[test]
    fn every_packet_is_sent_once_and_its_report_comes(
        sizes in proptest::collection::vec((60..1500usize, 1..4usize), 1..40),
        wthresh in 0..9u32,
        order in proptest::collection::vec(0..6usize, 200),
    ) {
        let mut host = Host::new(Params::zero());
        host.interrupts(1);
        host.set(map::EITR, 40 | eitr::CNT_WDIS);
        host.start_tx(256, 32 | 1 << 8 | wthresh << queue::WTHRESH_SHIFT);
        host.hold_reads = true;
        let mut expected = Vec::new();
        let mut last = 0;
        for (n, (len, parts)) in sizes.iter().enumerate() {
            let bytes: Vec<u8> = (0..*len).map(|i| (i + n) as u8).collect();
            let base = TX_BUF + 0x800 * n as u64;
            host.put(base, &bytes);
            let chunk = len.div_ceil(*parts);
            let pieces = len.div_ceil(chunk);
            for i in 0..pieces {
                let part = chunk.min(len - i * chunk) as u32;
                let end = if i + 1 == pieces { tx::EOP | tx::RS } else { 0 };
                let kind = tx::DTYP_DATA << tx::DTYP_SHIFT | tx::DEXT | tx::IFCS;
                let at = base as u32 + (i * chunk) as u32;
                host.queue_tx(&[[at, 0, kind | end | part, (*len as u32) << tx::PAYLEN_SHIFT]]);
            }
            last = (host.tx_tail + 255) % 256;
            host.kick();
            expected.push(bytes);
        }
        for n in order {
            host.run();
            if !host.held.is_empty() {
                let at = n % host.held.len();
                let (tag, bytes) = host.held.remove(at);
                host.dev.dma_complete(tag, &bytes);
            }
        }
        host.hold_reads = false;
        for (tag, bytes) in std::mem::take(&mut host.held) {
            host.dev.dma_complete(tag, &bytes);
        }
        host.run_until(30_000_000);
        prop_assert!(host.sent == expected);
        prop_assert!(host.tx_done(last) && !host.msix.is_empty());
        prop_assert!(host.dev.misuses().is_empty(), "{:?}", host.dev.misuses());
    }

    #[test]
    fn coalescing_keeps_the_bytes_of_each_connection(
        frames in proptest::collection::vec((0..3u16, 1..1448usize, any::<bool>(), 0..9u8), 1..60),
        max in 0..4u32,
    ) {
        let mut host = Host::receiving(Params::zero(), 1, 256);
        host.set(map::RXDCTL, 0);
        host.set(map::RSCCTL, queue::RSCEN | max << queue::MAXDESC_SHIFT);
        host.set(map::EITR, 400 | eitr::CNT_WDIS);
        host.start_rx(0, 256);
        host.post(0, 255);
        let mut streams = [(); 3].map(|()| Vec::new());
        let mut seq = [1u32; 3];
        let mut now_ps = 0;
        for (port, len, push, wait) in frames {
            let bytes: Vec<u8> = (0..len).map(|i| (i * 7 + usize::from(port)) as u8).collect();
            let p = usize::from(port);
            host.frame(&tcp(port, seq[p], push, &bytes));
            seq[p] += len as u32;
            streams[p].extend(bytes);
            now_ps += u64::from(wait) * 1_000_000;
            host.run_until(now_ps);
        }
        host.run_until(now_ps + 300_000_000);
        prop_assert_eq!(host.dev.held(), 0);
        let mut got = [(); 3].map(|()| Vec::new());
        // Descriptors in ring order; chains are followed, heads are those that nobody names.
        let mut named = std::collections::BTreeSet::new();
        let tail = host.get(map::RDH);
        for index in 0..tail {
            host.rx_next[0] = index;
            if named.contains(&index) {
                continue;
            }
            let Some(packet) = host.poll(0) else { continue };
            named.extend(packet.chain.iter().map(|c| c.0));
            let headers = pollproof_intel_82599::Headers::of(&packet.data, 0x8100);
            let port = u16::from_be_bytes([packet.data[34], packet.data[35]]);
            let end = headers.end.min(packet.data.len());
            got[usize::from(port)].extend_from_slice(&packet.data[54..end]);
        }
        for (got, stream) in got.iter().zip(&streams) {
            prop_assert!(got == stream, "{} of {}", got.len(), stream.len());
        }
    }
}
