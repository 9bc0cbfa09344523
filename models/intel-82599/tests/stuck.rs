//! A reset while packets wait for the link: what lands afterwards, and what keeps it away.

#[allow(dead_code)]
mod host;

use host::sender::{whole, LINUX};
use host::{udp, Host, TX_BUF};
use pollproof_intel_82599::Params;
use pollproof_regs::ixgbe::{ctrl, gcr_ext, hlreg0, status};
use pollproof_regs::ixgbe_map as map;

/// A packet was read and waits for the link, which is down; the driver wants the bus quiet.
fn stuck(params: Params) -> Host {
    let mut host = Host::new(params);
    host.interrupts(1);
    host.start_tx(64, LINUX);
    host.dev.set_cable(false);
    let d = whole(&mut host, TX_BUF, &udp(1, &[9; 100]));
    host.queue_tx(&[d]);
    host.kick();
    host.run();
    assert!(host.sent.is_empty() && !host.tx_done(0));
    host.set(map::CTRL, ctrl::GIO_DIS);
    host
}

fn is_master(host: &mut Host) -> bool {
    host.get(map::STATUS) & status::GIO_MASTER != 0
}

fn reset(host: &mut Host) {
    host.set(map::CTRL, ctrl::RST);
    host.run();
}

fn link_comes(host: &mut Host) -> usize {
    host.writes.clear();
    host.dev.set_cable(true);
    host.run();
    host.writes.len()
}

#[test]
fn a_report_that_waits_for_the_link_outlives_one_reset() {
    let mut host = stuck(Params::zero());
    assert!(is_master(&mut host), "the function is never done on the bus");
    reset(&mut host);
    assert_eq!(link_comes(&mut host), 1);
    assert!(host.tx_done(0) && host.sent.is_empty());
    assert_eq!(link_comes(&mut host), 0, "once");
}

#[test]
fn a_second_reset_takes_the_report_too() {
    let mut host = stuck(Params::zero());
    reset(&mut host);
    reset(&mut host);
    assert_eq!(link_comes(&mut host), 0);
}

#[test]
fn clearing_the_buffers_works_under_loopback_alone() {
    for (loopback, landed) in [(hlreg0::LPBK, 0), (0, 1)] {
        let mut host = stuck(Params::zero());
        let mac = host.get(map::HLREG0);
        host.set(map::HLREG0, mac | loopback);
        host.set(map::GCR_EXT, gcr_ext::BUFFERS_CLEAR);
        host.set(map::GCR_EXT, 0);
        host.set(map::HLREG0, mac);
        assert_eq!(is_master(&mut host), landed == 1);
        reset(&mut host);
        assert_eq!(link_comes(&mut host), landed);
    }
}

#[test]
fn a_part_that_forgets_is_done_on_the_bus_and_leaves_nothing() {
    let mut host = stuck(Params { reset_leaves_reports: false, ..Params::zero() });
    assert!(!is_master(&mut host));
    reset(&mut host);
    assert_eq!(link_comes(&mut host), 0);
}
