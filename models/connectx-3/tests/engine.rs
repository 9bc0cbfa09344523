//! Completion and event engines, case by case.

#[allow(dead_code)]
mod host;

use host::{Host, CQ_BUF, DATA, EQ_BUF, RQ_BUF};
use pollproof_connectx_3::{ArmSource, Params};
use pollproof_events::{record, Event, What};
use pollproof_regs::mlx4::{be, cqe, db, eqe, CmdStatus, BAR_UAR};

fn one_ring() -> Host {
    Host::with_rings(Params::zero(), 1, 2, (0, 0))
}

#[test]
fn the_device_sets_all_owner_bits_of_new_queues() {
    let host = one_ring();
    for slot in 0..16 {
        assert_eq!(host.word(EQ_BUF + slot * 32 + 28), eqe::OWNER);
    }
    for slot in 0..4 {
        assert_eq!(host.word(CQ_BUF + slot * 32 + 28), cqe::OWNER);
    }
}

#[test]
fn a_frame_becomes_data_and_one_cqe_and_one_event() {
    let mut host = one_ring();
    host.post(0, 2, 0, 2);
    host.arm(0, 1, 0);
    host.writes.clear();
    host.frame(7, 60);
    host.run();
    let whats: Vec<_> = host.writes.iter().map(|w| (w.0, w.2)).collect();
    assert_eq!(whats, [(What::Data, 60), (What::Cqe, 32), (What::Eqe, 32)]);
    assert_eq!(host.mem[DATA as usize + 14], 7);
    assert_eq!(host.word(CQ_BUF + u64::from(cqe::BYTE_CNT)), 60);
    assert_eq!(host.word(CQ_BUF + u64::from(cqe::OWNER_OPCODE)), cqe::OPCODE_RECV);
    assert_eq!(host.word(EQ_BUF + u64::from(eqe::OWNER_WORD)), 0);
    assert_eq!(host.msix, [3]);
    assert_eq!(host.dev.held(), 0);
}

#[test]
fn a_queue_that_fired_is_silent_until_it_is_armed_again() {
    let mut host = one_ring();
    host.post(0, 2, 0, 4);
    host.arm(0, 1, 0);
    for n in 0..3 {
        host.frame(n, 60);
        host.run();
    }
    assert_eq!(host.dev.stats().fired, 1);
    host.eq_doorbell(1, true);
    host.arm(0, 1, 1); // stale: the CQ fired since
    host.run();
    assert_eq!((host.dev.stats().fired, host.dev.stats().stale_arms), (1, 1));
    host.arm(0, 2, 1); // completions beyond 1: fires at once
    host.run();
    assert_eq!((host.dev.stats().fired, host.msix.len()), (2, 2));
}

#[test]
fn the_same_sequence_number_again_only_refreshes_the_index() {
    let mut host = one_ring();
    host.post(0, 2, 0, 4);
    host.arm(0, 1, 0);
    host.arm(0, 1, 0);
    host.run();
    assert_eq!((host.dev.stats().arms, host.dev.stats().fired), (2, 0));
    host.frame(0, 60);
    host.run();
    assert_eq!(host.dev.stats().fired, 1);
}

#[test]
fn an_arm_in_two_halves_counts_as_one() {
    let mut host = one_ring();
    let first = be(1 << db::SN_SHIFT | db::CMD_NEXT);
    host.dev.mmio_write32(BAR_UAR, 0x5024, 0);
    host.dev.mmio_write32(BAR_UAR, 0x5020, first);
    host.dev.mmio_write32(BAR_UAR, 0x5024, 0);
    assert_eq!((host.dev.stats().misuse, host.dev.stats().arms), (1, 1));
    assert!(host.dev.cq_view(0).is_some_and(|cq| cq.armed));
}

#[test]
fn moderation_waits_for_its_count_or_its_period() {
    let mut host = Host::with_rings(Params::zero(), 1, 2, (16, 2));
    host.post(0, 2, 0, 4);
    host.arm(0, 1, 0);
    host.dev.set_time(1_000_000);
    host.frame(0, 60);
    host.run();
    assert_eq!(host.dev.stats().fired, 0);
    assert_eq!(host.dev.next_deadline(), Some(17_000_000));
    host.frame(1, 60);
    host.run();
    assert_eq!((host.dev.stats().fired, host.dev.next_deadline()), (1, None));
    host.arm(0, 2, 2);
    host.frame(2, 60);
    host.run();
    host.dev.set_time(16_999_999);
    host.dev.expire();
    assert_eq!(host.dev.stats().fired, 1);
    host.dev.set_time(17_000_000);
    host.dev.expire();
    assert_eq!(host.dev.stats().fired, 2);
    assert!(!host.dev.expire_any());
}

/// Found by Linux's driver: it sets 0 us and 44 packets where traffic is thin.
#[test]
fn a_period_of_zero_is_no_moderation_whatever_the_count() {
    let mut host = Host::with_rings(Params::zero(), 1, 2, (0, 44));
    host.post(0, 2, 0, 4);
    host.arm(0, 1, 0);
    host.frame(0, 60);
    host.run();
    assert_eq!((host.dev.stats().fired, host.dev.next_deadline()), (1, None));
}

#[test]
fn the_consumer_record_is_read_only_when_the_queue_looks_full() {
    let mut host = one_ring();
    host.post(0, 2, 0, 4);
    for n in 0..4 {
        host.frame(n, 60);
        host.run();
    }
    let cq_reads = |h: &Host| h.reads.iter().filter(|r| r.1 == host::cq_record(0)).count();
    assert_eq!(cq_reads(&host), 0);
    host.set_ci(0, 4);
    host.post(0, 2, 4, 8);
    host.frame(4, 60);
    host.run();
    assert_eq!(cq_reads(&host), 1);
    assert_eq!(host.word(CQ_BUF + 28), cqe::OWNER | cqe::OPCODE_RECV, "second lap");
}

#[test]
fn an_overrun_stops_the_queue_and_is_told() {
    let mut host = one_ring();
    host.post(0, 2, 0, 4);
    let (_, events) = record(|| {
        for n in 0..4 {
            host.frame(n, 60);
            host.run();
        }
        host.post(0, 2, 4, 8);
        host.frame(4, 60);
        host.frame(5, 60);
        host.run();
    });
    let overrun = Event::CqOverrun { cq: 0, producer: 4, consumer: 0, size: 4 };
    assert!(events.iter().any(|e| e.event == overrun));
    assert_eq!(host.word(EQ_BUF), eqe::TYPE_CQ_ERR << 16);
    assert_eq!(host.word(EQ_BUF + u64::from(eqe::SYNDROME)), eqe::SYNDROME_OVERRUN);
    assert_eq!(host.dev.stats().rx_cq_overrun, 1);
    assert_eq!(host.dev.stats().rx_cq_error, 1);
    assert_eq!(host.dev.stats().dropped(), 2);
}

#[test]
fn a_ring_without_wqes_drops_and_recovers() {
    let mut host = one_ring();
    host.frame(0, 60);
    host.run();
    assert_eq!(host.dev.stats().rx_out_of_buffer, 1);
    host.post(0, 2, 0, 1);
    host.frame(1, 60);
    host.frame(2, 60);
    host.run();
    assert_eq!((host.dev.stats().rx_packets, host.dev.stats().rx_out_of_buffer), (1, 2));
}

#[test]
fn a_frame_longer_than_its_buffer_is_an_error_completion() {
    let mut host = one_ring();
    host.post(0, 2, 0, 2);
    host.writes.clear();
    host.frame(0, 300);
    host.frame(1, 256);
    host.run();
    assert_eq!(host.word(CQ_BUF + 28), cqe::OPCODE_ERROR);
    assert_eq!(host.word(CQ_BUF + 24) & 0xff, cqe::SYNDROME_LOCAL_LENGTH);
    assert_eq!(host.word(CQ_BUF + 32 + 28), cqe::OPCODE_RECV);
    assert_eq!(host.writes.iter().filter(|w| w.0 == What::Data).count(), 1);
}

#[test]
fn an_eq_that_is_armed_late_fires_at_once_and_one_that_is_full_tells() {
    let mut host = one_ring();
    host.post(0, 2, 0, 4);
    let (mut sn, mut ci) = (0, 0);
    let (_, events) = record(|| {
        for n in 0..18u32 {
            host.arm(0, sn, ci);
            host.frame(u64::from(n), 60);
            host.run();
            (sn, ci) = ((sn + 1) & 3, ci + 1);
            host.set_ci(0, ci);
            host.post(0, 2, n + 4, n + 5);
        }
    });
    assert_eq!(host.msix.len(), 1, "the EQ was not armed again");
    let lost = events.iter().filter(|e| e.event == Event::EqOverrun { eq: 0 }).count();
    assert_eq!((lost, host.dev.stats().eq_overruns), (2, 2));
    host.eq_doorbell(1, true);
    host.run();
    assert_eq!(host.msix.len(), 2);
}

#[test]
fn a_record_arms_when_the_device_looks_there() {
    let params = Params { arm: ArmSource::Record, ..Params::zero() };
    let mut host = Host::with_rings(params, 1, 2, (0, 0));
    host.post(0, 2, 0, 4);
    host.arm(0, 1, 0); // the doorbell does nothing in this mode
    host.frame(0, 60);
    host.run();
    assert_eq!(host.dev.stats().fired, 0);
    host.put(host::cq_record(0) + 4, 1 << db::SN_SHIFT | db::CMD_NEXT | 1);
    host.frame(1, 60);
    host.run();
    assert_eq!(host.dev.stats().fired, 1);
    host.frame(2, 60);
    host.run();
    assert_eq!(host.dev.stats().fired, 1, "the word in the record is old by now");
}

#[test]
fn wqes_are_fetched_in_batches_that_do_not_cross_the_end() {
    let mut host = Host::with_rings(Params::default(), 1, 4, (0, 0));
    host.post(0, 4, 0, 16);
    host.frame(0, 60);
    host.dev.set_time(1_000_000);
    host.dev.expire();
    host.run();
    let fetches: Vec<_> = host.reads.iter().filter(|r| r.0 == What::Wqe).map(|r| r.1).collect();
    assert_eq!(fetches, [RQ_BUF, RQ_BUF + 8 * 16]);
}

#[test]
fn hostile_commands_are_refused() {
    let mut host = one_ring();
    let dev = &mut host.dev;
    let (eq, cq, rq) = (host::eq_context(), host::cq_context(1, (0, 0)), host::rq_context(1));
    use CmdStatus::{BadParam, BadResource, ResourceBusy};
    assert_eq!(dev.sw2hw_eq(0, eq), Err(ResourceBusy));
    assert_eq!(dev.sw2hw_eq(u32::MAX, eq), Err(BadResource));
    let mut odd = eq;
    odd.log_size = 40;
    assert_eq!(dev.sw2hw_eq(1, odd), Err(BadParam));
    odd = eq;
    odd.buf = u64::MAX - 31;
    assert_eq!(dev.sw2hw_eq(1, odd), Err(BadParam));
    let mut odd = cq;
    odd.stride_bytes = 48;
    assert_eq!(dev.sw2hw_cq(1, odd), Err(BadParam));
    odd = cq;
    odd.eqn = 9;
    assert_eq!(dev.sw2hw_cq(1, odd), Err(BadResource));
    let mut odd = rq;
    odd.cqn = 0;
    odd.stride_bytes = 0;
    assert_eq!(dev.start_rq(1, odd), Err(BadParam));
    assert_eq!(dev.start_rq(1, rq), Err(BadResource));
    assert_eq!(dev.hw2sw_eq(0), Err(ResourceBusy));
    assert_eq!(dev.hw2sw_cq(0), Err(ResourceBusy));
    assert_eq!(dev.stop_rq(5), Err(BadResource));
    assert_eq!(dev.modify_cq(0, 1 << 16, 0), Err(BadParam));
    assert_eq!(dev.stop_rq(0), Ok(()));
    assert_eq!(dev.hw2sw_cq(0), Ok(()));
    assert_eq!(dev.hw2sw_eq(0), Ok(()));
}

#[test]
fn an_unknown_register_is_zero_and_told() {
    let mut host = one_ring();
    let (value, events) = record(|| host.dev.mmio_read32(0, 0xf0010));
    assert_eq!((value, events.len()), (0, 1));
}
