//! Several workers, checkpoints and estimates: the same totals, whatever is done in between.
#![allow(clippy::unwrap_used)] // A test that can not go on has failed.

#[path = "common/scenarios.rs"]
mod scenarios;

use pollproof_explore::rt::{self, Ordering::*};
use pollproof_explore::{
    estimate, explore, explore_team, Checkpoint, Config, Coverage, Model, Progress, Reduction,
    Summary, Team, Wish,
};
use scenarios::qv_lock;
use std::ops::ControlFlow::{Break, Continue};
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

fn config(model: Model) -> Config {
    Config { reduction: Reduction::Graphs, model, ..Config::default() }
}

/// Threads that start threads: their numbers are shared by the workers.
fn nested() {
    let at = Location::caller();
    let x = rt::atomic_new(0, 32);
    let children: Vec<_> = (0..2)
        .map(|_| {
            rt::spawn(
                Box::new(move || {
                    if rt::load(x, Relaxed, at) < 2 {
                        let inner = rt::spawn(
                            Box::new(move || {
                                rt::rmw(x, |v| v + 1, Relaxed, at);
                            }),
                            at,
                        );
                        rt::store(x, 7, Relaxed, at);
                        rt::join(inner, at);
                    }
                }),
                at,
            )
        })
        .collect();
    children.into_iter().for_each(|c| rt::join(c, at));
}

/// Runs with `jobs` workers; `wish` is asked after each execution.
fn team(
    program: &(dyn Fn() + Sync),
    from: Checkpoint,
    jobs: usize,
    wish: &(dyn Fn(Progress) -> Wish + Sync),
) -> (Summary, Option<String>) {
    let kept = Mutex::new(None);
    let summary = explore_team(
        &config(Model::Sc),
        from,
        jobs,
        &Team {
            worker: &|run| run(program, &mut |_| Continue(())),
            wish,
            keep: &|c| *kept.lock().unwrap() = Some(c.to_string()),
        },
    );
    (summary, kept.into_inner().unwrap())
}

fn begin() -> Checkpoint {
    Checkpoint::new("p", &config(Model::Sc))
}

#[test]
fn workers_share_the_tree() {
    let programs: [&(dyn Fn() + Sync); 2] = [&|| qv_lock(3, 2), &nested];
    for program in programs {
        let alone = explore(&config(Model::Sc), program, &mut |_| Continue(()));
        for jobs in 1..=3 {
            let (summary, _) = team(program, begin(), jobs, &|_| Wish::GoOn);
            assert_eq!(summary, alone, "{jobs}");
        }
    }
}

#[test]
fn a_search_that_is_stopped_anywhere_comes_to_the_same_total() {
    let programs: [&(dyn Fn() + Sync); 2] = [&|| qv_lock(2, 2), &nested];
    for program in programs {
        let whole = explore(&config(Model::Sc), program, &mut |_| Continue(()));
        for every in 1..=whole.executions {
            for jobs in 1..=2 {
                let mut left = begin();
                let mut rounds = 0;
                while !left.is_done() {
                    let done = AtomicU64::new(0);
                    let (summary, kept) = team(program, left, jobs, &|_| {
                        if done.fetch_add(1, Ordering::Relaxed) + 1 >= every {
                            Wish::Stop
                        } else {
                            Wish::GoOn
                        }
                    });
                    rounds += 1;
                    left = match kept {
                        Some(text) => text.parse().unwrap(),
                        None => {
                            assert_eq!(summary, whole, "every {every}, {jobs} jobs");
                            break;
                        }
                    };
                    assert!(!left.is_done() || left.summary() == whole, "{left}");
                }
                assert!(rounds >= whole.executions / (every + 1), "{rounds}");
            }
        }
    }
}

#[test]
fn a_checkpoint_on_the_way_holds_all_that_is_left() {
    let whole = explore(&config(Model::Sc), &|| qv_lock(3, 2), &mut |_| Continue(()));
    let count = AtomicU64::new(0);
    let kept = Mutex::new(Vec::new());
    let summary = explore_team(
        &config(Model::Sc),
        begin(),
        2,
        &Team {
            worker: &|run| run(&|| qv_lock(3, 2), &mut |_| Continue(())),
            wish: &|_| match count.fetch_add(1, Ordering::Relaxed) % 400 {
                399 => Wish::Checkpoint,
                _ => Wish::GoOn,
            },
            keep: &|c| kept.lock().unwrap().push(c.to_string()),
        },
    );
    assert_eq!(summary, whole);
    let kept = kept.into_inner().unwrap();
    assert!(kept.len() >= 2);
    for text in kept {
        let (summary, _) = team(&|| qv_lock(3, 2), text.parse().unwrap(), 2, &|_| Wish::GoOn);
        assert_eq!(summary, whole);
    }
}

#[test]
fn another_program_or_a_broken_file_is_refused() {
    let (_, kept) = team(&|| qv_lock(2, 2), begin(), 1, &|p| match p.executions {
        5 => Wish::Stop,
        _ => Wish::GoOn,
    });
    let text = kept.unwrap();
    let left: Checkpoint = text.parse().unwrap();
    assert_eq!(left.to_string(), text);
    assert!(left.fits("p", &config(Model::Sc)).is_ok());
    assert!(left.fits("q", &config(Model::Sc)).unwrap_err().contains("'q'"));
    assert!(left.fits("p", &config(Model::Tso)).unwrap_err().contains("sc"));
    for cut in 0..text.len() - 1 {
        assert!(text[..cut].parse::<Checkpoint>().is_err(), "{}", &text[..cut]);
    }
    // A graph of another program does not fit and is told, not miscounted.
    let (summary, _) = team(&|| qv_lock(3, 1), left, 1, &|_| Wish::GoOn);
    assert_eq!(summary.coverage, Coverage::Diverged);
}

#[test]
fn a_callback_that_breaks_off_ends_all_workers() {
    let seen = AtomicU64::new(0);
    let summary = explore_team(
        &config(Model::Sc),
        begin(),
        2,
        &Team {
            worker: &|run| {
                run(&|| qv_lock(3, 2), &mut |_| {
                    if seen.fetch_add(1, Ordering::Relaxed) == 20 {
                        Break(())
                    } else {
                        Continue(())
                    }
                });
            },
            wish: &|_| Wish::GoOn,
            keep: &|_| (),
        },
    );
    assert_eq!(summary.coverage, Coverage::Stopped);
    assert!(summary.executions < 1_620);
}

#[test]
fn estimates_come_near() {
    let guess = estimate(&config(Model::Sc), &|| qv_lock(3, 2), 3_000, 1);
    assert!((800.0..3_300.0).contains(&guess.executions), "{guess:?}");
    let exact = estimate(&config(Model::Sc), &|| qv_lock(1, 1), 10, 1);
    assert_eq!((exact.executions, exact.error), (1.0, 0.0));
}
