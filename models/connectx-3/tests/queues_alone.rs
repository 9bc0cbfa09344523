//! Queues driven without frames: `complete_alone`.

use pollproof_connectx_3::{Completion, ConnectX3, Params, Room};
use pollproof_pcie::Outbound;
use pollproof_regs::mlx4::{be, db, CqContext, EqContext, BAR_UAR};

/// A device with one CQ of one entry, armed, with a period of 16 us.
fn armed() -> ConnectX3 {
    let mut dev = ConnectX3::new(Params::zero());
    let moderation = |buf| EqContext { buf, log_size: 3, vector: 5, period_us: 0, max_count: 0 };
    dev.sw2hw_eq(0, moderation(0x1000)).expect("an EQ");
    let context = CqContext {
        buf: 0x2000,
        log_size: 0,
        stride_bytes: 32,
        eqn: 0,
        period_us: 16,
        max_count: 0,
        db_record: 0x3000,
        sw_init: true,
    };
    dev.sw2hw_cq(0, context).expect("a CQ");
    let first = u64::from(be(1 << db::SN_SHIFT | db::CMD_NEXT));
    dev.mmio_write64(BAR_UAR, db::CQ_DOORBELL, first);
    dev
}

/// Answers the read that is queued with a consumer index of 0.
fn answer(dev: &mut ConnectX3) {
    while let Some(out) = dev.pop() {
        if let Outbound::DmaRead { tag, .. } = out {
            dev.dma_complete(tag, &[0; 4]);
        }
    }
}

fn overrun(dev: &mut ConnectX3) {
    let what = Completion::default();
    assert_eq!(dev.complete_alone(0, 1, &what), Room::Yes);
    assert_eq!(dev.complete_alone(0, 2, &what), Room::Wait);
    answer(dev);
    assert_eq!(dev.complete_alone(0, 2, &what), Room::Overrun);
    assert_eq!(dev.complete_alone(0, 3, &what), Room::Stopped);
}

#[test]
fn a_completion_waits_for_the_record_and_then_overruns() {
    let mut dev = armed();
    assert_eq!(dev.pending_timers(), [0; 0]);
    overrun(&mut dev);
    assert!(dev.cq_view(0).expect("the CQ").stopped);
    assert_eq!(dev.stats().fired, 0);
}

#[test]
fn moderation_that_changes_does_not_wake_a_queue_that_stopped() {
    let mut dev = armed();
    overrun(&mut dev);
    dev.modify_cq(0, 8, 0).expect("a change of moderation");
    assert_eq!(dev.pending_timers(), [0; 0], "no timer starts");
    dev.modify_cq(0, 0, 0).expect("a change of moderation");
    assert_eq!(dev.stats().fired, 0, "nothing is signalled");
}
