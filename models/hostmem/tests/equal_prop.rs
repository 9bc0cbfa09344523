//! Property: both memories give the same results and the same events for any operations.

#[allow(dead_code)]
mod both;

use both::{Both, Op};
use pollproof_hostmem::Config;
use proptest::prelude::*;

fn op() -> impl Strategy<Value = Op> {
    let n = 0..6usize;
    let offset = prop_oneof![(0..40usize).prop_map(|w| 4 * w), 0..2100usize];
    let len = prop_oneof![(1..12usize).prop_map(|w| 4 * w), 0..70usize];
    let place = || (n.clone(), offset.clone());
    let span = || (n.clone(), offset.clone(), len.clone());
    prop_oneof![
        Just(Op::AllocBuf),
        Just(Op::AllocBuf),
        n.clone().prop_map(Op::FreeBuf),
        n.clone().prop_map(Op::Map),
        n.clone().prop_map(Op::Map),
        n.clone().prop_map(Op::Unmap),
        n.clone().prop_map(Op::HandUp),
        span().prop_map(|(n, o, l)| Op::ReadBuf(n, o, l)),
        span().prop_map(|(n, o, l)| Op::DeviceWrite(n, o, l)),
        span().prop_map(|(n, o, l)| Op::DeviceRead(n, o, l)),
        (0..9000usize).prop_map(Op::AllocArea),
        n.clone().prop_map(Op::FreeArea),
        place().prop_map(|(n, o)| Op::Load(n, o)),
        (place(), any::<u32>()).prop_map(|((n, o), v)| Op::Store(n, o, v)),
        place().prop_map(|(n, o)| Op::Read(n, o)),
        (place(), any::<u32>()).prop_map(|((n, o), v)| Op::Write(n, o, v)),
        span().prop_map(|(n, o, l)| Op::DmaWrite(n, o, l)),
        span().prop_map(|(n, o, l)| Op::DmaRead(n, o, l)),
        prop_oneof![any::<u64>(), 0x2_0000_0000..0x2_0001_0000u64].prop_map(Op::Wild),
    ]
}

proptest! {
    #[test]
    fn both_memories_agree(ops in prop::collection::vec(op(), 0..120)) {
        let small = Config { max_bufs: 5, max_coherent_bytes: 5 * 4096, buf_bytes: 2048 };
        Both::new(small).run(&ops);
    }

    #[test]
    fn the_books_balance(ops in prop::collection::vec(op(), 0..120)) {
        let mut both = Both::new(Config::small());
        both.run(&ops);
        let c = both.host.counters();
        prop_assert_eq!(c.allocs - c.frees, c.driver + c.device + c.stack);
    }
}
