//! The life of an ixgbe port in a timed house: down, up, reset, hangs, pulled cables and removal,
//! with traffic beside them and all rules watching.

use etherparse::PacketBuilder;
use pollproof_bench::timed::{IxgbeHouse, IxgbeTimedOptions, TimedReport};
use pollproof_events::with_visitor;
use pollproof_ixgbe::{Checksum, TxFrag, TxPacket, TxRefused};
use pollproof_kapi::Dma;
use pollproof_regs::ixgbe_map as map;
use pollproof_rules::{Finding, Judge};
use pollproof_sync::switch::take_faults;
use pollproof_wire::{Pacing, Packet};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

const MS: u64 = 1_000_000_000;
const S: u64 = 1000 * MS;

fn options() -> IxgbeTimedOptions {
    let pacing = Pacing::Fixed { gap_ps: 1_000_000 };
    IxgbeTimedOptions { max_events: 10_000_000, pacing, ..IxgbeTimedOptions::default() }
}

fn udp(count: u64, flows: u8, len: usize) -> Vec<Packet> {
    let one = |n: u64| {
        let flow = (n % u64::from(flows)) as u8;
        let mut bytes = Vec::new();
        PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
            .ipv4([10, 0, 0, flow], [10, 0, 1, 1], 64)
            .udp(1000 + u16::from(flow), 9)
            .write(&mut bytes, &n.to_be_bytes())
            .expect("a packet");
        bytes.resize(bytes.len().max(len), 0);
        Packet { time_ns: 0, bytes: Arc::from(bytes) }
    };
    (0..count).map(one).collect()
}

/// A life with all rules watching: its report, and what was broken.
fn lived(
    options: &IxgbeTimedOptions,
    life: impl FnOnce(&mut IxgbeHouse),
) -> (TimedReport, Vec<Finding>) {
    take_faults();
    let judge = Rc::new(RefCell::new(Judge::new()));
    let report = with_visitor(judge.clone(), || {
        let mut house = IxgbeHouse::open(options).expect("a house");
        life(&mut house);
        house.finish().expect("a report")
    });
    assert_eq!(take_faults(), []);
    let findings = judge.borrow().findings().to_vec();
    (report, findings)
}

fn clean(options: &IxgbeTimedOptions, life: impl FnOnce(&mut IxgbeHouse)) -> TimedReport {
    let (report, findings) = lived(options, life);
    assert_eq!(findings, []);
    assert!(report.is_conserved(), "{report:?}");
    report
}

fn run_for(house: &mut IxgbeHouse, ps: u64) {
    house.run_for(ps).expect("a step");
}

fn delivered(house: &mut IxgbeHouse, packets: u64) -> bool {
    house.step_until(|h| h.net().ledger.packets() >= packets).expect("a step")
}

#[test]
fn a_port_goes_down_and_comes_up_under_traffic() {
    for queues in [1, 4] {
        let report = clean(&options().with_queues(queues, 64, 2), |house| {
            house.send(udp(3000, 16, 60));
            for _ in 1..4 {
                let so_far = house.net().ledger.packets();
                assert!(delivered(house, so_far + 30));
                house.control(|nic| nic.adapter().down()).expect("down");
                assert!(!house.adapter().is_up() && !house.adapter().carrier_ok());
                run_for(house, 2 * MS);
                house.control(|nic| nic.adapter().up()).expect("up").expect("up");
                let up = |h: &IxgbeHouse| h.adapter().carrier_ok();
                assert!(house.step_until(up).expect("a step"), "the link comes back");
                house.send(udp(500, 16, 60));
            }
        });
        assert!(report.delivered > 90, "{report:?}");
    }
}

#[test]
fn a_port_is_reinitialised_with_long_frames_under_way() {
    let report = clean(&options().with_queues(2, 64, 2), |house| {
        house.send(udp(500, 8, 5000));
        for n in 1..5 {
            assert!(delivered(house, 20 * n));
            house.control(|nic| nic.adapter().reinit_locked()).expect("a reset");
            assert!(house.adapter().is_up());
            house.send(udp(200, 8, 5000));
        }
    });
    assert!(report.drops.contains_key("rx_off") || report.drops.contains_key("rx_lost"));
}

#[test]
fn a_port_that_is_down_takes_nothing_and_down_twice_is_once() {
    let report = clean(&options(), |house| {
        house.control(|nic| (nic.adapter().down(), nic.adapter().down())).expect("down");
        house.send(udp(50, 1, 60));
    });
    assert_eq!((report.delivered, report.dropped()), (0, 50), "{report:?}");
}

#[test]
fn a_device_that_is_pulled_out_is_let_go() {
    for queues in [1, 4] {
        for at in [1, 200, 1500] {
            let report = clean(&options().with_queues(queues, 64, 2), |house| {
                house.send(udp(3000, 16, 60));
                assert!(delivered(house, at));
                house.remove_device();
                // Nothing of the data path reads; the watchdog does.
                run_for(house, 3 * S);
                assert!(house.adapter().is_removed() && !house.adapter().is_up());
            });
            assert!(report.delivered < 3000, "{report:?}");
        }
    }
}

#[test]
fn a_device_that_goes_during_a_reset_or_while_down_is_let_go_too() {
    clean(&options(), |house| {
        house.send(udp(100, 1, 60));
        assert!(delivered(house, 10));
        house.remove_device();
        house.control(|nic| nic.adapter().reinit_locked()).expect("a reset");
        assert!(house.adapter().is_removed() && !house.adapter().is_up());
    });
    clean(&options(), |house| {
        house.control(|nic| nic.adapter().down()).expect("down");
        house.remove_device();
        let up = house.control(|nic| nic.adapter().up()).expect("control");
        assert!(up.is_err() && house.adapter().is_removed());
        house.control(|nic| nic.adapter().remove()).expect("remove");
    });
}

#[test]
fn a_pulled_cable_takes_the_carrier_and_gives_it_back() {
    clean(&options(), |house| {
        house.with_device(|d| d.set_cable(false));
        let lost = |h: &IxgbeHouse| !h.adapter().carrier_ok();
        assert!(house.step_until(lost).expect("a step"));
        house.with_device(|d| d.set_cable(true));
        let back = |h: &IxgbeHouse| h.adapter().carrier_ok();
        assert!(house.step_until(back).expect("a step"));
        house.send(udp(10, 1, 60));
    });
}

/// A packet of the stack: bytes in buffers of its own.
fn packet(dma: &dyn Dma, parts: &[&[u8]]) -> TxPacket {
    let frag = |bytes: &&[u8]| {
        let buf = dma.alloc_buf().expect("a buffer");
        dma.write_buf(buf, 0, bytes);
        TxFrag { buf, len: bytes.len() }
    };
    TxPacket { frags: parts.iter().map(frag).collect(), checksum: None, vlan: None, more: false }
}

fn send(house: &mut IxgbeHouse, queue: u32, make: impl FnOnce(&dyn Dma) -> TxPacket) -> bool {
    let dma = house.net().below().dma.clone();
    let sent = house.control(|nic| match nic.adapter().xmit_frame(queue, make(&*dma)) {
        Ok(()) => true,
        Err(TxRefused::Busy(p) | TxRefused::Down(p) | TxRefused::Malformed(p)) => {
            p.frags.iter().for_each(|f| dma.free_buf(f.buf));
            false
        }
    });
    sent.expect("control")
}

fn tcp(len: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    PacketBuilder::ethernet2([2; 6], [4; 6])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(1000, 80, 1, 1000)
        .write(&mut bytes, &vec![7; len])
        .expect("a packet");
    bytes
}

#[test]
fn packets_are_sent_cleaned_and_their_buffers_freed() {
    clean(&options().with_queues(2, 64, 2), |house| {
        let bytes = tcp(1000);
        for n in 0..500 {
            let parts = [&bytes[..54], &bytes[54..100], &bytes[100..]];
            let cut = 1 + n as usize % 3;
            assert!(send(house, n % 2, |dma| packet(dma, &parts[..cut])), "{n}");
            run_for(house, MS / 10);
        }
        run_for(house, S);
        let rings: Vec<_> = house.adapter().tx_rings().cloned().collect();
        let packets = |r: &pollproof_ixgbe::TxRing| {
            r.stats.packets.load(std::sync::atomic::Ordering::Relaxed)
        };
        assert_eq!(rings.iter().map(|r| packets(r)).collect::<Vec<_>>(), [250, 250]);
        assert!(rings.iter().all(|r| r.pending() == 0 && !r.is_stopped()));
    });
}

#[test]
fn a_segmented_packet_becomes_frames_that_the_device_sums() {
    clean(&options(), |house| {
        house.with_device(|d| d.mmio_write32(0, u64::from(map::HLREG0), 0x0801_ac0f));
        let bytes = tcp(1500);
        let checksum = Checksum { ipv4: true, tcp: true, ip_len: 20, l4_len: 20, mss: 500 };
        let tso = |dma: &dyn Dma| TxPacket {
            checksum: Some(checksum),
            ..packet(dma, &[&bytes[..54], &bytes[54..]])
        };
        assert!(send(house, 0, tso));
        // Looped back: three segments arrive.
        assert!(delivered(house, 3));
    });
}

#[test]
fn a_full_ring_stops_its_queue_and_goes_on_when_there_is_room() {
    let mut options = options();
    options.nic.tx_ring_count = 64;
    clean(&options, |house| {
        let bytes = tcp(100);
        let mut sent = 0;
        while send(house, 0, |dma| packet(dma, &[&bytes])) {
            sent += 1;
            assert!(sent < 64, "more packets than descriptors");
        }
        let ring = house.adapter().tx_rings().next().expect("a ring").clone();
        assert!(ring.is_stopped() && sent > 20, "{sent}");
        house.step_until(|_| !ring.is_stopped()).expect("a step");
        assert!(!ring.is_stopped());
        assert!(send(house, 0, |dma| packet(dma, &[&bytes])));
    });
}

#[test]
fn a_transmitter_that_stands_is_a_hang_and_reset_and_a_slow_one_is_not() {
    let report = clean(&options(), |house| {
        let bytes = tcp(100);
        // The arbiter is stopped behind the driver's back.
        house.with_device(|d| d.mmio_write32(0, u64::from(map::RTTDCS), 0x00c0_0040));
        assert!(send(house, 0, |dma| packet(dma, &[&bytes])));
        run_for(house, 20 * MS);
        assert_eq!(house.adapter().timeout_resets(), 0, "one look is no hang");
        run_for(house, 9 * S);
        assert_eq!(house.adapter().timeout_resets(), 1);
        assert!(house.adapter().is_up());
        let back = |h: &IxgbeHouse| h.adapter().carrier_ok();
        assert!(back(house) || house.step_until(back).expect("a step"));
        assert!(send(house, 0, |dma| packet(dma, &[&bytes])));
        run_for(house, 8 * S);
        assert_eq!(house.adapter().timeout_resets(), 1, "it sends again");
    });
    assert!(report.is_conserved());
    clean(&options(), |house| {
        let bytes = tcp(100);
        for _ in 1..20 {
            assert!(send(house, 0, |dma| packet(dma, &[&bytes])));
            run_for(house, S);
        }
        assert_eq!(house.adapter().timeout_resets(), 0);
    });
}

#[test]
fn packets_that_cannot_go_are_given_back() {
    clean(&options(), |house| {
        let bytes = tcp(10);
        assert!(!send(house, 3, |dma| packet(dma, &[&bytes])), "no such queue");
        assert!(!send(house, 0, |dma| packet(dma, &[&[]])), "no bytes");
        assert!(!send(house, 0, |dma| packet(dma, &[&bytes[..1]; 18])), "too many buffers");
        assert!(send(house, 0, |dma| packet(dma, &[&bytes[..3]])), "padded");
        house.control(|nic| nic.adapter().down()).expect("down");
        assert!(!send(house, 0, |dma| packet(dma, &[&bytes])), "down");
        house.control(|nic| nic.adapter().up()).expect("up").expect("up");
    });
}
