//! All sequences of packets of up to three flows, polls ending at every point: each flow gets what
//! came, byte for byte and in order.

use pollproof_bench::flows::Maker;
use pollproof_bench::replay::Replay;
use pollproof_netcore::{GroOptions, Keep, NetOptions};
use pollproof_sync::{alone, cpu};
use pollproof_wire::Packet;

/// What a packet is to GRO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It follows the one before.
    Mergeable,
    /// It goes up as it is: nothing is in it.
    Not,
    /// It ends the run that it joins.
    Flush,
    /// The driver drops it.
    Drop,
}
const KINDS: [Kind; 4] = [Kind::Mergeable, Kind::Not, Kind::Flush, Kind::Drop];

/// Flows of a sequence up to their names: the first is 0, a new one the next number.
fn canonical(len: usize, flows: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for _ in 0..len {
        let longer = |some: &Vec<usize>| {
            let next = some.iter().max().map_or(0, |m| m + 1).min(flows - 1);
            let some = some.clone();
            (0..=next).map(move |flow| [&some[..], &[flow]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

fn packets(sequence: &[(usize, Kind)]) -> Vec<Packet> {
    let mut makers: Vec<Maker> = (0..3).map(|n| Maker::new(n, 24)).collect();
    let packet = |&(flow, kind): &(usize, Kind)| {
        let bytes = match kind {
            Kind::Mergeable | Kind::Drop => makers[flow].data(),
            Kind::Not => makers[flow].ack(),
            Kind::Flush => makers[flow].push(),
        };
        Packet { time_ns: 0, bytes: bytes.into() }
    };
    sequence.iter().map(packet).collect()
}

/// Runs a sequence with polls that end after the packets whose bit is set; what is wrong.
fn wrong(sequence: &[(usize, Kind)], ends: u32, batch: u32) -> Option<String> {
    let all = packets(sequence);
    let dropped = |n: usize| sequence[n].1 == Kind::Drop;
    let gro = Some(GroOptions::new(false, batch));
    let options = NetOptions { gro, keep: Keep::Bytes, ..NetOptions::default() };
    let replay = Replay::new(options, all.clone(), dropped);
    let mut waiting = 0;
    for n in 0..sequence.len() {
        waiting += 1;
        if ends >> n & 1 != 0 || n + 1 == sequence.len() {
            replay.poll(waiting);
            waiting = 0;
        }
    }
    let arrivals = replay.net().ledger.take_arrivals();
    for flow in 0..3 {
        let of_flow = |n: &usize| sequence[*n].0 == flow && !dropped(*n);
        let sent: Vec<usize> = (0..sequence.len()).filter(of_flow).collect();
        let got: Vec<usize> = arrivals.iter().map(|a| a.number as usize).filter(of_flow).collect();
        if sent != got {
            return Some(format!("{sequence:?}, ends {ends:b}: flow {flow} gets {got:?}"));
        }
    }
    let same = |a: &pollproof_netcore::Arrival| *all[a.number as usize].bytes == *a.bytes;
    let held = replay.net().gro_held_all();
    (!arrivals.iter().all(same) || held != 0)
        .then(|| format!("{sequence:?}, ends {ends:b}: other bytes, or {held} held"))
}

/// All sequences of so many packets; how many runs there were.
fn try_all(len: usize, splits: impl Fn() -> Vec<u32>) -> u64 {
    cpu::begin(0);
    let _alone = alone::enter();
    let mut runs = 0;
    for flows in canonical(len, 3) {
        for number in 0..KINDS.len().pow(len as u32) {
            let kind = |at: usize| KINDS[number / KINDS.len().pow(at as u32) % KINDS.len()];
            let sequence: Vec<_> =
                flows.iter().copied().enumerate().map(|(n, f)| (f, kind(n))).collect();
            for ends in splits() {
                runs += 1;
                assert_eq!(wrong(&sequence, ends, 3), None);
            }
        }
    }
    runs
}

/// Up to four packets; `GRO_PACKETS=6` takes minutes, and is for a release build.
#[test]
fn all_sequences_of_packets_arrive_wherever_polls_end() {
    let asked = std::env::var("GRO_PACKETS").ok().and_then(|n| n.parse().ok());
    for len in 1..=asked.unwrap_or(4) {
        let runs = try_all(len, || (0..1 << (len - 1)).collect());
        // Sequences of kinds, of flows up to their names, and places where polls may end.
        let flows = [1, 1, 2, 5, 14, 41, 122][len.min(6)];
        println!("{runs} runs of {len} packets");
        assert_eq!(runs, (4_u64.pow(len as u32) * flows) << (len - 1));
    }
}
