//! NAPI against a small model of it: random schedules, softirqs, enables, lookups, on both kernels'
//! lists. Sequential: what an engine adds is order, what this adds is length.

mod common;

use common::{bare_net, Counter};
use pollproof_events::with_visitor;
use pollproof_netcore::{Era, Napi, NapiState, Net, NetOptions};
use pollproof_rules::Judge;
use pollproof_sync::cpu;
use pollproof_sync::switch::{take_faults, with_bug};
use proptest::prelude::*;
use proptest_state_machine::{prop_state_machine, ReferenceStateMachine, StateMachineTest};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// Contexts; the explored host has a timer for each.
const CONTEXTS: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Op {
    /// So many packets become ready; nobody is told.
    Ready(usize, u32),
    Schedule(usize),
    /// One round of `net_rx_action`.
    Softirq,
    /// Only while nobody owns the context: it would wait.
    Disable(usize),
    Enable(usize),
    HashAdd(usize),
    HashDel(usize),
    ById(u32),
    Netpoll(usize),
    Watchdog(usize),
}

#[derive(Clone, Debug, Default)]
struct Context {
    enabled: bool,
    owned: bool,
    missed: bool,
    ready: u32,
}

/// The model: who owns what, and each CPU list as it should be.
#[derive(Clone, Debug)]
struct Model {
    era: Era,
    weight: u32,
    budget: i32,
    min_id: u32,
    contexts: [Context; CONTEXTS],
    list: VecDeque<usize>,
    raised: bool,
    ids: BTreeMap<u32, usize>,
    last_id: u32,
    /// What the last operation answered, where it answers.
    answer: Option<u32>,
}

impl Model {
    fn schedule(&mut self, n: usize) -> bool {
        let context = &mut self.contexts[n];
        let granted = !context.owned;
        context.missed |= !granted && self.era == Era::V6_12;
        context.owned = true;
        if granted {
            self.list_add(n);
        }
        granted
    }

    fn list_add(&mut self, n: usize) {
        self.list.push_back(n);
        self.raised = true;
    }

    /// Polls a context: work, and whether it gave the context up.
    fn poll(&mut self, n: usize) -> (u32, bool) {
        let context = &mut self.contexts[n];
        let work = context.ready.min(self.weight);
        context.ready -= work;
        (work, work < self.weight)
    }

    fn softirq(&mut self) {
        if !std::mem::take(&mut self.raised) {
            return;
        }
        match self.era {
            Era::V3_18 => self.softirq_3_18(),
            Era::V6_12 => self.softirq_6_12(),
        }
    }

    fn softirq_6_12(&mut self) {
        let mut budget = self.budget;
        let mut taken = std::mem::take(&mut self.list);
        let mut again = VecDeque::new();
        while let Some(n) = taken.pop_front() {
            let (work, gives_up) = self.poll(n);
            if !gives_up {
                again.push_back(n);
            } else if std::mem::take(&mut self.contexts[n].missed) {
                self.list_add(n);
            } else {
                self.contexts[n].owned = false;
            }
            budget -= work as i32;
            if budget <= 0 {
                break;
            }
        }
        self.list = taken.into_iter().chain(self.list.drain(..)).chain(again).collect();
        self.raised = !self.list.is_empty();
    }

    fn softirq_3_18(&mut self) {
        let mut budget = self.budget;
        while let Some(n) = self.list.front().copied() {
            if budget <= 0 {
                self.raised = true;
                return;
            }
            let (work, gives_up) = self.poll(n);
            budget -= work.max(1) as i32;
            self.list.rotate_left(1);
            if gives_up {
                self.list.pop_back();
                self.contexts[n].owned = false;
            }
        }
    }

    fn next_id(&self) -> u32 {
        let mut id = self.last_id.wrapping_add(1).max(self.min_id);
        while self.ids.contains_key(&id) {
            id = id.wrapping_add(1).max(self.min_id);
        }
        id
    }

    fn id_of(&self, n: usize) -> Option<u32> {
        self.ids.iter().find(|(_, m)| **m == n).map(|(id, _)| *id)
    }

    fn apply(&mut self, op: Op) -> Option<u32> {
        match op {
            Op::Ready(n, count) => self.contexts[n].ready += count,
            Op::Schedule(n) => return Some(self.schedule(n).into()),
            Op::Softirq => self.softirq(),
            Op::Disable(n) => (self.contexts[n].enabled, self.contexts[n].owned) = (false, true),
            Op::Enable(n) => (self.contexts[n].enabled, self.contexts[n].owned) = (true, false),
            Op::HashAdd(n) if self.id_of(n).is_none() => {
                self.last_id = self.next_id();
                self.ids.insert(self.last_id, n);
                return Some(self.last_id);
            }
            Op::HashAdd(n) => return self.id_of(n),
            Op::HashDel(n) => {
                let id = self.id_of(n);
                self.ids.retain(|_, m| *m != n);
                return Some(id.is_some().into());
            }
            Op::ById(id) => return self.ids.get(&id).map(|n| *n as u32),
            Op::Netpoll(n) => return Some(self.contexts[n].enabled.into()),
            Op::Watchdog(n) if !self.contexts[n].owned => {
                self.contexts[n].owned = true;
                self.list_add(n);
            }
            Op::Watchdog(_) => {}
        }
        None
    }
}

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Op;

    fn init_state() -> BoxedStrategy<Self> {
        let era = prop_oneof![Just(Era::V3_18), Just(Era::V6_12)];
        let ids = prop_oneof![Just((1, 0)), Just((u32::MAX - 3, u32::MAX - 2)), Just((5, 7))];
        (era, 1..4u32, 1..9i32, ids)
            .prop_map(|(era, weight, budget, (min_id, last_id))| Self {
                era,
                weight,
                budget,
                min_id,
                last_id,
                contexts: std::array::from_fn(|_| Context { owned: true, ..Context::default() }),
                list: VecDeque::new(),
                raised: false,
                ids: BTreeMap::new(),
                answer: None,
            })
            .boxed()
    }

    fn transitions(state: &Self) -> BoxedStrategy<Op> {
        let n = || 0..CONTEXTS;
        let (first, near) = (state.min_id, state.last_id);
        let id = (0..6u32, any::<bool>()).prop_map(move |(by, from_last)| {
            let base = if from_last { near } else { first };
            base.wrapping_add(by).wrapping_sub(2)
        });
        prop_oneof![
            3 => (n(), 1..6u32).prop_map(|(n, count)| Op::Ready(n, count)),
            4 => n().prop_map(Op::Schedule),
            4 => Just(Op::Softirq),
            1 => n().prop_map(Op::Disable),
            3 => n().prop_map(Op::Enable),
            2 => n().prop_map(Op::HashAdd),
            1 => n().prop_map(Op::HashDel),
            2 => id.prop_map(Op::ById),
            1 => n().prop_map(Op::Netpoll),
            1 => n().prop_map(Op::Watchdog),
        ]
        .boxed()
    }

    fn preconditions(state: &Self, op: &Op) -> bool {
        match op {
            Op::Disable(n) => state.contexts[*n].enabled && !state.contexts[*n].owned,
            Op::Enable(n) => !state.contexts[*n].enabled,
            // Who looks an id up has seen that it is one.
            Op::ById(id) => *id >= state.min_id,
            _ => true,
        }
    }

    fn apply(mut state: Self, op: &Op) -> Self {
        state.answer = Model::apply(&mut state, *op);
        state
    }
}

/// The real thing, with the rules watching.
struct House {
    net: Arc<Net>,
    drivers: Vec<(Arc<Counter>, Arc<Napi>)>,
    judge: Rc<RefCell<Judge>>,
}

impl House {
    fn apply(&self, op: Op) -> Option<u32> {
        let net = &self.net;
        let napi = |n: usize| &self.drivers[n].1;
        match op {
            Op::Ready(n, count) => self.drivers[n].0.complete(count),
            Op::Schedule(n) => {
                return Some(cpu::in_hardirq(|| net.napi_schedule(napi(n))).into());
            }
            Op::Softirq if net.softirq_pending() => cpu::in_softirq(|| net.net_rx_action()),
            Op::Softirq => {}
            Op::Disable(n) => net.napi_disable(napi(n)),
            Op::Enable(n) => net.napi_enable(napi(n)),
            Op::HashAdd(n) => {
                net.napi_hash_add(napi(n));
                return Some(napi(n).napi_id());
            }
            Op::HashDel(n) => return Some(net.napi_hash_del(napi(n)).into()),
            Op::ById(id) => {
                let _rcu = net.rcu.read_lock();
                return net.napi_by_id(id).map(|napi| napi.slot);
            }
            Op::Netpoll(n) => return Some(net.netpoll_poll_one(napi(n)).into()),
            Op::Watchdog(n) => cpu::in_hardirq(|| net.napi_watchdog(napi(n).slot)),
        }
        None
    }
}

impl StateMachineTest for House {
    type SystemUnderTest = Self;
    type Reference = Model;

    fn init_test(model: &Model) -> Self {
        cpu::begin(0);
        let _ = take_faults();
        let judge = Rc::new(RefCell::new(Judge::new()));
        let options = NetOptions {
            era: model.era,
            netdev_budget: model.budget,
            min_napi_id: model.min_id,
            last_napi_id: model.last_id,
            hash_buckets: 2,
            ..NetOptions::default()
        };
        let (net, drivers) = with_visitor(judge.clone(), || {
            let net = bare_net(options);
            let driver = |cq| Counter::new(&net, cq, model.weight as i32);
            let drivers = (0..CONTEXTS as u32).map(driver).collect();
            (net, drivers)
        });
        Self { net, drivers, judge }
    }

    fn apply(house: Self, model: &Model, op: Op) -> Self {
        let answer = with_visitor(house.judge.clone(), || house.apply(op));
        assert_eq!(answer, model.answer, "answer of {op:?}");
        house
    }

    fn check_invariants(house: &Self, model: &Model) {
        for (n, context) in model.contexts.iter().enumerate() {
            let (driver, napi) = &house.drivers[n];
            let state = napi.state();
            assert_eq!(state.contains(NapiState::SCHED), context.owned, "owner of {n}");
            assert_eq!(state.contains(NapiState::MISSED), context.missed, "missed of {n}");
            assert_eq!(state.contains(NapiState::NPSVC), !context.enabled, "enabled {n}");
            assert_eq!(state.contains(NapiState::HASHED), model.id_of(n).is_some(), "hashed {n}");
            assert_eq!(driver.ready(), context.ready, "packets of {n}");
        }
        assert_eq!(house.net.softirq_pending(), model.raised);
        let judge = house.judge.borrow();
        assert!(judge.findings().is_empty(), "{:?}", judge.findings());
        assert_eq!(take_faults(), []);
    }
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, ..ProptestConfig::default() }
}

prop_state_machine! {
    #![proptest_config(config(400))]

    #[test]
    fn napi_does_what_the_model_says(sequential 1..60 => House);
}

/// Whether random sequences of operations show a documented bug.
fn shows(bug: &'static str) -> bool {
    common::any_case(500, &Model::sequential_strategy(1..60), |(model, ops, _)| {
        with_bug(bug, || House::test_sequential(config(1), model, ops, None));
    })
}

/// ids that wrap. B-6: a schedule that is forgotten. The other bugs of the core need a second
/// CPU in the middle of an operation, which sequential code can not have: the lock that A-3 leaves
/// out has nobody to exclude, and the grace period that A-4 leaves out (in `netif_napi_del`, which
/// nothing here calls) has nobody to wait for. What these tests say of them is nothing.
#[test]
fn the_model_tells_bugs_that_need_no_other_cpu() {
    assert!(shows("A-2"));
    assert!(shows("B-6"));
    assert!(!shows(""));
}
