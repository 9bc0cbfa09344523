//! Budgets 0, 1, n - 1, n and n + 1 against n ready completions, for every n of 0 to 6, with every
//! correct form of the poll's end, on both kernels' lists.

use pollproof_bench::explored::{frames, Scene, SceneOptions};
use pollproof_events::{record, Event, Record};
use pollproof_mlx4::{ArmForm, PollEndForm};
use pollproof_netcore::Era;
use pollproof_rules::Judge;
use pollproof_sync::cpu;
use pollproof_sync::switch::{take_faults, with_bug};
use std::collections::BTreeSet;

const FORMS: [(Era, PollEndForm); 4] = [
    (Era::V6_12, PollEndForm::V6_12),
    (Era::V3_18, PollEndForm::V6_12),
    (Era::V3_18, PollEndForm::Restored),
    (Era::V3_18, PollEndForm::Before),
];

#[derive(Clone, Copy, Debug)]
struct Case {
    form: (Era, PollEndForm),
    arm: ArmForm,
    ready: i32,
    budget: i32,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for form in FORMS {
        for arm in [ArmForm::Doorbell, ArmForm::RecordAndRecheck] {
            for ready in 0..=6 {
                let budgets = BTreeSet::from([0, 1, ready - 1, ready, ready + 1]);
                let budgets = budgets.into_iter().filter(|b| *b >= 0);
                cases.extend(budgets.map(|budget| Case { form, arm, ready, budget }));
            }
        }
    }
    cases
}

/// The events of one poll with the budget, and of all that follows from it.
fn run(case: Case) -> Vec<Record> {
    cpu::begin(0);
    let mut options = SceneOptions::small(1, 3);
    options.net.era = case.form.0;
    options.nic.poll_end = case.form.1;
    options.nic.arm = case.arm;
    options.nic.weight = case.budget.max(1);
    options.posted_max = 200;
    let body = || {
        let scene = Scene::open(&options);
        scene.device.run_wire(frames(case.ready as u64, 1));
        let napi = scene.port.queues()[0].napi().expect("the port is open").clone();
        if case.budget == 0 {
            scene.net.netpoll_poll_one(&napi);
        } else {
            cpu::in_hardirq(|| scene.net.napi_schedule(&napi));
        }
        // Bounded: a broken poll may stay on the list for ever.
        for _ in 0..20 {
            scene.net.do_softirq();
            scene.device.settle();
            scene.take_interrupts(0);
        }
        scene.device.settle();
        scene.emit_rest(false);
    };
    record(body).1
}

/// The first poll: budget, what it returned, consumed, and whether it completed.
fn first_poll(records: &[Record]) -> Option<(i32, i32, i32, bool)> {
    let events = || records.iter().map(|r| r.event);
    let enter = events().position(|e| matches!(e, Event::PollEnter { .. }))?;
    let exit = enter + events().skip(enter).position(|e| matches!(e, Event::PollExit { .. }))?;
    let Event::PollExit { work, budget, .. } = records[exit].event else { return None };
    let inside = || events().take(exit).skip(enter);
    let consumed = inside().filter(|e| matches!(e, Event::CqeConsume { .. })).count();
    let completed = inside().any(|e| matches!(e, Event::NapiComplete { .. }));
    Some((budget, work, consumed as i32, completed))
}

/// What is wrong with a case, if anything.
fn wrong(case: Case) -> Option<String> {
    let _ = take_faults();
    let records = run(case);
    let work = case.ready.min(case.budget);
    let expected = Some((case.budget, work, work, case.ready < case.budget));
    let poll = first_poll(&records);
    let judge = Judge::of(&records);
    let faults = take_faults();
    let well = poll == expected && judge.findings().is_empty() && faults.is_empty();
    (!well).then(|| format!("{case:?}: {poll:?}, {:?}, {faults:?}", judge.findings()))
}

#[test]
fn every_budget_is_kept_against_every_number_of_completions() {
    let cases = cases();
    assert_eq!(cases.len(), FORMS.len() * 2 * 29);
    let wrong: Vec<_> = cases.into_iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn polls_that_break_their_budget_are_found_exactly_where_they_do() {
    let found = |bug: &'static str| -> BTreeSet<(i32, i32)> {
        let wrong = cases().into_iter().filter(|c| with_bug(bug, || wrong(*c)).is_some());
        wrong.map(|c| (c.ready, c.budget)).collect()
    };
    // C-1 completes with its whole budget used; after a netpoll the interrupt's poll has a weight
    // of 1. C-2 reports work that netpoll did not ask for.
    let full = (0..=6).flat_map(|n| (0..=7).map(move |b| (n, b))).filter(|(n, b)| *n >= 1.max(*b));
    let listed: BTreeSet<_> = cases().into_iter().map(|c| (c.ready, c.budget)).collect();
    assert_eq!(found("C-1"), full.filter(|case| listed.contains(case)).collect());
    assert_eq!(found("C-2"), (1..=6).map(|n| (n, 0)).collect());
}
