//! The transmit path, case by case: descriptors, write-back, order, the wire.

#[allow(dead_code)]
mod host;

use host::sender::{data, sender, whole, DATA, LAST, LINUX, US};
use host::{udp, Host, TX_BUF};
use pollproof_events::What;
use pollproof_intel_82599::{IdleWriteBack, Misuse, Params};
use pollproof_regs::ixgbe::{ctrl, eitr, fc, fctrl, hlreg0, queue, rdma, status};
use pollproof_regs::ixgbe_desc::{rx, tx};
use pollproof_regs::ixgbe_map as map;
use pollproof_regs::ixgbe_stat as stat;

#[test]
fn a_frame_is_read_sent_and_its_descriptor_written_back_with_a_message() {
    let mut host = sender(LINUX);
    let frame = udp(1, &[9; 100]);
    let d = whole(&mut host, TX_BUF, &frame);
    host.queue_tx(&[d]);
    host.run();
    assert!(host.sent.is_empty(), "the tail was not written");
    host.kick();
    host.run();
    assert_eq!(host.sent, std::slice::from_ref(&frame));
    assert!(host.tx_done(0));
    assert_eq!(host.msix, [0]);
    assert_eq!(host.get(map::TDH), 1);
    let kinds: Vec<_> = host.writes.iter().map(|w| (w.0, w.2)).collect();
    assert_eq!(kinds, [(What::Cqe, 16)]);
    // QPTC by its second offset.
    assert_eq!((host.get(stat::GPTC), host.get(0x8680), host.get(stat::QPTC)), (1, 1, 0));
    assert_eq!(host.get(stat::GOTCL), frame.len() as u32 + 4);
    assert!(host.dev.misuses().is_empty(), "{:?}", host.dev.misuses());
}

#[test]
fn a_transmit_unit_that_hangs_takes_nothing_until_a_reset() {
    let mut host = sender(LINUX);
    let d = whole(&mut host, TX_BUF, &udp(1, &[9; 100]));
    host.queue_tx(&[d]);
    host.dev.hold_transmit();
    host.kick();
    host.run();
    assert!(host.sent.is_empty() && !host.tx_done(0));
    assert_eq!(host.get(map::TDH), 0);
    host.set(map::CTRL, ctrl::RST);
    host.run();
    host.interrupts(1);
    host.start_tx(64, LINUX);
    host.queue_tx(&[d]);
    host.kick();
    host.run();
    assert_eq!(host.sent.len(), 1);
}

#[test]
fn fragments_are_put_together_and_short_frames_padded() {
    let mut host = sender(LINUX);
    let frame = udp(1, b"x");
    host.put(TX_BUF, &frame[..20]);
    host.put(TX_BUF + 0x1000, &frame[20..]);
    let paylen = (frame.len() as u32) << tx::PAYLEN_SHIFT;
    host.queue_tx(&[
        data(TX_BUF, 20, DATA, paylen),
        data(TX_BUF + 0x1000, frame.len() - 20, LAST, paylen),
    ]);
    host.kick();
    host.run();
    let mut padded = frame.clone();
    padded.resize(60, 0);
    assert_eq!(host.sent, [padded]);
    assert!(!host.tx_done(0) && host.tx_done(1), "only RS is written back");
}

#[test]
fn packets_leave_in_order_whatever_the_order_of_completions() {
    let mut host = sender(LINUX);
    host.hold_reads = true;
    let frames: Vec<Vec<u8>> = (0..6).map(|n| udp(n, &[n as u8; 80])).collect();
    for (n, frame) in frames.iter().enumerate() {
        let d = whole(&mut host, TX_BUF + 0x1000 * n as u64, frame);
        host.queue_tx(&[d]);
    }
    host.kick();
    host.run();
    while let Some((tag, bytes)) = host.held.pop() {
        host.dev.dma_complete(tag, &bytes);
        host.run();
    }
    assert_eq!(host.sent, frames);
}

#[test]
fn wthresh_holds_write_backs_until_enough_or_until_moderation_lets_them() {
    let mut host = Host::new(Params { tx_wb_idle: IdleWriteBack::OneInterval, ..Params::zero() });
    host.interrupts(1);
    host.set(map::EITR, 40 | eitr::CNT_WDIS);
    host.start_tx(64, LINUX | 8 << queue::WTHRESH_SHIFT);
    let frame = udp(1, &[1; 60]);
    let send = |host: &mut Host, n: u32| {
        (0..n).for_each(|_| {
            let d = whole(host, TX_BUF, &frame);
            host.queue_tx(&[d]);
        });
        host.kick();
        host.run();
    };
    send(&mut host, 7);
    assert_eq!((host.sent.len(), host.msix.len(), host.tx_done(0)), (7, 0, false));
    send(&mut host, 1);
    assert_eq!((host.msix.len(), host.tx_done(7)), (1, true));
    host.set(map::EIMS_EX, 1);
    send(&mut host, 3);
    assert!(!host.tx_done(10));
    assert_eq!(host.dev.pending_vectors(), [0]);
    host.run_until(10 * US);
    assert!(host.tx_done(10), "the interval's end writes them back");
    assert_eq!(host.msix, [0, 0]);
}

#[test]
fn when_moderation_is_idle_held_write_backs_follow_the_parameter() {
    for (idle, at_once) in [
        (IdleWriteBack::AtOnce, true),
        (IdleWriteBack::OneInterval, false),
        (IdleWriteBack::Never, false),
    ] {
        let mut host = Host::new(Params { tx_wb_idle: idle, ..Params::zero() });
        host.interrupts(1);
        host.set(map::EITR, 40 | eitr::CNT_WDIS);
        host.start_tx(64, LINUX | 8 << queue::WTHRESH_SHIFT);
        let d = whole(&mut host, TX_BUF, &udp(1, &[1; 60]));
        host.queue_tx(&[d]);
        host.kick();
        host.run_until(1);
        assert_eq!(host.tx_done(0), at_once, "{idle:?}");
        host.run_until(100 * US);
        assert_eq!(host.tx_done(0), idle != IdleWriteBack::Never, "{idle:?}");
        host.set(map::EICS_EX, 1); // the watchdog's kick
        host.run();
        assert!(host.tx_done(0), "{idle:?}");
    }
}

#[test]
fn head_write_back_writes_the_head_and_no_descriptor() {
    let mut host = sender(LINUX);
    host.set(map::TDWBAL, 0x20_0000 | queue::HEAD_WB);
    host.put(0x20_0000, &[0; 4]);
    for _ in 0..3 {
        let d = whole(&mut host, TX_BUF, &udp(1, &[1; 60]));
        host.queue_tx(&[d]);
    }
    host.kick();
    host.run();
    assert_eq!(host.mem[0x20_0000..0x20_0004], [3, 0, 0, 0]);
    assert!(!host.tx_done(0) && !host.tx_done(2));
    assert!(host.writes.iter().all(|w| (w.0, w.2) == (What::Record, 4)));
    // WTHRESH must be 0 with it; the head is written at once all the same.
    host.set(map::TXDCTL, 0);
    host.set(map::TXDCTL, LINUX | 8 << queue::WTHRESH_SHIFT | queue::ENABLE);
    assert_eq!(host.misused(Misuse::HeadWriteBackThreshold), 1);
    let d = whole(&mut host, TX_BUF, &udp(1, &[1; 60]));
    host.queue_tx(&[d]);
    host.kick();
    host.run();
    assert_eq!(host.mem[0x20_0000..0x20_0004], [4, 0, 0, 0]);
}

#[test]
fn a_pause_frame_holds_the_transmitter_for_its_time() {
    let params = Params { wire_byte_ps: 800, ..Params::zero() };
    let mut host = Host::receiving(params, 1, 8);
    host.start_tx(64, LINUX);
    host.set(map::MFLCN, fc::MFLCN_RFCE);
    let mut pause = vec![0; 60];
    pause[..6].copy_from_slice(&[1, 0x80, 0xc2, 0, 0, 1]);
    pause[12..18].copy_from_slice(&[0x88, 0x08, 0, 1, 0, 100]);
    host.frame(&pause);
    let d = whole(&mut host, TX_BUF, &udp(1, &[1; 60]));
    host.queue_tx(&[d]);
    host.kick();
    host.run();
    assert!(host.sent.is_empty());
    assert_eq!(host.get(map::TFCS), 1);
    host.run_until(100 * 64 * 800 - 1);
    assert!(host.sent.is_empty());
    host.run_until(100 * 64 * 800);
    assert_eq!((host.sent.len(), host.get(stat::LXOFFRXCNT)), (1, 1));
    assert_eq!(host.dev.stats().rx_pause, 1);
}

#[test]
fn loopback_brings_frames_back_marked() {
    let mut host = Host::receiving(Params::zero(), 1, 8);
    host.start_tx(64, LINUX);
    host.post(0, 7);
    host.dev.set_cable(false);
    host.set(map::HLREG0, host.dev.peek(map::HLREG0) | hlreg0::LPBK);
    let frame = udp(1, &[1; 60]);
    let d = whole(&mut host, TX_BUF, &frame);
    host.queue_tx(&[d]);
    host.kick();
    host.run();
    let got = host.poll(0).expect("a frame");
    assert_eq!((got.data, got.status & rx::LB), (frame, rx::LB));
    assert!(host.sent.is_empty());
    assert_eq!(host.get(map::FCTRL), fctrl::UPE | fctrl::MPE | fctrl::BAM);
    assert_eq!(host.get(map::RXCTRL), rdma::RXEN);
}

#[test]
fn without_link_frames_wait() {
    let mut host = sender(LINUX);
    host.dev.set_cable(false);
    let d = whole(&mut host, TX_BUF, &udp(1, &[1; 60]));
    host.queue_tx(&[d]);
    host.kick();
    host.run();
    assert!(host.sent.is_empty() && host.get(map::TDH) != host.get(map::TDT));
    host.dev.set_cable(true);
    host.run();
    assert_eq!(host.sent.len(), 1);
}

#[test]
fn more_than_40_descriptors_without_report_are_told() {
    let mut host = sender(LINUX);
    let frame = udp(1, &[1; 60]);
    let mut d = whole(&mut host, TX_BUF, &frame);
    d[2] &= !tx::RS;
    host.queue_tx(&[d; 40]);
    host.kick();
    host.run();
    assert_eq!(host.misused(Misuse::TxReportDistance), 0);
    host.queue_tx(&[d]);
    host.kick();
    host.run();
    assert_eq!(host.misused(Misuse::TxReportDistance), 1);
    assert_eq!(host.sent.len(), 41);
    assert!(host.msix.is_empty());
}

#[test]
fn queues_take_turns_packet_by_packet() {
    let mut host = Host::new(Params { tx_jobs: 1, ..Params::zero() });
    host.start_tx(64, LINUX);
    let q = 0x40;
    host.put(0x9_0000, &[0; 512]);
    host.set(map::TDBAL + q, 0x9_0000);
    host.set(map::TDLEN + q, 512);
    host.set(map::TXDCTL + q, LINUX | queue::ENABLE);
    host.hold_reads = true;
    for n in 0..3u16 {
        let d = whole(&mut host, TX_BUF + 0x1000 * u64::from(n), &udp(n, &[1; 60]));
        host.queue_tx(&[d]);
        let d = whole(&mut host, TX_BUF + 0x8000 + 0x1000 * u64::from(n), &udp(100 + n, &[1; 60]));
        host.put(0x9_0000 + 16 * u64::from(n), &pollproof_regs::ixgbe_desc::build(d));
    }
    host.kick();
    host.set(map::TDT + q, 3);
    host.run();
    host.hold_reads = false;
    for (tag, bytes) in std::mem::take(&mut host.held) {
        host.dev.dma_complete(tag, &bytes);
    }
    host.run();
    let ports: Vec<u16> = host.sent.iter().map(|f| u16::from_be_bytes([f[34], f[35]])).collect();
    let mut sorted = ports.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [0, 1, 2, 100, 101, 102]);
    let of = |low: bool| ports.iter().copied().filter(|&p| (p < 100) == low).collect::<Vec<_>>();
    assert_eq!((of(true), of(false)), (vec![0, 1, 2], vec![100, 101, 102]));
    assert_ne!(ports, [0, 1, 2, 100, 101, 102], "no queue waits for the whole of another");
}

#[test]
fn a_disabled_queue_ends_when_its_packets_have() {
    let mut host = sender(LINUX);
    host.hold_reads = true;
    let d = whole(&mut host, TX_BUF, &udp(1, &[1; 60]));
    host.queue_tx(&[d]);
    host.kick();
    host.run();
    let (tag, bytes) = host.held.remove(0);
    host.dev.dma_complete(tag, &bytes); // the descriptor; its data is read now
    host.run();
    host.set(map::TXDCTL, 0);
    assert_ne!(host.get(map::TXDCTL) & queue::ENABLE, 0);
    let (tag, bytes) = host.held.remove(0);
    host.dev.dma_complete(tag, &bytes);
    host.run();
    assert_eq!(host.get(map::TXDCTL) & queue::ENABLE, 0);
    assert!(host.tx_done(0));
}

#[test]
fn the_wire_takes_its_time() {
    let params = Params { wire_byte_ps: 800, ..Params::zero() };
    let mut host = Host::new(params);
    host.start_tx(64, LINUX);
    for _ in 0..4 {
        let d = whole(&mut host, TX_BUF, &udp(1, &[1; 18]));
        host.queue_tx(&[d]);
    }
    host.kick();
    let mut done = vec![];
    while host.step() {}
    while let Some(sent) = host.dev.pop_frame() {
        done.push(sent.done_ps);
    }
    assert_eq!(done, [67_200, 134_400, 201_600, 268_800], "14.88 million a second");
}

#[test]
fn a_queue_that_stops_inside_a_packet_lets_the_others_go_on() {
    let mut host = sender(LINUX);
    let q = 0x40;
    host.put(0x9_0000, &[0; 512]);
    host.set(map::TDBAL + q, 0x9_0000);
    host.set(map::TDLEN + q, 512);
    host.set(map::TXDCTL + q, LINUX | queue::ENABLE);
    host.put(TX_BUF, &udp(1, &[1; 60]));
    host.queue_tx(&[data(TX_BUF, 50, DATA, 102 << tx::PAYLEN_SHIFT); 30]);
    host.hold_reads = true;
    host.kick();
    host.run();
    let (tag, bytes) = host.held.remove(0);
    host.dev.dma_complete(tag, &bytes);
    host.set(map::TXDCTL, 0);
    assert_eq!(host.misused(Misuse::TxCutPacket), 1);
    host.hold_reads = false;
    let d = whole(&mut host, TX_BUF + 0x1000, &udp(2, &[2; 60]));
    host.put(0x9_0000, &pollproof_regs::ixgbe_desc::build(d));
    host.set(map::TDT + q, 1);
    host.run();
    assert_eq!(host.sent, [udp(2, &[2; 60])]);
}

#[test]
fn while_the_function_is_kept_off_the_bus_nothing_new_is_asked_for() {
    let mut host = Host::receiving(Params::zero(), 1, 8);
    host.start_tx(64, LINUX);
    host.hold_reads = true;
    host.post(0, 7);
    host.run();
    host.hold_reads = false;
    host.set(map::CTRL, ctrl::GIO_DIS);
    assert_ne!(host.get(map::STATUS) & status::GIO_MASTER, 0, "a read is open");
    let (tag, bytes) = host.held.remove(0);
    host.dev.dma_complete(tag, &bytes);
    host.frame(&udp(1, &[1; 60]));
    let d = whole(&mut host, TX_BUF, &udp(1, &[1; 60]));
    host.queue_tx(&[d]);
    host.kick();
    host.run_until(US);
    assert!(!host.dev.has_output() && host.msix.is_empty() && host.sent.is_empty());
    assert_eq!(host.get(map::STATUS) & status::GIO_MASTER, 0);
    host.set(map::CTRL, 0);
    host.run_until(2 * US);
    assert!(host.poll(0).is_some() && host.sent.len() == 1 && host.tx_done(0));
}
