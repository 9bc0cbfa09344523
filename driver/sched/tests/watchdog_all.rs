//! Proofs by exhaustion of what the watchdog decides: the range test against set membership, and
//! the four forms against each other over all short histories.

mod common;

use pollproof_events::{record, Event, Sched, NEVER};
use pollproof_sched::watchdog::in_window;
use pollproof_sched::WatchdogForm::{self, Exact, LastExpires, Range, V6_12};
use std::collections::BTreeMap;

/// The range test on 8 bits, as it is written on 64.
fn in_window_8(at: u8, expires: u8, delta: u8) -> bool {
    at.wrapping_sub(expires) <= delta
}

#[test]
fn the_range_test_is_membership_for_all_triples_of_8_bits() {
    for expires in 0..=255_u8 {
        for delta in 0..=255_u8 {
            // The window, one time after the other, over the end of time if need be.
            let mut window = [false; 256];
            (0..=delta).for_each(|n| window[usize::from(expires.wrapping_add(n))] = true);
            for at in 0..=255_u8 {
                assert_eq!(in_window_8(at, expires, delta), window[usize::from(at)]);
            }
        }
    }
}

/// Values of 64 bits at which something changes: around each power of two and both ends.
fn boundaries() -> Vec<u64> {
    let mut values: Vec<u64> =
        (0..64).map(|n| 1 << n).flat_map(|p: u64| [p - 1, p, p + 1]).collect();
    values.extend([0, 2, 3, u64::MAX - 2, u64::MAX - 1, u64::MAX]);
    values.sort_unstable();
    values.dedup();
    values
}

#[test]
fn the_range_test_is_membership_for_all_boundary_triples_of_64_bits() {
    let values = boundaries();
    for (expires, delta, at) in values
        .iter()
        .flat_map(|e| values.iter().map(move |d| (e, d)))
        .flat_map(|(e, d)| values.iter().map(move |a| (*e, *d, *a)))
    {
        let end = u128::from(expires) + u128::from(delta);
        let inside = |at: u128| (expires.into()..=end).contains(&at);
        let member = inside(at.into()) || inside(u128::from(at) + (1 << 64));
        assert_eq!(in_window(at, expires, delta), member, "{at} in {expires} + {delta}");
    }
}

/// A step in the life of a watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    /// It is asked for this time.
    Schedule(u64),
    /// Time goes on to where the hardware interrupts.
    Fire,
    Cancel,
    Deactivate,
}

const SLACK_NS: u64 = 2;
/// The same again, within the slack, and beyond it, on both sides.
const TIMES: [u64; 4] = [100, 101, 103, 104];

fn ops() -> Vec<Op> {
    let schedules = TIMES.into_iter().map(Op::Schedule);
    schedules.chain([Op::Fire, Op::Cancel, Op::Deactivate]).collect()
}

/// What can be seen after each step: the window of the timer, and whether it fired.
type Seen = Vec<(Option<(u64, u64)>, bool)>;

fn run(form: WatchdogForm, slack_ns: u64, history: &[Op]) -> Seen {
    let cpu = common::cpu(form);
    // Only the watchdog looks at the discipline: it stands for the whole of it.
    let qdisc = pollproof_sched::Qdisc::new(cpu.state.clone(), cpu.watchdog.clone(), cpu.fq());
    let mut window = None;
    let mut seen = Seen::new();
    for op in history {
        let ((), events) = record(|| match op {
            // Long ago it may be: a qdisc asks for what is not due yet.
            Op::Schedule(at_ns) => cpu.watchdog.schedule_range_ns(*at_ns, slack_ns),
            Op::Fire => {
                cpu.fire();
            }
            Op::Cancel => cpu.watchdog.cancel(),
            Op::Deactivate => qdisc.deactivate(),
        });
        let mut fired = false;
        for record in events {
            match record.event {
                Event::Sched(Sched::TimerStart { soft_ns, hard_ns, .. }) => {
                    window = Some((soft_ns, hard_ns));
                }
                Event::Sched(Sched::TimerExpire { .. }) => (window, fired) = (None, true),
                Event::Sched(Sched::TimerCancel { .. }) => window = None,
                _ => {}
            }
        }
        assert_eq!(cpu.base.next_event_ns(), window.map_or(NEVER, |(_, hard_ns)| hard_ns));
        seen.push((window, fired));
    }
    seen
}

/// All histories of at most `most` steps, short ones first.
fn histories(most: usize) -> Vec<Vec<Op>> {
    let mut all: Vec<Vec<Op>> = vec![vec![]];
    let mut begin = 0;
    for _ in 0..most {
        let end = all.len();
        for at in begin..end {
            let longer = ops().into_iter().map(|op| [all[at].clone(), vec![op]].concat());
            all.extend(longer.collect::<Vec<_>>());
        }
        begin = end;
    }
    all
}

/// In how two forms differ at the last step of a history and at none before: what each does then.
fn differences(
    a: WatchdogForm,
    b: WatchdogForm,
    slack_ns: u64,
) -> BTreeMap<String, (Vec<Op>, u32)> {
    let mut found = BTreeMap::new();
    for history in histories(5) {
        let (of_a, of_b) = (run(a, slack_ns, &history), run(b, slack_ns, &history));
        let first = (0..history.len()).find(|n| of_a[*n] != of_b[*n]);
        if first.is_some() && first == history.len().checked_sub(1) {
            let n = history.len() - 1;
            let before = if n > 0 { of_a[n - 1].0 } else { None };
            let tells = |seen: &Seen| match (before, seen[n].0) {
                (None, None) => "leaves it off",
                (None, Some(_)) => "starts it",
                (Some(b), Some(now)) if b == now => "leaves it",
                (Some(b), Some(now)) if now < b => "moves it earlier",
                (Some(_), Some(_)) => "moves it later",
                (Some(_), None) => "stops it",
            };
            let what = match history[..n].iter().rev().find(|op| !matches!(op, Op::Schedule(_))) {
                _ if before.is_some() => format!("{} / {}", tells(&of_a), tells(&of_b)),
                stopped => format!("{stopped:?}: {} / {}", tells(&of_a), tells(&of_b)),
            };
            found.entry(what).or_insert((history, 0)).1 += 1;
        }
    }
    found
}

fn smallest(found: &BTreeMap<String, (Vec<Op>, u32)>) -> Vec<(&str, Vec<Op>)> {
    found.iter().map(|(what, (history, _))| (what.as_str(), history.clone())).collect()
}

/// Every way in which the second patch changes what the watchdog does, with its smallest history.
#[test]
fn the_second_patch_differs_from_the_first_in_these_ways() {
    use Op::{Cancel, Fire, Schedule};
    let found = differences(Range, LastExpires, SLACK_NS);
    assert_eq!(
        smallest(&found),
        [
            // What its text does not tell: a time that was asked for before is asked for again
            // though nothing is queued. The first patch believes that the timer is set.
            ("Some(Cancel): leaves it off / starts it", vec![Schedule(100), Cancel, Schedule(100)]),
            ("Some(Fire): leaves it off / starts it", vec![Schedule(100), Fire, Schedule(100)]),
            // What it is for: a timer that is a little late stays.
            ("moves it earlier / leaves it", vec![Schedule(101), Schedule(100)]),
        ]
    );
}

/// "This patch has no effect if delta_ns parameter is zero": so it is while the timer is queued,
/// and not so when it is not. (A qdisc asks for no time that has passed, so of the two it is the
/// cancel that matters: a port that goes down and comes up again, with a packet for the same time.)
#[test]
fn without_slack_the_second_patch_has_an_effect_where_the_timer_is_not_queued() {
    use Op::{Cancel, Fire, Schedule};
    for before in [Exact, Range] {
        assert_eq!(
            smallest(&differences(before, LastExpires, 0)),
            [
                (
                    "Some(Cancel): leaves it off / starts it",
                    vec![Schedule(100), Cancel, Schedule(100)]
                ),
                ("Some(Fire): leaves it off / starts it", vec![Schedule(100), Fire, Schedule(100)]),
            ]
        );
    }
}

/// The form of 6.12 asks the timer instead of a copy: while a timer is queued both are what was
/// asked for last.
#[test]
fn the_form_without_last_expires_does_the_same_as_that_of_the_series() {
    for slack_ns in [0, 1, SLACK_NS, u64::MAX] {
        assert_eq!(smallest(&differences(LastExpires, V6_12, slack_ns)), []);
    }
}

/// Whatever was asked before, the timer that is queued is one of the window that was asked for
/// last, and it is there. (But for the forms without the second patch, which may believe that it
/// is.)
#[test]
fn after_each_request_the_timer_is_queued_within_its_window() {
    for (form, history) in
        [LastExpires, V6_12].into_iter().flat_map(|f| histories(5).into_iter().map(move |h| (f, h)))
    {
        if history.contains(&Op::Deactivate) {
            continue;
        }
        if let Some(Op::Schedule(expires_ns)) = history.last() {
            let seen = run(form, SLACK_NS, &history);
            let (soft_ns, hard_ns) = seen.last().and_then(|s| s.0).expect("a timer is queued");
            assert!((*expires_ns..=expires_ns + SLACK_NS).contains(&soft_ns), "{history:?}");
            assert!(hard_ns <= expires_ns + form.slacks() * SLACK_NS, "{history:?}");
        }
    }
}

#[test]
fn a_watchdog_whose_qdisc_was_deactivated_is_not_started() {
    for (form, history) in
        WatchdogForm::ALL.into_iter().flat_map(|f| histories(4).into_iter().map(move |h| (f, h)))
    {
        let seen = run(form, SLACK_NS, &history);
        let over = history.iter().position(|op| *op == Op::Deactivate).unwrap_or(seen.len());
        assert!(seen[over..].iter().all(|(window, _)| window.is_none()), "{form:?} {history:?}");
    }
}
