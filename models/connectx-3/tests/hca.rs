//! The whole function, driven by a few lines of a driver: commands by register and by event, queues
//! in scattered pages, frames in and out, and what goes wrong.

mod hca_host;

use hca_host::{Driver, CQ_RX, CQ_TX, EQN, QPN};
use pollproof_regs::mlx4_hca::{control, event, op, pci, set_port};
use pollproof_wire::Frame;

fn frame(to: [u8; 6], len: usize) -> Frame {
    let mut bytes = vec![0x11; len];
    bytes[..6].copy_from_slice(&to);
    Frame::new(0, bytes.into())
}

#[test]
fn queries_are_answered_and_what_is_not_modelled_is_told() {
    let mut d = Driver::new();
    let fw = d.query(op::QUERY_FW, 0);
    assert_eq!((fw[0x0a], fw[0x0b], &fw[..4]), (0, 3, &[0, 16, 0, 2][..]));
    assert_eq!(d.query(op::QUERY_PORT, 1)[0], 2, "Ethernet, no link before INIT_PORT");
    assert_eq!(d.command(op::QUERY_PORT, 2, 0, 0x9000), 3, "there is one port");
    assert_eq!(d.command(0x056, 0, 0, 0), 2, "QUERY_FUNC is not modelled");
    assert!(d.hca.not_modelled().contains_key(&0x1000_0056));
    assert_eq!(d.hca.mmio_read32(pci::BAR_CONTROL, control::OWNER), 0, "free");
    assert_ne!(d.hca.mmio_read32(pci::BAR_CONTROL, control::OWNER), 0, "taken by that read");
}

#[test]
fn the_register_keeps_go_until_what_the_command_wrote_has_left() {
    let mut d = Driver::new();
    d.post(op::QUERY_FW, 0, 0, 0x9000, false);
    assert!(d.hca.stalls_read(pci::BAR_CONTROL, control::HCR_LAST));
    d.settle();
    assert!(!d.hca.stalls_read(pci::BAR_CONTROL, control::HCR_LAST));
    assert_eq!(d.last_word() & (control::GO | control::TOGGLE), control::TOGGLE, "T stays");
}

#[test]
fn a_command_by_event_comes_with_its_token_and_loses_its_answer_when_told_to() {
    let mut d = Driver::new();
    d.bring_up();
    d.post(op::NOP, 0x1f, 0, 0, true);
    d.settle();
    let eqe = d.take_eqe().expect("an event");
    assert_eq!((u32::from(eqe[1]), eqe[6], eqe[7], eqe[15]), (event::CMD, 0x12, 0x34, 0));
    d.hca.lose_answer();
    d.post(op::NOP, 0x1f, 0, 0, true);
    d.settle();
    assert_eq!(d.take_eqe(), None);
    d.post(op::NOP, 0x1f, 0, 0, true);
    d.settle();
    assert!(d.take_eqe().is_some(), "only one was lost");
}

#[test]
fn frames_come_in_by_address_and_go_out_by_doorbell() {
    let mut d = Driver::new();
    d.bring_up();
    d.post_receive(4);
    for to in [d.mac, [0xff; 6], [2, 0, 0, 0, 0, 9]] {
        d.hca.rx_frame(frame(to, 70));
        d.settle();
    }
    assert_eq!(d.cqes(CQ_RX), 2, "one was for somebody else");
    assert_eq!(d.hca.port_counts().0, 1);
    d.send(&[7; 80]);
    d.doorbell();
    d.settle();
    assert_eq!(d.hca.pop_frame(), Some(vec![7; 80]));
    assert_eq!(d.cqes(CQ_TX), 1);
}

/// Found by Linux's driver in real time: the device looked at a WQE that was not there yet, and
/// took the doorbell that came meanwhile for one of before.
#[test]
fn a_doorbell_during_a_look_is_another_look() {
    let mut d = Driver::new();
    d.bring_up();
    d.send(&[1; 60]);
    d.doorbell();
    // As far as the look at the second WQE, which finds nothing.
    while d.hca.pop_frame().is_none() {
        assert!(d.step());
    }
    let looks = d.take_read().expect("a look at the next WQE");
    let seen = d.memory(looks.addr, looks.len);
    d.send(&[2; 60]);
    d.doorbell();
    d.hca.dma_complete(looks.tag, &seen);
    d.settle();
    assert_eq!(d.hca.pop_frame(), Some(vec![2; 60]));
}

#[test]
fn a_send_queue_goes_round_and_tells_each_packet() {
    let mut d = Driver::new();
    d.bring_up();
    for n in 0..200_u8 {
        d.send(&[n; 60]);
        d.doorbell();
        d.settle();
        assert_eq!(d.hca.pop_frame(), Some(vec![n; 60]), "packet {n}");
        d.consume_tx();
    }
}

/// Of eight WQEs from the 123rd on the last three lie in another page, which is elsewhere.
#[test]
fn a_fetch_across_pages_is_put_together() {
    let mut d = Driver::new();
    d.bring_up();
    d.post_receive(3);
    for n in 0..200_u32 {
        let mut bytes = vec![0; 60];
        bytes[..6].copy_from_slice(&d.mac);
        bytes[20..24].copy_from_slice(&n.to_be_bytes());
        d.hca.rx_frame(Frame::new(n.into(), bytes.into()));
        d.settle();
        if n == 2 {
            d.post_receive(240);
        }
        assert_eq!(d.received(n)[20..24], n.to_be_bytes(), "frame {n}");
    }
}

#[test]
fn link_and_filters_follow_their_commands() {
    let mut d = Driver::new();
    d.bring_up();
    let group = [1, 0, 0x5e, 0, 0, 1];
    let takes = |d: &mut Driver, to| {
        d.post_receive(1);
        let before = d.cqes(CQ_RX);
        d.hca.rx_frame(frame(to, 60));
        d.settle();
        d.cqes(CQ_RX) > before
    };
    assert!(!takes(&mut d, group));
    let address = group.iter().fold(0, |a, b| a << 8 | u64::from(*b));
    assert_eq!(d.command(op::SET_MCAST_FLTR, 1, address, 0), 0);
    assert!(takes(&mut d, group));
    d.hca.set_cable(false);
    d.settle();
    let eqe = d.take_eqe().expect("an event");
    assert_eq!((u32::from(eqe[1]), u32::from(eqe[3])), (event::PORT_CHANGE, event::PORT_DOWN));
    let mac = d.mac;
    assert!(!takes(&mut d, mac) && !d.hca.is_receiving());
    d.hca.set_cable(true);
    assert_eq!(d.command(op::SET_PORT, set_port::GENERAL << 8 | 2, 0, 0), 3, "no second port");
}

#[test]
fn a_reset_forgets_queues_and_keeps_the_cable() {
    let mut d = Driver::new();
    d.bring_up();
    d.hca.set_cable(false);
    d.hca.fail();
    assert_ne!(d.hca.mmio_read32(pci::BAR_CONTROL, control::CATAS), 0);
    d.hca.mmio_write32(pci::BAR_CONTROL, control::RESET, 1_u32.swap_bytes());
    assert_eq!(d.hca.mmio_read32(pci::BAR_CONTROL, control::CATAS), 0);
    assert_eq!((d.hca.resets(), d.hca.has_output()), (1, false));
    assert_eq!(d.command(op::HW2SW_EQ, EQN, 0, 0), 5, "no such queue");
    assert_eq!(d.query(op::QUERY_PORT, 1)[0], 2);
}

#[test]
fn transitions_and_translations_that_are_wrong_are_refused_and_told() {
    let mut d = Driver::new();
    d.bring_up();
    assert_eq!(d.misuses(|d| assert_eq!(d.command(op::RTR2RTS_QP, QPN + 1, 0x8000, 0), 0x10)), 1);
    d.clear_mtts();
    assert_eq!(d.command(op::TO_RST_QP, QPN, 0, 0), 0);
    assert_eq!(d.make_qp(), 3, "its pages are not present");
    assert_eq!(d.misuses(Driver::doorbell), 1, "a queue pair that is no more");
}
