//! Property tests of ixgbe: any packets through any port, and any life of a port under traffic.
//! Rules hold, packets are conserved, buffers come back.

use pollproof_bench::timed::{
    run_frames, run_judged, CpuCosts, Ended, IxgbeHouse, IxgbeTimedOptions,
};
use pollproof_events::with_visitor;
use pollproof_hostmem::FailPlan;
use pollproof_ixgbe::{ItrSetting, QvLockForm, TxFrag, TxPacket, TxRefused};
use pollproof_rules::Judge;
use pollproof_sync::switch::take_faults;
use pollproof_wire::{FaultRates, Pacing, Packet};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Frames of any length, some of flows and some that nobody knows, close together or not.
fn packets(most: usize) -> impl Strategy<Value = Vec<Packet>> {
    let len = prop_oneof![8 => 14..200_usize, 2 => 200..3000_usize, 1 => 3000..9700_usize];
    let one = (0..12_u8, len, prop_oneof![Just(0u64), 0..3000_u64]).prop_map(|(flow, len, gap)| {
        let mut bytes = Vec::new();
        if flow < 10 {
            etherparse::PacketBuilder::ethernet2([2; 6], [4; 6])
                .ipv4([10, 0, 0, flow], [10, 0, 1, 1], 64)
                .udp(1000, 9)
                .write(&mut bytes, &[flow; 16])
                .expect("a packet");
        }
        bytes.resize(len, flow);
        (gap, Arc::from(bytes))
    });
    prop::collection::vec(one, 0..most).prop_map(|all| {
        let mut time_ns = 0;
        let packet = |(gap, bytes)| {
            time_ns += gap;
            Packet { time_ns, bytes }
        };
        all.into_iter().map(packet).collect()
    })
}

fn pacing() -> impl Strategy<Value = Pacing> {
    prop_oneof![
        Just(Pacing::AsCaptured),
        Just(Pacing::LineRate { bits_per_s: 10_000_000_000 }),
        (0..3_000_000_u64).prop_map(|gap_ps| Pacing::Fixed { gap_ps }),
    ]
}

fn itr() -> impl Strategy<Value = ItrSetting> {
    prop_oneof![Just(ItrSetting::Adaptive), (0..200_u32).prop_map(ItrSetting::Usecs)]
}

fn lock() -> impl Strategy<Value = Option<QvLockForm>> {
    prop_oneof![
        Just(None),
        Just(Some(QvLockForm::Spin)),
        Just(Some(QvLockForm::SpinBh)),
        Just(Some(QvLockForm::Cmpxchg)),
    ]
}

prop_compose! {
    fn port()(queues in 1..=16_u32, vectors in 1..20_u32, size in 3..20_u32, weight in 1..70_i32,
              itr in itr(), lock in lock(), busy_us in 0..40_u64, pause: bool, udp: bool,
              cpus in 1..5_u32)
        -> IxgbeTimedOptions
    {
        let base = IxgbeTimedOptions { max_events: 2_000_000, ..IxgbeTimedOptions::default() };
        let mut options = base.with_queues(queues, 8 * size, cpus);
        options.nic.vectors = vectors;
        options.nic.weight = weight;
        options.nic.itr = itr;
        options.nic.busy_poll_lock = lock;
        options.nic.tx_pause = pause;
        options.nic.rss_udp = udp;
        options.busy_poll_us = if lock.is_some() { busy_us } else { 0 };
        options
    }
}

prop_compose! {
    fn options()(port in port(), pacing in pacing(), seed: u64, zero: bool, refire: bool,
                 fail in prop::option::of((1..300_u64, 0..200_u64)), loss in 0..100_000_u64,
                 budget in 1..400_i32, batch in 1..4_u32, packet_ns in 0..3000_u64,
                 rcv_queue in prop_oneof![Just(0usize), 1..200_usize])
        -> IxgbeTimedOptions
    {
        let mut options = IxgbeTimedOptions { pacing, seed, ..port };
        options.faults = FaultRates { loss_ppm: loss, reorder_ppm: loss, ..FaultRates::default() };
        options.fail_allocs = fail.map(|(first, more)| FailPlan { first, last: first + more });
        options.net.netdev_budget = budget;
        options.net.rcv_queue = rcv_queue;
        if zero {
            options = options.without_latencies();
        }
        options.device.refire_while_set = refire;
        options.device.rx_wb_batch = batch;
        options.costs = CpuCosts { packet_ns, ..options.costs };
        options
    }
}

/// What happens to a port.
#[derive(Clone, Debug)]
enum Act {
    Send(Vec<Packet>),
    Run(u64),
    Down,
    Up,
    Reinit,
    Reset,
    Cable(bool),
    Xmit(u32, usize),
    Remove,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => packets(60).prop_map(Act::Send),
        4 => (0..200_000_000_u64).prop_map(Act::Run),
        1 => (0..3_000_000_000_000_u64).prop_map(Act::Run),
        2 => Just(Act::Down),
        3 => Just(Act::Up),
        1 => Just(Act::Reinit),
        1 => Just(Act::Reset),
        1 => any::<bool>().prop_map(Act::Cable),
        4 => (0..17_u32, 0..2000_usize).prop_map(|(queue, len)| Act::Xmit(queue, len)),
        1 => Just(Act::Remove),
    ]
}

/// Sends a packet of two buffers; one that is not taken is freed.
fn xmit(house: &mut IxgbeHouse, queue: u32, len: usize) {
    let dma = house.net().below().dma.clone();
    let sent = house.control(|nic| {
        let frags = [len / 3, len - len / 3].map(|len| (dma.alloc_buf(), len));
        let frag = |(buf, len): (Result<u64, _>, usize)| buf.ok().map(|buf| TxFrag { buf, len });
        let frags = frags.into_iter().filter_map(frag).collect();
        let packet = TxPacket { frags, checksum: None, vlan: None, more: len % 2 == 1 };
        match nic.adapter().xmit_frame(queue, packet) {
            Ok(()) => {}
            Err(TxRefused::Busy(p) | TxRefused::Down(p) | TxRefused::Malformed(p)) => {
                p.frags.iter().for_each(|f| dma.free_buf(f.buf));
            }
        }
    });
    sent.expect("control");
}

fn perform(house: &mut IxgbeHouse, act: Act) {
    let is_up = house.adapter().is_up();
    match act {
        Act::Send(packets) => house.send(packets),
        Act::Run(ps) => house.run_for(ps).expect("a step"),
        Act::Down => house.control(|nic| nic.adapter().down()).expect("control"),
        Act::Up if is_up => {}
        Act::Up => {
            // Memory or device may be gone.
            let _ = house.control(|nic| nic.adapter().up()).expect("control");
        }
        Act::Reinit => house.control(|nic| nic.adapter().reinit_locked()).expect("control"),
        Act::Reset if is_up => {}
        Act::Reset => house.control(|nic| nic.adapter().reset()).expect("control"),
        Act::Cable(present) => {
            house.with_device(|d| d.set_cable(present));
        }
        Act::Xmit(queue, len) => xmit(house, queue, len),
        Act::Remove => house.remove_device(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100,
                                        ..ProptestConfig::default() })]

    #[test]
    fn rules_and_conservation_hold(packets in packets(300), options in options()) {
        let judged = run_judged(packets.iter().cloned(), &options);
        prop_assert_eq!(&judged.findings, &vec![]);
        let report = judged.outcome.expect("a report");
        prop_assert!(report.is_conserved(), "{:?}", report);
        prop_assert_eq!((report.ended, report.held), (Ended::Drained, 0));
        prop_assert_eq!(report.offered, packets.len() as u64);
        prop_assert_eq!(run_frames(packets, &options), Ok(report));
    }

    #[test]
    fn a_run_that_stops_is_conserved(packets in packets(300), mut options in options(),
                                     stop_ps in 0..300_000_000_u64) {
        options.stop_at_ps = Some(stop_ps);
        let judged = run_judged(packets, &options);
        prop_assert_eq!(&judged.findings, &vec![]);
        prop_assert!(judged.outcome.expect("a report").is_conserved());
    }

    #[test]
    fn any_life_of_a_port_keeps_the_rules(options in options(),
                                          acts in prop::collection::vec(act(), 0..25)) {
        take_faults();
        let judge = Rc::new(RefCell::new(Judge::new()));
        let report = with_visitor(judge.clone(), || {
            let mut house = IxgbeHouse::open(&options).expect("a house");
            for act in acts {
                perform(&mut house, act);
            }
            house.finish().expect("a report")
        });
        prop_assert_eq!(take_faults(), vec![]);
        let findings = judge.borrow().findings().to_vec();
        prop_assert_eq!(findings, vec![]);
        prop_assert!(report.is_conserved(), "{:?}", report);
    }

    #[test]
    fn a_port_that_is_let_go_gives_all_buffers_back(packets in packets(200), options in options(),
                                                    ps in 0..500_000_000_u64) {
        let mut house = IxgbeHouse::open(&options).expect("a house");
        house.send(packets);
        house.run_for(ps).expect("a step");
        xmit(&mut house, 0, 700);
        house.control(|nic| nic.adapter().remove()).expect("control");
        house.net().read_sockets();
        let left = house.buffers_in_use();
        prop_assert_eq!(left, Some(0));
    }
}
