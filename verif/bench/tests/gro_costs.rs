//! What batches cost and save, in counts: the objections of the thread of November 2018.

use pollproof_bench::flows::in_turns;
use pollproof_bench::replay::Replay;
use pollproof_netcore::{GroOptions, NetOptions, RxCosts, L1};
use pollproof_sync::cpu;

const PACKETS: usize = 64;

/// Every packet is of another flow, so that nothing is merged: what batched and unbatched polls of
/// `burst` packets take.
fn counts(gro: Option<GroOptions>, l1: L1, burst: usize) -> RxCosts {
    cpu::begin(0);
    let options = NetOptions { gro, l1: Some(l1), ..NetOptions::default() };
    let replay = Replay::new(options, in_turns(PACKETS as u16, PACKETS, 600), |_| false);
    replay.run(burst);
    assert_eq!(replay.net().calls_up(), PACKETS as u64, "nothing is merged");
    replay.net().rx_costs()
}

/// On the list; off it and on the next for protocol, device and destination; off the last.
const LIST_OPS: u64 = 1 + 3 * 2 + 1;

const ONE_BY_ONE: GroOptions = GroOptions::new(false, 1);

/// Batches as of 6.12: a packet that is alone is on a list, too.
fn eager(normal_batch: u32) -> GroOptions {
    GroOptions { lazy_list: false, ..GroOptions::new(false, normal_batch) }
}

#[test]
fn a_batch_saves_calls_even_if_every_packet_is_of_another_flow() {
    let (one, eight) = (
        counts(Some(ONE_BY_ONE), L1::default(), PACKETS),
        counts(Some(GroOptions::new(false, 8)), L1::default(), PACKETS),
    );
    let all = PACKETS as u64;
    assert_eq!(one.calls, 3 * all, "each goes through three layers by itself");
    // A list of eight is one call of the core and one of IP, and eight of the transport; what GRO
    // lets go while others come fills one more.
    assert_eq!(eight.calls, all + 2 * (all / 8 + 1));
    assert_eq!(one.list_ops, 2 * all, "GRO holds each and lets it go");
    assert_eq!(eight.list_ops, one.list_ops + LIST_OPS * all);
    assert_eq!(one.lines, eight.lines, "batches look at the same lines");
}

#[test]
fn big_headers_of_a_long_batch_do_not_fit_into_the_cache() {
    let misses = |header_bytes, batch| {
        let l1 = L1 { header_bytes, ..L1::default() };
        counts(Some(GroOptions::new(false, batch)), l1, PACKETS).misses
    };
    // 64 packets with two lines of skb and four of headers are 24 KB; buffers lie 2 KB apart, so
    // that their headers share an eighth of the sets.
    let (one, eight, all) = (misses(256, 1), misses(256, 8), misses(256, 64));
    assert!(one <= eight && eight < all, "{one} {eight} {all}");
    // With the headers of TCP alone a batch of eight costs nothing.
    assert_eq!(misses(64, 1), misses(64, 8));
}

#[test]
fn a_poll_of_one_packet_does_nothing_with_lists() {
    let (plain, lazy, linux) = (
        counts(Some(ONE_BY_ONE), L1::default(), 1),
        counts(Some(GroOptions::new(false, 8)), L1::default(), 1),
        counts(Some(eager(8)), L1::default(), 1),
    );
    assert_eq!(lazy, plain, "no list operation, call or line beyond the unbatched path");
    assert_eq!(linux.list_ops, plain.list_ops + LIST_OPS * PACKETS as u64, "as of 6.12");
}
