//! Ids near the wrap: whatever the reserved range, the counter, the number of contexts and the
//! order of additions and removals, live ids are distinct and in range, and lookups are exact.

mod common;

use common::{bare_net, Counter};
use pollproof_events::record;
use pollproof_netcore::NetOptions;
use pollproof_rules::Judge;
use pollproof_sync::switch::{take_faults, with_bug};
use pollproof_sync::{cpu, RcuForm};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Contexts at most.
const MAX: usize = 6;

#[derive(Clone, Debug)]
struct Case {
    min_id: u32,
    last_id: u32,
    buckets: usize,
    rcu: RcuForm,
    contexts: usize,
    /// Context, and whether it is added.
    ops: Vec<(usize, bool)>,
}

fn case() -> impl Strategy<Value = Case> {
    // At least as many ids as contexts; exactly as many is the tightest.
    let ids = (1..=MAX, 0..4u32).prop_flat_map(|(contexts, spare)| {
        let min_id = u32::MAX - (contexts as u32 - 1) - spare;
        let min_id = prop_oneof![3 => Just(min_id), 1 => 1..100u32];
        let last_id = prop_oneof![0..4u32, (0..12u32).prop_map(|back| u32::MAX - back), 90..110u32];
        (Just(contexts), min_id, last_id)
    });
    let rcu = prop_oneof![Just(RcuForm::Locks), Just(RcuForm::Counters)];
    let ops = prop::collection::vec((0..MAX, prop::bool::weighted(0.65)), 1..40);
    (ids, 1..5usize, rcu, ops).prop_map(|((contexts, min_id, last_id), buckets, rcu, ops)| Case {
        min_id,
        last_id,
        buckets,
        rcu,
        contexts,
        ops,
    })
}

/// Performs the case; panics where something is not as it should be.
fn perform(case: &Case) {
    cpu::begin(0);
    let _ = take_faults();
    let net = bare_net(NetOptions {
        min_napi_id: case.min_id,
        last_napi_id: case.last_id,
        hash_buckets: case.buckets,
        rcu: case.rcu,
        ..NetOptions::default()
    });
    let contexts: Vec<_> =
        (0..case.contexts as u32).map(|cq| Counter::new(&net, cq, 1).1).collect();
    let mut live: BTreeMap<u32, u32> = BTreeMap::new();
    for &(n, add) in &case.ops {
        let napi = &contexts[n % case.contexts];
        let was = live.iter().find(|(_, slot)| **slot == napi.slot).map(|(id, _)| *id);
        if add {
            net.napi_hash_add(napi);
            let id = napi.napi_id();
            assert!(was.is_none_or(|was| was == id), "a second addition changes the id");
            assert!(id >= case.min_id, "id {id} is reserved");
            let other = live.insert(id, napi.slot);
            assert!(other.is_none_or(|slot| slot == napi.slot), "id {id} is taken");
        } else {
            assert_eq!(net.napi_hash_del(napi), was.is_some(), "a grace period is owed");
            live.retain(|_, slot| *slot != napi.slot);
        }
        lookups_are_exact(&net, &live, case);
    }
    assert_eq!(take_faults(), []);
}

fn lookups_are_exact(net: &pollproof_netcore::Net, live: &BTreeMap<u32, u32>, case: &Case) {
    let near = (0..14).map(|by| case.min_id.wrapping_add(by).wrapping_sub(2));
    let _rcu = net.rcu.read_lock();
    let all = near.chain(live.keys().copied()).chain([0, u32::MAX]);
    // Who looks an id up has seen that it is one.
    for id in all.filter(|id| *id >= case.min_id) {
        let found = net.napi_by_id(id).map(|napi| napi.slot);
        assert_eq!(found, live.get(&id).copied(), "lookup of {id}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400, ..ProptestConfig::default()
    })]

    #[test]
    fn live_ids_are_distinct_and_lookups_exact(case in case()) {
        let ((), records) = record(|| perform(&case));
        let judge = Judge::of(&records);
        prop_assert!(judge.findings().is_empty(), "{:?}", judge.findings());
    }
}

#[test]
fn ids_that_are_not_checked_are_found() {
    let shows = |bug| common::any_case(200, &case(), |c| with_bug(bug, || perform(&c)));
    assert!(shows("A-2"));
    assert!(!shows(""));
}

/// A range of three ids up to the last there is, and two contexts.
fn near_the_wrap(last_id: u32, ops: &[(usize, bool)]) -> Case {
    Case {
        min_id: u32::MAX - 2,
        last_id,
        buckets: 2,
        rcu: RcuForm::Locks,
        contexts: 2,
        ops: ops.to_vec(),
    }
}

/// What the rules say of a case by events alone, and whether our own checks failed.
fn told(bug: &'static str, case: &Case) -> (Vec<&'static str>, bool) {
    let (panics, records) =
        record(|| std::panic::catch_unwind(|| with_bug(bug, || perform(case))).is_err());
    let judge = Judge::of(&records);
    (judge.findings().iter().map(|f| f.rule).collect(), panics)
}

#[test]
fn the_rule_finds_ids_that_are_wrong() {
    let (add_0, add_1, del_0) = ((0, true), (1, true), (0, false));
    let top = u32::MAX;
    // The counter steps on 0: an id that nobody may have.
    let wraps_to_0 = near_the_wrap(top, &[add_0]);
    // The first context goes and comes back, and the second lives: the counter is at the end again.
    let wraps_later = near_the_wrap(top - 2, &[add_0, add_1, del_0, add_0]);
    for case in [wraps_to_0, wraps_later] {
        assert_eq!(told("A-2", &case), (vec!["NAPI-ID"], true), "{case:?}");
        assert_eq!(told("", &case), (vec![], false), "{case:?}");
    }
    // Nothing wraps: the bug is on and nothing is wrong.
    let stays = near_the_wrap(top - 2, &[add_0, add_1, del_0]);
    assert_eq!(told("A-2", &stays), (vec![], false));
}
