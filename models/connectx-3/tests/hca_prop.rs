//! The function against a driver and a memory that do anything: it neither panics nor goes on for
//! ever, and it forgets everything by a reset.

use pollproof_connectx_3::{Hca, HcaParams};
use pollproof_pcie::Outbound;
use pollproof_regs::mlx4_hca::{control, pci, SEND_DOORBELL};
use pollproof_wire::Frame;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Act {
    Command { opcode: u32, opmod: u32, modifier: u32, input: u64, event: bool },
    Write { bar: u8, offset: u64, value: u64, wide: bool },
    Read { bar: u8, offset: u64 },
    Frame(Vec<u8>),
    Time(u64),
    Cable(bool),
    Fail,
}

const OPCODES: [u32; 22] = [
    0x003, 0x007, 0x009, 0x00a, 0x00c, 0x012, 0x013, 0x014, 0x016, 0x017, 0x019, 0x01a, 0x01b,
    0x01c, 0x021, 0x02c, 0x031, 0x048, 0xff9, 0xffa, 0xffd, 0x034,
];

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![0..12_u32, Just(1), Just(4), Just(8), Just(0x40), any::<u32>()]
}

fn act() -> impl Strategy<Value = Act> {
    let command =
        (prop::sample::select(&OPCODES[..]), 0..4_u32, number(), any::<u64>(), any::<bool>())
            .prop_map(|(opcode, opmod, modifier, input, event)| Act::Command {
                opcode,
                opmod,
                modifier,
                input,
                event,
            });
    let offset = prop_oneof![
        control::HCR..control::HCR + 0x40,
        (0..260_u64, prop::sample::select(vec![0x14_u64, 0x20, 0x24, 0x800, 0x808, 0x818]))
            .prop_map(|(page, at)| page * 4096 + at),
        Just(129 * 4096 + SEND_DOORBELL),
        Just(control::RESET),
        Just(control::OWNER),
        u64::from(pci::MSIX_TABLE)..u64::from(pci::MSIX_PBA) + 64,
        any::<u64>(),
    ];
    let write = (prop::sample::select(vec![0_u8, 2, 7]), offset, any::<u64>(), any::<bool>())
        .prop_map(|(bar, offset, value, wide)| Act::Write { bar, offset, value, wide });
    prop_oneof![
        6 => command,
        4 => write,
        1 => (0..4_u8, any::<u64>()).prop_map(|(bar, offset)| Act::Read { bar, offset }),
        2 => prop::collection::vec(any::<u8>(), 0..200).prop_map(Act::Frame),
        1 => (0..3_000_000_u64).prop_map(Act::Time),
        1 => any::<bool>().prop_map(Act::Cable),
        1 => Just(Act::Fail),
    ]
}

/// Memory whose bytes follow from their address: small numbers more often than not.
fn memory(seed: u64, addr: u64, len: u32) -> Vec<u8> {
    let byte = |at: u64| {
        let mixed = ((addr / 4 + at / 4) ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        match mixed >> 61 {
            0..4 => 0,
            4 => (mixed >> 32) as u8 & 0x1f,
            5 => 1,
            _ => (mixed >> (8 * (at % 4))) as u8,
        }
    };
    (0..u64::from(len)).map(byte).collect()
}

/// Requests are answered; bounded, as an owner fill of the largest queue is.
fn settle(hca: &mut Hca, seed: u64) {
    for _ in 0..5_000 {
        match hca.pop() {
            Some(Outbound::DmaRead { tag, addr, len, .. }) => {
                let bytes = memory(seed, addr, len);
                hca.dma_complete(tag, &bytes);
            }
            Some(_) => {}
            None => return,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_a_driver_does_the_function_lives(
        acts in prop::collection::vec(act(), 1..60),
        seed in any::<u64>(),
    ) {
        let mut hca = Hca::new(HcaParams::new([2, 0, 0, 0, 0, 1]));
        hca.set_msix_control(true, false);
        let mut now_ps = 0;
        for act in acts {
            match act {
                Act::Command { opcode, opmod, modifier, input, event } => {
                    let event = if event { control::EVENT } else { 0 };
                    let last = control::GO | event | opmod << 12 | opcode;
                    let words = [(input >> 32) as u32, input as u32, modifier, 0, 0, 0, last];
                    for (at, word) in (control::HCR..).step_by(4).zip(words) {
                        hca.mmio_write32(pci::BAR_CONTROL, at, word.swap_bytes());
                    }
                }
                Act::Write { bar, offset, value, wide: true } => {
                    hca.mmio_write64(bar, offset, value);
                }
                Act::Write { bar, offset, value, .. } => {
                    hca.mmio_write32(bar, offset, value as u32);
                }
                Act::Read { bar, offset } => drop(hca.mmio_read32(bar, offset)),
                Act::Frame(bytes) => hca.rx_frame(Frame::new(0, bytes.into())),
                Act::Time(ps) => {
                    now_ps += ps;
                    hca.set_time(now_ps);
                    hca.expire();
                }
                Act::Cable(present) => hca.set_cable(present),
                Act::Fail => hca.fail(),
            }
            settle(&mut hca, seed);
            while hca.pop_frame().is_some() {}
        }
        hca.mmio_write32(pci::BAR_CONTROL, control::RESET, 1_u32.swap_bytes());
        prop_assert!(!hca.has_output() && hca.pop().is_none() && hca.next_deadline().is_none());
    }
}
