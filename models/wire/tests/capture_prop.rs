//! Properties: the reader never panics, and reads what was written.

use pollproof_wire::{flow_of, read_capture, write_pcap, Packet};
use proptest::prelude::*;
use std::sync::Arc;

fn packet() -> impl Strategy<Value = Packet> {
    let time = 0..4_000_000_000_000_000_000u64;
    (time, prop::collection::vec(any::<u8>(), 14..200))
        .prop_map(|(time_ns, bytes)| Packet { time_ns, bytes: Arc::from(bytes) })
}

/// Bytes that begin like a capture, and end anyhow.
fn almost() -> impl Strategy<Value = Vec<u8>> {
    let any_bytes = || prop::collection::vec(any::<u8>(), 0..300);
    let magic = prop::sample::select(vec![
        vec![0xa1, 0xb2, 0xc3, 0xd4],
        vec![0x4d, 0x3c, 0xb2, 0xa1],
        vec![0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a],
        vec![0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 28, 0x1a, 0x2b, 0x3c, 0x4d],
        vec![],
    ]);
    (magic, any_bytes()).prop_map(|(magic, rest)| [magic, rest].concat())
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic_the_reader(bytes in almost()) {
        let _ = read_capture("x", &bytes);
        flow_of(&bytes);
    }

    #[test]
    fn damage_to_a_good_file_never_panics_the_reader(
        packets in prop::collection::vec(packet(), 0..5),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = write_pcap(&packets);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        let _ = read_capture("x", &bytes);
    }

    #[test]
    fn what_was_written_is_read_again(packets in prop::collection::vec(packet(), 0..20)) {
        let read = read_capture("x", &write_pcap(&packets)).expect("a capture");
        prop_assert_eq!(read.packets, packets);
        prop_assert_eq!((read.runts, read.cut), (0, 0));
    }
}
