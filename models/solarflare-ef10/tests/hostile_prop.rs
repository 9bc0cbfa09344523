//! Whatever a driver writes and memory holds, the device goes on, and no frame is in two places.

use pollproof_events::{record, Event};
use pollproof_pcie::Outbound;
use pollproof_regs::ef10::{EvqContext, RingContext};
use pollproof_solarflare_ef10::{Ef10, Params};
use pollproof_wire::Frame;
use proptest::prelude::*;
use std::sync::Arc;

/// What happens to the device.
#[derive(Clone, Debug)]
enum Act {
    Evq(u32, u32, u64),
    Rxq(u32, u32, u32, u64),
    Txq(u32, u32, u32, u64),
    Fini(u32, u8),
    Write(u64, u32),
    Frame(Vec<u8>),
    Time(u64),
    Any,
    /// Requests are performed; reads are answered with these bytes, too few or too many.
    Perform(Vec<u8>),
    Answer(u32, Vec<u8>),
}

fn act() -> impl Strategy<Value = Act> {
    let small = 0..3_u32;
    let entries = prop_oneof![Just(8_u32), Just(16), Just(512), Just(4096), any::<u32>()];
    let register = prop_oneof![
        Just(0x400_u64),
        Just(0x420),
        Just(0x830),
        Just(0xa10),
        Just(0x2400),
        Just(0x2830),
        any::<u64>()
    ];
    let value = prop_oneof![0..64_u32, any::<u32>()];
    let bytes = || prop::collection::vec(any::<u8>(), 0..600);
    prop_oneof![
        (small.clone(), entries.clone(), any::<u64>()).prop_map(|(q, n, b)| Act::Evq(q, n, b)),
        (small.clone(), entries.clone(), small.clone(), any::<u64>())
            .prop_map(|(q, n, e, b)| Act::Rxq(q, n, e, b)),
        (small.clone(), entries, small.clone(), any::<u64>())
            .prop_map(|(q, n, e, b)| Act::Txq(q, n, e, b)),
        (small, any::<u8>()).prop_map(|(q, kind)| Act::Fini(q, kind)),
        (register, value).prop_map(|(at, value)| Act::Write(at, value)),
        bytes().prop_map(Act::Frame),
        any::<u64>().prop_map(Act::Time),
        Just(Act::Any),
        bytes().prop_map(Act::Perform),
        (any::<u32>(), bytes()).prop_map(|(tag, bytes)| Act::Answer(tag, bytes)),
    ]
}

/// Performs what the device asks for, some hundred requests at most.
fn perform(device: &mut Ef10, bytes: &[u8]) {
    for _ in 0..300 {
        match device.pop() {
            Some(Outbound::DmaRead { tag, len, .. }) => {
                let answer: Vec<u8> = bytes.iter().copied().cycle().take(len as usize).collect();
                device.dma_complete(tag, &answer);
            }
            Some(_) => {}
            None => return,
        }
    }
}

fn run(acts: &[Act], merge_max: u32) -> Ef10 {
    let mut device = Ef10::new(Params { merge_max, ..Params::default() });
    let mut number = 0;
    for act in acts {
        match act.clone() {
            Act::Evq(evq, entries, buf) => {
                let buf = buf & 0xffff_ffff;
                let _ = device.init_evq(evq, EvqContext { buf, entries, vector: evq });
            }
            Act::Rxq(rxq, entries, evq, buf) => {
                let buf = buf & 0xffff_ffff;
                let _ = device.init_rxq(rxq, RingContext { buf, entries, evq, label: rxq });
            }
            Act::Txq(txq, entries, evq, buf) => {
                let buf = buf & 0xffff_ffff;
                let _ = device.init_txq(txq, RingContext { buf, entries, evq, label: txq });
            }
            Act::Fini(queue, kind) => {
                let _ = match kind % 3 {
                    0 => device.fini_evq(queue),
                    1 => device.fini_rxq(queue),
                    _ => device.fini_txq(queue),
                };
            }
            Act::Write(offset, value) => device.mmio_write32(2, offset, value),
            Act::Frame(bytes) => {
                device.rx_frame(Frame::new(number, Arc::from(bytes)));
                number += 1;
            }
            Act::Time(ps) => {
                device.set_time(ps);
                device.expire();
            }
            Act::Any => {
                device.expire_any();
            }
            Act::Perform(bytes) => perform(&mut device, &bytes),
            Act::Answer(tag, bytes) => device.dma_complete(tag, &bytes),
        }
    }
    device
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_device_survives_any_driver_and_keeps_its_books(
        acts in prop::collection::vec(act(), 0..80),
        merge_max in 0..20_u32,
    ) {
        let (device, events) = record(|| run(&acts, merge_max));
        let mut places = std::collections::BTreeMap::<u64, u32>::new();
        let mut came = 0;
        for event in events {
            match event.event {
                Event::WireRx { .. } => came += 1,
                Event::WireDrop { number, .. } => *places.entry(number).or_default() += 1,
                Event::CqeWrite { number, .. } if number != u64::MAX => {
                    places.entry(number).or_insert(1);
                }
                _ => {}
            }
        }
        prop_assert!(places.values().all(|n| *n == 1), "a frame that ends twice");
        prop_assert_eq!(came, places.len() as u64 + device.held());
    }
}
