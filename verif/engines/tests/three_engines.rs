//! The same programs under all three engines, and what each of them can and cannot see.

use pollproof_engines::{
    check_explore, check_loom, check_shuttle, minimise_explore, replay_explore, replay_shuttle,
    AtEnd, Config, Outcome, Verdict, Walk,
};
use pollproof_sync::Ordering::{Acquire, Relaxed, Release};
use pollproof_sync::{
    smp_mb, thread, AtomicU32, AtomicU64, Lifetime, Mutex, PlainU32, Rcu, RcuForm, SpinLock, What,
};
use std::sync::Arc;

fn nothing() -> AtEnd {
    Box::new(|_| None)
}

fn explore(program: impl Fn() + 'static) -> Outcome {
    check_explore(&Config::default(), program, nothing())
}

fn loom(program: impl Fn() + 'static) -> Outcome {
    check_loom(&Config::default(), program, nothing())
}

fn shuttle(program: impl Fn() + 'static) -> Outcome {
    check_shuttle(&Config::default(), Walk::Urw, 200, 1, program, nothing())
}

fn rule(outcome: &Outcome) -> Option<&'static str> {
    outcome.finding.as_ref().map(|f| f.rule)
}

fn passes(outcome: &Outcome) {
    assert!(outcome.is_pass(), "{outcome:?}");
    assert!(outcome.executions > 0);
}

/// Each of two threads stores to its word and then loads the other's; not both may see 0.
fn store_buffering(barrier: bool) -> impl Fn() {
    move || {
        let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let side = |mine: usize| {
            let words = Arc::clone(&words);
            move || {
                words[mine].store(1, Relaxed);
                if barrier {
                    smp_mb();
                }
                words[1 - mine].load(Relaxed)
            }
        };
        let seen = Arc::new(AtomicU32::new(9));
        let (other, seen2) = (side(1), Arc::clone(&seen));
        let child = thread::spawn(1, move || seen2.store(other(), Relaxed));
        let here = side(0)();
        child.join();
        assert!(here + seen.load(Relaxed) > 0, "both saw 0");
    }
}

#[test]
fn store_buffering_passes_with_a_full_barrier() {
    passes(&explore(store_buffering(true)));
    passes(&loom(store_buffering(true)));
    passes(&shuttle(store_buffering(true)));
}

#[test]
fn store_buffering_without_barrier_is_found_by_loom_alone() {
    assert_eq!(rule(&loom(store_buffering(false))), Some("PANIC"));
    passes(&explore(store_buffering(false)));
    passes(&shuttle(store_buffering(false)));
}

/// A thread that loads and then stores against one that loads.
fn load_store(load_on_main: bool) -> impl Fn() {
    move || {
        let x = Arc::new(AtomicU32::new(0));
        let (x2, x3) = (Arc::clone(&x), Arc::clone(&x));
        let store = move || {
            x2.load(Relaxed);
            x2.store(1, Relaxed);
        };
        let load = move || assert_ne!(x3.load(Relaxed), 1, "planted");
        let child = thread::spawn(1, store);
        if load_on_main {
            load();
        } else {
            thread::spawn(2, load).join();
        }
        child.join();
    }
}

#[test]
fn explore_finds_what_an_earlier_load_hides_from_loom() {
    for load_on_main in [true, false] {
        assert_eq!(rule(&explore(load_store(load_on_main))), Some("PANIC"));
        assert_eq!(rule(&shuttle(load_store(load_on_main))), Some("PANIC"));
    }
    // Issues 166 and 392 of loom. When this fails, loom has become better: say so in `check_loom`.
    passes(&loom(load_store(true)));
}

/// A message in a plain word behind a flag.
fn message(release: bool) -> impl Fn() {
    move || {
        let data = Arc::new(PlainU32::new(0, What { rule: "PUBLISH", name: "message" }));
        let flag = Arc::new(AtomicU64::new(0));
        let (data2, flag2) = (Arc::clone(&data), Arc::clone(&flag));
        let child = thread::spawn(1, move || {
            data2.set(7);
            flag2.store(1, if release { Release } else { Relaxed });
        });
        flag.wait(Acquire, |v| v == 1);
        assert_eq!(data.get(), 7);
        child.join();
    }
}

#[test]
fn a_message_passes_with_release() {
    passes(&explore(message(true)));
    passes(&loom(message(true)));
    passes(&shuttle(message(true)));
}

#[test]
fn a_message_without_release_is_a_race_under_its_rule() {
    assert_eq!(rule(&explore(message(false))), Some("PUBLISH"));
    assert_eq!(rule(&loom(message(false))), Some("PUBLISH"));
    passes(&shuttle(message(false)));
}

/// A reader of an object that a writer unlinks and frees, with or without the grace period.
fn rcu_user(form: RcuForm, wait: bool) -> impl Fn() {
    move || {
        let rcu = Arc::new(Rcu::new(2, form));
        let object = Arc::new(Lifetime::new("object"));
        let linked = Arc::new(AtomicU32::new(1));
        let (rcu2, object2, linked2) = (Arc::clone(&rcu), Arc::clone(&object), Arc::clone(&linked));
        let reader = thread::spawn(1, move || {
            let _inside = rcu2.read_lock();
            if linked2.load(Acquire) == 1 {
                object2.used();
            }
        });
        linked.store(0, Release);
        if wait {
            rcu.synchronize();
        }
        object.free();
        reader.join();
    }
}

#[test]
fn an_rcu_user_that_waits_passes() {
    for form in [RcuForm::Locks, RcuForm::Counters] {
        passes(&explore(rcu_user(form, true)));
        passes(&loom(rcu_user(form, true)));
        passes(&shuttle(rcu_user(form, true)));
    }
}

#[test]
fn an_rcu_user_that_does_not_wait_uses_after_free() {
    for form in [RcuForm::Locks, RcuForm::Counters] {
        assert_eq!(rule(&explore(rcu_user(form, false))), Some("LIFETIME"));
        assert_eq!(rule(&loom(rcu_user(form, false))), Some("LIFETIME"));
        // shuttle sees no races, and it does not switch between the load and the plain use.
        passes(&shuttle(rcu_user(form, false)));
    }
}

#[test]
fn locks_exclude_under_every_engine() {
    let program = || {
        let count = Arc::new((Mutex::new(0), SpinLock::new(0)));
        let count2 = Arc::clone(&count);
        let add = |c: &(Mutex<u32>, SpinLock<u32>)| {
            *c.0.lock() += 1;
            *c.1.lock() += 1;
        };
        let child = thread::spawn(1, move || add(&count2));
        add(&count);
        child.join();
        assert_eq!((*count.0.lock(), *count.1.lock()), (2, 2));
    };
    passes(&explore(program));
    passes(&loom(program));
    passes(&shuttle(program));
}

fn abba() {
    // Unwatched: else their order is found wrong before anybody waits.
    let locks = Arc::new((SpinLock::unwatched(()), SpinLock::unwatched(())));
    let locks2 = Arc::clone(&locks);
    let child = thread::spawn(1, move || {
        let _a = locks2.0.lock();
        let _b = locks2.1.lock();
    });
    {
        let _b = locks.1.lock();
        let _a = locks.0.lock();
    }
    child.join();
}

#[test]
fn a_deadlock_is_found_by_every_engine() {
    assert_eq!(rule(&explore(abba)), Some("DEADLOCK"));
    assert_eq!(rule(&loom(abba)), Some("DEADLOCK"));
    assert_eq!(rule(&shuttle(abba)), Some("DEADLOCK"));
}

#[test]
fn the_check_at_the_end_stops_the_run_with_its_finding() {
    let check = || -> AtEnd {
        Box::new(|e| {
            assert!(e.complete);
            Some(pollproof_engines::EngineFinding::new("MINE", "as asked", None))
        })
    };
    let cfg = Config::default();
    for outcome in [
        check_explore(&cfg, message(true), check()),
        check_loom(&cfg, message(true), check()),
        check_shuttle(&cfg, Walk::Random, 10, 1, message(true), check()),
    ] {
        assert_eq!((rule(&outcome), outcome.executions), (Some("MINE"), 1), "{outcome:?}");
        assert!(!outcome.finding.expect("a finding").trace.is_empty());
    }
}

#[test]
fn a_cap_is_unknown_under_every_engine() {
    let few = Config { max_executions: 1, ..Config::default() };
    let short = Config { max_steps: 3, ..Config::default() };
    for cfg in [few, short] {
        for outcome in [
            check_explore(&cfg, store_buffering(true), nothing()),
            check_loom(&cfg, store_buffering(true), nothing()),
            check_shuttle(&cfg, Walk::Pct(3), 10, 1, store_buffering(true), nothing()),
        ] {
            assert!(matches!(outcome.verdict, Verdict::Unknown(_)), "{outcome:?}");
            assert!(!outcome.is_pass() && outcome.finding.is_none());
        }
    }
}

#[test]
fn loom_has_five_threads_and_says_so() {
    let crowd = || (1..7).for_each(|cpu| thread::spawn(cpu, || {}).join());
    let outcome = loom(crowd);
    assert!(matches!(outcome.verdict, Verdict::Unknown(_)), "{outcome:?}");
    passes(&explore(crowd));
}

#[test]
fn bounds_and_choices_are_told() {
    let bounded = Config { preemption_bound: Some(1), ..Config::default() };
    for outcome in [
        check_explore(&bounded, store_buffering(true), nothing()),
        check_loom(&bounded, store_buffering(true), nothing()),
    ] {
        assert!(matches!(outcome.verdict, Verdict::Bounded(_)), "{outcome:?}");
    }
    let chooser = || assert!(thread::choose(3) < 2, "chose 2");
    assert_eq!(rule(&explore(chooser)), Some("PANIC"));
    assert_eq!(rule(&shuttle(chooser)), Some("PANIC"));
    assert!(matches!(loom(chooser).verdict, Verdict::Bounded(_)));
}

#[test]
fn what_explore_finds_is_replayed_and_minimised() {
    let found = explore(abba).finding.expect("a deadlock");
    let schedule = found.schedule.as_deref().expect("a schedule").parse().expect("a token");
    let cfg = Config::default();
    let again = replay_explore(&cfg, &schedule, abba, nothing());
    assert_eq!(again.finding.as_ref(), Some(&found));
    let least = minimise_explore(
        &cfg,
        &schedule.to_string().parse().unwrap(),
        "DEADLOCK",
        1_000,
        abba,
        nothing(),
    );
    assert_eq!(least.expect("it fails").preemptions, 1);
}

#[test]
fn what_shuttle_finds_is_replayed() {
    for walk in [Walk::Random, Walk::Urw, Walk::Pct(3)] {
        let cfg = Config::default();
        let found = check_shuttle(&cfg, walk, 500, 7, abba, nothing()).finding.expect("a deadlock");
        let schedule = found.schedule.as_deref().expect("a schedule");
        let again = replay_shuttle(&cfg, schedule, abba, nothing()).expect("a token");
        assert_eq!(again.finding.expect("again").trace, found.trace);
    }
    assert!(replay_shuttle(&Config::default(), "zz", abba, nothing()).is_err());
}

#[test]
fn without_an_engine_the_same_program_runs_on_std() {
    store_buffering(true)();
    message(true)();
    rcu_user(RcuForm::Locks, true)();
    rcu_user(RcuForm::Counters, true)();
    assert!(pollproof_sync::switch::take_faults().is_empty());
}

#[test]
fn runs_repeat_exactly() {
    assert_eq!(explore(abba), explore(abba));
    assert_eq!(loom(message(false)), loom(message(false)));
    assert_eq!(shuttle(abba), shuttle(abba));
}
