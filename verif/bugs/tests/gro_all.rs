//! Every sequence of up to five packets of two flows through GRO, in polls of one, two, three and
//! all: the rules hold, and sockets get what they get without GRO.

use pollproof_bugs::scenarios::gro::{polls, Packet};
use pollproof_events::with_visitor;
use pollproof_netcore::GroOptions;
use pollproof_rules::Judge;
use pollproof_sync::cpu;
use pollproof_sync::switch::{take_faults, with_bug};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What each socket got, in order: numbers and bytes.
type Got = BTreeMap<u32, Vec<(u64, Vec<u8>)>>;

/// Runs a sequence; what sockets got, and the rules that were broken.
fn run(gro: Option<GroOptions>, weight: i32, packets: &[(u8, Packet)]) -> (Got, Vec<&'static str>) {
    cpu::begin(0);
    let judge = Rc::new(RefCell::new(Judge::new()));
    let net = with_visitor(judge.clone(), || polls(gro, weight, packets));
    let mut got = Got::new();
    for arrival in net.ledger.take_arrivals() {
        got.entry(arrival.socket).or_default().push((arrival.number, arrival.bytes));
    }
    let faults = take_faults().into_iter().map(|fault| fault.rule);
    let broken = judge.borrow().findings().iter().map(|f| f.rule).chain(faults).collect();
    (got, broken)
}

/// All sequences of `len` of these packets, each of one of two flows.
fn sequences(kinds: &[Packet], len: u32) -> impl Iterator<Item = Vec<(u8, Packet)>> + '_ {
    let base = 2 * kinds.len();
    (0..base.pow(len)).map(move |number| {
        let digit = |at: u32| number / base.pow(at) % base;
        let packet = |d: usize| ((d % 2) as u8, kinds[d / 2]);
        (0..len).map(|at| packet(digit(at))).collect()
    })
}

const SEGMENTS: [Packet; 4] = [Packet::Data(4), Packet::Push(4), Packet::Ack, Packet::Gap(4)];
const DATAGRAMS: [Packet; 3] = [Packet::Datagram(4), Packet::Datagram(3), Packet::Bare(4)];

/// Tries them all; the first that breaks something, and how many were tried.
fn first_broken(kinds: &[Packet], len_max: u32) -> (Option<String>, u64) {
    let mut tried = 0;
    for len in 1..=len_max {
        for packets in sequences(kinds, len) {
            let (plain, _) = run(None, 64, &packets);
            for (weight, normal_batch) in [(1, 8), (2, 1), (3, 3), (64, 8)] {
                tried += 1;
                let gro = GroOptions::new(true, normal_batch);
                let (got, broken) = run(Some(gro), weight, &packets);
                if !broken.is_empty() || got != plain {
                    let same = if got == plain { "the same" } else { "something else" };
                    let what = format!("{packets:?} by {weight}: {broken:?}, sockets get {same}");
                    return (Some(what), tried);
                }
            }
        }
    }
    (None, tried)
}

#[test]
fn all_sequences_of_segments_arrive_as_without_gro() {
    let (broken, tried) = first_broken(&SEGMENTS, 4);
    assert_eq!(broken, None);
    assert_eq!(tried, 4 * (8 + 64 + 512 + 4096));
}

#[test]
fn all_sequences_of_datagrams_arrive_as_without_gro() {
    let (broken, tried) = first_broken(&DATAGRAMS, 5);
    assert_eq!(broken, None);
    assert_eq!(tried, 4 * (6 + 36 + 216 + 1296 + 7776));
}

#[test]
fn two_packets_show_each_bug_and_one_does_not() {
    for (bug, kinds) in
        [("D-1", &SEGMENTS[..]), ("GRO-UDP-ORDER", &DATAGRAMS[..]), ("D-25", &SIZES[..])]
    {
        let (broken, _) = with_bug(bug, || first_broken(kinds, 2));
        assert!(broken.is_some(), "{bug} is not seen in two packets");
        let (fewer, _) = with_bug(bug, || first_broken(kinds, 1));
        assert_eq!(fewer, None, "{bug} is seen in one");
    }
}

const SIZES: [Packet; 3] = [Packet::Data(2), Packet::Data(4), Packet::Push(4)];
