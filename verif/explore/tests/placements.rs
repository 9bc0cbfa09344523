//! Two shapes that a checker with one remembered access for each object passes (loom, issues 166
//! and 392): found wherever the roles run, in every model and by both searches.

use pollproof_explore::handles::start;
use pollproof_explore::rt::{Atomic, Lock, Ordering::*, Plain};
use pollproof_explore::{explore, Config, End, Model, Reduction};
use std::ops::ControlFlow::{Break, Continue};

type Role = Box<dyn FnOnce()>;

/// Each model of the search over graphs, and the search over schedules.
fn searches() -> Vec<Config> {
    let graphs = |model| Config { reduction: Reduction::Graphs, model, ..Config::default() };
    let dpor = Config { reduction: Reduction::Dpor, ..Config::default() };
    Model::ALL.into_iter().map(graphs).chain([dpor]).collect()
}

/// Runs roles in every placement: any of them on the main thread or none, the others started in
/// either order.
fn placements(roles: usize, run: &dyn Fn(Option<usize>, bool)) {
    for main in (0..roles).map(Some).chain([None]) {
        run(main, false);
        run(main, true);
    }
}

fn place(mut roles: Vec<Role>, main: Option<usize>, backwards: bool) {
    let main = main.map(|m| roles.remove(m));
    if backwards {
        roles.reverse();
    }
    let children: Vec<_> = roles.into_iter().map(start).collect();
    main.into_iter().for_each(|role| role());
    children.into_iter().for_each(|c| c.join());
}

/// What a search finds first: words of a panic, or a race.
fn find(config: &Config, program: &dyn Fn()) -> Option<String> {
    let mut found = None;
    let summary = explore(config, program, &mut |e| {
        found = match &e.end {
            End::Complete => e.races().first().map(ToString::to_string),
            End::Panicked { message, .. } => Some(message.clone()),
            other => panic!("{other:?}"),
        };
        if found.is_some() {
            Break(())
        } else {
            Continue(())
        }
    });
    assert!(found.is_some() || summary.is_exhaustive());
    found
}

/// Looks for `planted` with every search, in every placement of the roles; it must always be there,
/// or never.
fn look_for(planted: Option<&str>, count: usize, roles: &dyn Fn() -> Vec<Role>) {
    for config in searches() {
        placements(count, &|main, backwards| {
            let found = find(&config, &|| place(roles(), main, backwards));
            let agrees = match (planted, &found) {
                (Some(planted), Some(found)) => found.contains(planted),
                (planted, found) => planted.is_none() && found.is_none(),
            };
            let Config { reduction, model, .. } = config;
            assert!(agrees, "{reduction:?} {model:?}, main {main:?} {backwards}: {found:?}");
        });
    }
}

/// One reads and then writes, others only read and must not see `forbidden`.
fn load_and_store(readers: usize, forbidden: Option<u64>) -> Vec<Role> {
    let x = Atomic::new(0);
    let mut roles: Vec<Role> = vec![Box::new(move || {
        x.load(Relaxed);
        x.store(1, Relaxed);
    })];
    for _ in 0..readers {
        roles.push(Box::new(move || assert_ne!(Some(x.load(Relaxed)), forbidden, "planted")));
    }
    roles
}

#[test]
fn an_own_earlier_load_hides_no_store_from_another_load() {
    for readers in [1, 2] {
        for value in [0, 1] {
            look_for(Some("planted"), readers + 1, &|| load_and_store(readers, Some(value)));
        }
        look_for(None, readers + 1, &|| load_and_store(readers, None));
    }
}

/// How a node gets into the list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Add {
    Right,
    /// The head leads to it before it leads on.
    BeforeItsLink,
    /// The head leads to it before its contents are there.
    BeforeItsData,
}

/// A list that readers walk without a lock: node 1 is in it, node 2 is added in front.
fn list(add: Add, readers: usize) -> Vec<Role> {
    let (head, writers) = (Atomic::new(1), Lock::new());
    let (next, data) = ([(); 3].map(|()| Atomic::new(0)), Plain::new("node"));
    let mut roles: Vec<Role> = vec![Box::new(move || {
        writers.with(|| {
            let first = head.load(Relaxed);
            if add == Add::BeforeItsLink {
                head.store(2, Release);
            }
            next[2].store(first, Relaxed);
            if add == Add::BeforeItsData {
                head.store(2, Release);
            }
            data.write();
            if add == Add::Right {
                head.store(2, Release);
            }
        });
    })];
    for _ in 0..readers {
        roles.push(Box::new(move || {
            let (mut node, mut found) = (head.load(Acquire), false);
            while node != 0 {
                found |= node == 1;
                if node == 2 && add != Add::BeforeItsLink {
                    data.read();
                }
                node = next[node as usize].load(Acquire);
            }
            assert!(found, "the rest of the list is lost");
        }));
    }
    roles
}

#[test]
fn a_node_published_before_it_is_whole_is_found() {
    for readers in [1, 2] {
        let lost = Some("the rest of the list is lost");
        look_for(lost, readers + 1, &|| list(Add::BeforeItsLink, readers));
        look_for(Some("race on node"), readers + 1, &|| list(Add::BeforeItsData, readers));
        look_for(None, readers + 1, &|| list(Add::Right, readers));
    }
}
