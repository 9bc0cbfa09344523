//! The load of the series of March 2020 in simulation: counts against the formula, lateness against
//! the bounds of each form, and all rules.

use pollproof_figures::fq;
use pollproof_figures::load::{send, Feed, Load};
use pollproof_figures::nic::send_through_82599;
use pollproof_sched::WatchdogForm::{self, Exact, LastExpires, Range, V6_12};

const SHORT: Load = Load {
    flows: 1_000,
    packets_per_s: 1_000_000,
    queues: 1,
    slack_ns: 10_000,
    form: LastExpires,
    feed: Feed::Behind,
    time_ns: 5_000_000,
    seed: 7,
    judged: true,
};

#[test]
fn no_packet_is_early_and_none_later_than_its_slacks_in_any_form_and_feed() {
    for form in WatchdogForm::ALL {
        for feed in [Feed::Behind, Feed::Ahead { lead_ns: 100_000 }, Feed::Ahead { lead_ns: 5_000 }]
        {
            for (queues, slack_ns) in [(1, 10_000), (4, 10_000), (16, 50_000), (4, 0)] {
                let sent = send(&Load { form, feed, queues, slack_ns, ..SHORT });
                assert_eq!(sent.findings, [], "{form:?} {feed:?} {queues} {slack_ns}");
                assert_eq!(sent.early, 0);
                assert!(sent.packets > 4_000, "{} packets", sent.packets);
                assert!(sent.late_max_ns <= form.slacks() * u64::from(slack_ns));
            }
        }
    }
}

#[test]
fn timers_interrupt_as_often_as_the_formula_says() {
    for row in fq::queues(&Load { judged: false, time_ns: 20_000_000, ..SHORT }) {
        let (before, after) = (row.before, row.after);
        // Without slack each packet has its own interrupt, but for those due at the same time.
        assert!((before.per_second(before.interrupts) / 1e6 - 1.0).abs() < 0.02);
        let rate = 1e6 / row.queues as f64;
        let formula = 1e6 / (1.0 + rate * 10e-6);
        let error = after.per_second(after.interrupts) / formula - 1.0;
        assert!(error.abs() < 0.05, "{} queues: {error}", row.queues);
        assert!((after.batch() - 1.0 - rate * 10e-6).abs() < 0.1 * after.batch());
    }
}

/// The second patch spares the hardware and costs up to a second slack.
#[test]
fn the_second_patch_programs_less_and_may_be_late_by_more_than_one_slack() {
    let with = |form| {
        let feed = Feed::Ahead { lead_ns: 100_000 };
        send(&Load { form, feed, queues: 4, time_ns: 20_000_000, judged: false, ..SHORT })
    };
    let (first, second, later) = (with(Range), with(LastExpires), with(V6_12));
    assert!(first.late_max_ns <= 10_000);
    assert!((10_001..=20_000).contains(&second.late_max_ns), "{}", second.late_max_ns);
    assert!(second.programmed < first.programmed);
    assert_eq!((second.programmed, second.late_us), (later.programmed, later.late_us));
    assert_eq!(with(Exact).late_max_ns, 0);
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_one_another() {
    let with = |seed| {
        let sent = send(&Load { seed, judged: false, ..SHORT });
        (sent.interrupts, sent.late_sum_ns, sent.late_us)
    };
    assert_eq!(with(7), with(7));
    assert_ne!(with(7), with(8));
}

/// One queue of four: what 82599 and ixgbe can send. With slack a doorbell takes several packets.
#[test]
fn slack_saves_doorbells_of_a_real_ring() {
    let with = |slack_ns| {
        let load = Load { queues: 4, slack_ns, time_ns: 4_000_000, ..SHORT };
        let on_nic = send_through_82599(&load).expect("a run");
        assert_eq!(on_nic.sent.findings, []);
        assert_eq!((on_nic.busy, on_nic.frames), (0, on_nic.sent.packets), "each frame is sent");
        assert_eq!(on_nic.doorbells, on_nic.sent.doorbells, "the tail moves when no more come");
        on_nic
    };
    let (without, with) = (with(0), with(10_000));
    assert_eq!(without.sent.packets, without.doorbells);
    assert!(with.doorbells * 3 < with.sent.packets, "{} doorbells", with.doorbells);
}
