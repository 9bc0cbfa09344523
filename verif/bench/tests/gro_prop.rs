//! Packets of arbitrary bytes through GRO: each arrives once, byte for byte, and those that nobody
//! touched in the order of their flow.

use pollproof_bench::flows::many_flows;
use pollproof_bench::replay::Replay;
use pollproof_netcore::{GroOptions, Keep, NetOptions};
use pollproof_sync::{alone, cpu};
use pollproof_wire::{flow_of, Packet};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What becomes of a packet before it is sent.
#[derive(Clone, Debug)]
enum Edit {
    Keep,
    /// A byte is another one.
    Byte(usize, u8),
    Cut(usize),
    Pad(usize),
    /// Something else altogether.
    Bytes(Vec<u8>),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        6 => Just(Edit::Keep),
        3 => (0..80_usize, any::<u8>()).prop_map(|(at, byte)| Edit::Byte(at, byte)),
        1 => (0..200_usize).prop_map(Edit::Cut),
        1 => (1..60_usize).prop_map(Edit::Pad),
        1 => prop::collection::vec(any::<u8>(), 0..200).prop_map(Edit::Bytes),
    ]
}

fn edited(packet: &Packet, edit: &Edit) -> Packet {
    let mut bytes = packet.bytes.to_vec();
    match edit {
        Edit::Keep => {}
        Edit::Byte(at, byte) => {
            let at = at % bytes.len().max(1);
            bytes[at] = *byte;
        }
        Edit::Cut(to) => bytes.truncate(*to),
        Edit::Pad(more) => bytes.resize(bytes.len() + more, 0),
        Edit::Bytes(other) => bytes.clone_from(other),
    }
    Packet { time_ns: 0, bytes: bytes.into() }
}

fn run(packets: &[Packet], gro: Option<GroOptions>, burst: usize) -> Vec<(u64, Vec<u8>)> {
    let _alone = alone::enter();
    cpu::begin(0);
    let options = NetOptions { gro, keep: Keep::Bytes, ..NetOptions::default() };
    let replay = Replay::new(options, packets.to_vec(), |_| false);
    // What is wrong with a sum is GRO's to find.
    replay.leave_sums_to_gro();
    replay.run(burst);
    let arrivals = replay.net().ledger.take_arrivals();
    arrivals.into_iter().map(|a| (a.number, a.bytes)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn packets_of_any_bytes_arrive_as_they_came(
        edits in prop::collection::vec(edit(), 1..90),
        seed in 0..50_u64,
        flows in 1..12_u16,
        burst in 1..70_usize,
        udp in any::<bool>(),
        batch in prop_oneof![Just(1_u32), Just(3), Just(8), Just(64)],
    ) {
        let made = many_flows(flows, edits.len(), seed);
        let packets: Vec<Packet> = made.iter().zip(&edits).map(|(p, e)| edited(p, e)).collect();
        let got = run(&packets, Some(GroOptions::new(udp, batch)), burst);
        prop_assert_eq!(got.len(), packets.len());
        let mut last = BTreeMap::<u32, u64>::new();
        let mut seen = vec![false; packets.len()];
        for (number, bytes) in got {
            let index = number as usize;
            prop_assert!(!std::mem::replace(&mut seen[index], true), "{} comes twice", number);
            prop_assert!(*packets[index].bytes == *bytes, "packet {} has other bytes", number);
            if matches!(edits[index], Edit::Keep) {
                let before = last.insert(flow_of(&bytes), number);
                prop_assert!(before.is_none_or(|b| b < number), "{number} after {before:?}");
            }
        }
    }
}
