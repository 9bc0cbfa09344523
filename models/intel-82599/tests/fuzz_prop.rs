//! Register accesses of any size at any place, in any order with traffic: nothing panics, memory
//! stays bounded, no read is all ones by itself, and the device still works after a reset.
//!
//! `FUZZ_OPS` sets the number of operations; a run is the same for the same number.

#[allow(dead_code)]
mod host;

use host::{tcp, udp, Host, RX_RING, TX_BUF, TX_RING};
use pollproof_intel_82599::{IdleWriteBack, MacError, Medium, Params};
use pollproof_regs::ixgbe::{pci, queue};
use pollproof_regs::ixgbe_desc::{build, tx};
use pollproof_regs::ixgbe_map as map;
use pollproof_wire::Frame;

/// A generator of its own (xorshift), so that a run can be repeated.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A value as drivers and accidents write them.
    fn value(&mut self) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << self.below(64),
            3 => self.below(64),
            4 => 128 * self.below(4096),
            5 => u64::from(queue::ENABLE) | self.next() & 0x7f_7f7f,
            _ => self.next(),
        }
    }

    /// An offset: mostly one that has a register.
    fn offset(&mut self) -> u64 {
        match self.below(8) {
            0 => self.next(),
            1 => self.below(0x2_0000),
            2..=3 => 0x1000 + 0x40 * self.below(4) + 4 * self.below(16),
            4 => 0x6000 + 0x40 * self.below(4) + 4 * self.below(16),
            5 => 0x800 + 4 * self.below(0x90),
            _ => {
                let row = &map::MAP[self.below(map::MAP.len() as u64) as usize];
                u64::from(row.offset + row.stride * self.below(u64::from(row.count)) as u32)
            }
        }
    }
}

fn params(dice: &mut Dice) -> Params {
    let times = if dice.below(2) == 0 { Params::zero() } else { Params::default() };
    Params {
        medium: match dice.below(3) {
            0 => Medium::Cx4,
            n => Medium::Sfp { module: n == 1 },
        },
        rx_cache: dice.below(100) as u32,
        rx_fetch: dice.below(20) as u32,
        tx_cache: dice.below(60) as u32,
        rx_wb_batch: dice.below(5) as u32,
        tx_wb_idle: [IdleWriteBack::AtOnce, IdleWriteBack::OneInterval, IdleWriteBack::Never]
            [dice.below(3) as usize],
        tx_jobs: dice.below(8) as u32,
        out_limit: 1 + dice.below(300) as usize,
        wire_limit: dice.below(50) as usize,
        rsc_contexts: dice.below(4) as u32,
        refire_while_set: dice.below(2) == 0,
        rsc_idle_waits: dice.below(2) == 0,
        rsc_merges_acks: dice.below(2) == 0,
        pad_short: dice.below(2) == 0,
        ..times
    }
}

/// A frame of some sort, or noise.
fn some_frame(dice: &mut Dice) -> Vec<u8> {
    let len = dice.below(3000) as usize;
    let port = dice.below(4) as u16;
    match dice.below(4) {
        0 => (0..len).map(|_| dice.next() as u8).collect(),
        1 => udp(port, &vec![7; len]),
        2 => {
            let mut frame = udp(port, &vec![7; len]);
            let at = dice.below(50) as usize;
            frame[at.min(41)] = dice.next() as u8;
            frame
        }
        _ => tcp(port, 1 + 100 * dice.below(8) as u32, dice.below(5) == 0, &[1; 100]),
    }
}

/// Rings at their places, so that some traffic gets through the noise.
fn set_up(host: &mut Host, dice: &mut Dice) {
    host.set(map::CTRL, 0);
    host.set(map::FCTRL, 0x700);
    host.interrupts(2);
    (0..2).for_each(|n| host.start_rx(n, 64));
    host.start_tx(64, 0x0108_0120);
    for n in 0..64 {
        let at = TX_BUF as u32 + 64 * dice.below(1000) as u32;
        let command = tx::EOP | tx::IFCS | tx::RS | (dice.next() as u32 & 0x7ff);
        let advanced = tx::DEXT | (2 + dice.below(2) as u32) << tx::DTYP_SHIFT;
        let noise = [0, 0, dice.next() as u32, tx::TSE][dice.below(4) as usize];
        let olinfo = (dice.next() & 0xffff) as u32 | 100 << 14;
        let kind = if dice.below(2) == 0 { 0 } else { advanced | noise };
        let bytes = build([at, (dice.below(40) == 0).into(), command | kind, olinfo]);
        host.put(TX_RING + 16 * n, &bytes);
        for q in 0..2 {
            let buffer = host.buffer(q, n as u32) as u32;
            let at = RX_RING + 0x4000 * u64::from(q) + 16 * n;
            host.put(at, &build([buffer, 0, 0, 0]));
        }
    }
    host.set(map::RXCTRL, 1);
    host.dev.mmio_write(0, u64::from(map::RDT), 60, 4);
    host.dev.mmio_write(0, u64::from(map::TDT), 60, 4);
}

fn one(host: &mut Host, dice: &mut Dice, now_ps: &mut u64) {
    let bar = [pci::BAR_CSR, pci::BAR_CSR, pci::BAR_CSR, pci::BAR_MSIX, 2][dice.below(5) as usize];
    let bytes = [4, 4, 4, 4, 4, 4, 1, 2, 8, 0, 3, 16][dice.below(12) as usize];
    match dice.below(20) {
        0..=5 => {
            let (at, value) = (dice.offset(), dice.value());
            host.dev.mmio_write(bar, at, value, bytes);
        }
        6..=9 => {
            let at = dice.offset();
            host.dev.mmio_read(bar, at, bytes);
        }
        10..=12 => {
            let frame = some_frame(dice);
            if dice.below(9) == 0 {
                let bad = Frame::new(0, frame.into());
                host.dev.rx_bad_frame(bad, MacError::Crc);
            } else {
                host.frame(&frame);
            }
        }
        13..=15 => (0..dice.below(20)).for_each(|_| {
            host.step();
        }),
        16 => {
            host.dev.pop_frame();
        }
        17 => {
            *now_ps += dice.below(50_000_000);
            host.dev.set_time(*now_ps);
            host.dev.expire();
            host.dev.next_deadline();
        }
        18 => match dice.below(12) {
            0 => host.dev.set_cable(dice.below(4) != 0),
            1 => host.dev.set_module(dice.below(4) != 0),
            2 => set_up(host, dice),
            3 => host.dev.hard_reset(),
            4 => host.dev.set_msix_control(dice.below(4) != 0, dice.below(4) == 0),
            5 => host.dev.dma_complete(dice.next() as u32, &[1; 16]),
            6 => host.hold_reads = !host.hold_reads,
            7 => host.dev.set_nvm_word(dice.next() as u16, dice.next() as u16),
            _ => {
                if !host.held.is_empty() {
                    let at = dice.below(host.held.len() as u64) as usize;
                    let (tag, bytes) = host.held.swap_remove(at);
                    let kept = bytes.len().min(dice.below(5000) as usize);
                    host.dev.dma_complete(tag, &bytes[..kept]);
                }
            }
        },
        _ => {
            host.dev.expire_vector(dice.below(70) as u32);
        }
    }
}

#[test]
fn noise_on_the_bus_and_on_the_wire_does_no_harm() {
    let total = std::env::var("FUZZ_OPS").ok().and_then(|v| v.parse().ok()).unwrap_or(100_000u64);
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut done = 0;
    let (mut delivered, mut sent) = (0, 0);
    while done < total {
        let mut host = Host::new(params(&mut dice));
        host.mem.iter_mut().for_each(|b| *b = 0);
        set_up(&mut host, &mut dice);
        let mut now_ps = 0;
        for _ in 0..20_000.min(total - done) {
            one(&mut host, &mut dice, &mut now_ps);
            // What the host notes down is not the device's.
            host.writes.clear();
            host.reads.clear();
            host.msix.clear();
            assert!(host.dev.held() <= 20_000);
            assert!(host.held.len() <= 40_000);
        }
        done += 20_000;
        (delivered, sent) =
            (delivered + host.dev.stats().rx_packets, sent + host.dev.stats().tx_packets);
        works_after_reset(host);
    }
    assert!(delivered > total / 1000 && sent > 0, "{delivered} {sent}: the noise was too loud");
}

/// Whatever was before: after a reset a frame comes through.
fn works_after_reset(mut host: Host) {
    host.hold_reads = false;
    host.dev.set_cable(true);
    host.dev.set_module(true);
    host.dev.hard_reset();
    host.dev.set_msix_control(true, false);
    host.run();
    let later = host.dev.next_deadline().unwrap_or(0);
    host.run_until(later.saturating_add(2_000_000_000_000));
    host.set(map::FCTRL, 0x700);
    host.start_rx(0, 64);
    host.set(map::RXCTRL, 1);
    let after = host.dev.next_deadline().unwrap_or(0).max(later.saturating_add(3_000_000_000_000));
    host.run_until(after);
    host.post(0, 20);
    let before = host.dev.stats().rx_packets;
    host.frame(&udp(1, &[1; 100]));
    host.run_until(after + 1_000_000_000);
    assert_eq!(host.dev.stats().rx_packets, before + 1, "{:?}", host.dev.stats());
}
