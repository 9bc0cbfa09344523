//! NAPI by itself: ownership that moves between CPUs, netpoll, and budgets against ready work.

use super::{bare_net, ENGINES};
use pollproof_bench::scenario::{EngineKind, Scenario};
use pollproof_events::{emit, Event, RestCq};
use pollproof_mlx4::CqLock;
use pollproof_netcore::{Napi, NapiPoll, Net};
use pollproof_sync::Ordering::{Acquire, Release};
use pollproof_sync::{cpu, thread, AtomicU32, PlainU32, What};
use std::sync::{Arc, OnceLock};

/// A driver whose device is a counter of ready packets.
struct Counter {
    net: OnceLock<Arc<Net>>,
    ready: AtomicU32,
    /// State that only the owner of the context may touch.
    taken: PlainU32,
}

impl Counter {
    fn new(net: &Arc<Net>, ready: u32, weight: i32) -> (Arc<Self>, Arc<Napi>) {
        let taken = What { rule: "SINGLE-CONSUMER", name: "driver state" };
        let counter = Arc::new(Self {
            net: OnceLock::new(),
            ready: AtomicU32::new(ready),
            taken: PlainU32::new(0, taken),
        });
        let _ = counter.net.set(net.clone());
        emit(Event::RingStarted { ring: 0, cq: 0 });
        (0..ready).for_each(completed);
        let napi = net.netif_napi_add(counter.clone(), weight);
        (counter, napi)
    }
}

/// Packet `index` is ready.
fn completed(index: u32) {
    emit(Event::CqeWrite { cq: 0, index, number: index.into() });
}

impl NapiPoll for Counter {
    fn poll(&self, napi: &Arc<Napi>, budget: i32) -> i32 {
        let mut work = 0;
        while work < budget && self.taken.get() < self.ready.load(Acquire) {
            let index = self.taken.get();
            emit(Event::CqeConsume { cq: 0, index, napi: napi.slot });
            self.taken.set(index + 1);
            emit(Event::CqSetCi { cq: 0, consumer: index + 1 });
            work += 1;
        }
        if let (true, Some(net)) = (work < budget, self.net.get()) {
            net.napi_complete_done(napi, work);
        }
        work
    }
}

/// The handler of the context's interrupt, on this CPU.
fn interrupt(net: &Net, napi: &Arc<Napi>) {
    cpu::in_hardirq(|| net.napi_schedule(napi));
}

/// A driver opens its queue on one CPU while another schedules it.
fn enable_schedule() {
    let net = bare_net(2);
    let (counter, napi) = Counter::new(&net, 1, 2);
    let (enabled, scheduled) = (net.clone(), net.clone());
    let same = napi.clone();
    let opened = counter.clone();
    let opener = thread::spawn(0, move || {
        opened.taken.set(0);
        enabled.napi_enable(&napi);
    });
    let interrupt = thread::spawn(1, move || {
        interrupt(&scheduled, &same);
        scheduled.do_softirq();
    });
    opener.join();
    interrupt.join();
}

/// Work comes while a poll is about to complete: a refused schedule must bring another poll.
fn complete_schedule() {
    let net = bare_net(2);
    let (counter, napi) = Counter::new(&net, 0, 2);
    net.napi_enable(&napi);
    interrupt(&net, &napi);
    let (other, same, ready) = (net.clone(), napi.clone(), counter.clone());
    let device = thread::spawn(1, move || {
        completed(0);
        ready.ready.store(1, Release);
        interrupt(&other, &same);
        other.do_softirq();
    });
    net.do_softirq();
    device.join();
    net.do_softirq();
    let left = counter.ready.load(Acquire) - counter.taken.get();
    emit(Event::Rest(RestCq {
        cq: 0,
        napi: napi.slot,
        unconsumed: left,
        posted: 1,
        enabled: true,
        armed: true,
        wakeup: false,
    }));
}

/// A context is disabled; then its driver's state is used, as before a free.
fn disable_use() {
    let net = bare_net(2);
    let (counter, napi) = Counter::new(&net, 1, 2);
    net.napi_enable(&napi);
    interrupt(&net, &napi);
    let (other, same) = (net.clone(), napi.clone());
    let closer = thread::spawn(1, move || {
        other.napi_disable(&same);
        counter.taken.set(0);
    });
    net.do_softirq();
    closer.join();
}

/// A kthread waits for a context that is enabled and scheduled by another CPU.
fn kthread_enable() {
    let net = bare_net(2);
    let (counter, napi) = Counter::new(&net, 1, 2);
    net.set_threaded(&napi);
    let (other, same) = (net.clone(), napi.clone());
    let kthread = thread::spawn(1, move || other.napi_threaded_poll(&same));
    counter.taken.set(0);
    net.napi_enable(&napi);
    interrupt(&net, &napi);
    net.stop_threaded(&napi);
    kthread.join();
}

/// The timer of a context fires on one CPU while another schedules it.
fn watchdog_schedule() {
    let net = bare_net(2);
    let (_counter, napi) = Counter::new(&net, 1, 2);
    net.napi_enable(&napi);
    let (other, same) = (net.clone(), napi.clone());
    let interrupt = thread::spawn(1, move || {
        interrupt(&other, &same);
        other.do_softirq();
    });
    cpu::in_hardirq(|| net.napi_watchdog(napi.slot));
    net.do_softirq();
    interrupt.join();
}

fn guarded() -> PlainU32 {
    PlainU32::new(0, What { rule: "SINGLE-CONSUMER", name: "what the lock guards" })
}

/// A socket holds the busy-poll lock while the queue is closed for good.
fn lock_disable() {
    let (lock, state) = (Arc::new(CqLock::new()), Arc::new(guarded()));
    let (same, theirs) = (lock.clone(), state.clone());
    let socket = thread::spawn(1, move || {
        if same.lock_poll() {
            theirs.set(1);
            same.unlock_poll();
        }
    });
    state.set(0);
    lock.enable();
    lock.disable();
    state.set(2);
    socket.join();
}

/// NAPI and two sockets want the busy-poll lock.
fn lock_3() {
    let (lock, state) = (Arc::new(CqLock::new()), Arc::new(guarded()));
    lock.enable();
    let socket = |cpu| {
        let (lock, state) = (lock.clone(), state.clone());
        thread::spawn(cpu, move || {
            if lock.lock_poll() {
                state.set(state.get() + 1);
                lock.unlock_poll();
            }
        })
    };
    let sockets = [socket(1), socket(2)];
    if lock.lock_napi() {
        state.set(state.get() + 1);
        lock.unlock_napi();
    }
    for socket in sockets {
        socket.join();
    }
}

/// Two CPUs netpoll one context.
fn netpoll_twice() {
    let net = bare_net(2);
    let (_counter, napi) = Counter::new(&net, 0, 2);
    net.napi_enable(&napi);
    let (other, same) = (net.clone(), napi.clone());
    let second = thread::spawn(1, move || {
        other.netpoll_poll_one(&same);
    });
    net.netpoll_poll_one(&napi);
    second.join();
}

/// Every budget of 0 to 4 against every number of ready packets of 0 to 4.
fn budget_sweep() {
    for (ready, budget) in (0..5).flat_map(|ready| (0..5).map(move |budget| (ready, budget))) {
        let net = bare_net(1);
        let (counter, napi) = Counter::new(&net, ready, budget);
        net.napi_enable(&napi);
        if budget == 0 {
            net.netpoll_poll_one(&napi);
            continue;
        }
        while counter.taken.get() < ready || net.softirq_pending() {
            interrupt(&net, &napi);
            net.do_softirq();
        }
    }
}

const fn scenario(
    id: &'static str,
    threads: u32,
    body: fn(),
    must_reach: &'static [(&'static str, &'static str)],
    about: &'static str,
) -> Scenario {
    Scenario { id, about, threads, body, engines: ENGINES, must_reach, loom_preemptions: None }
}

/// A queue is enabled beside a schedule.
pub const ENABLE_SCHEDULE: Scenario = scenario(
    "napi/enable-schedule",
    3,
    enable_schedule,
    &[("NAPI-LIFECYCLE", "enabled"), ("SINGLE-CONSUMER", "polled")],
    "A driver enables its context while another CPU schedules it.",
);
/// A schedule is refused beside a completion.
pub const COMPLETE_SCHEDULE: Scenario = scenario(
    "napi/complete-schedule",
    2,
    complete_schedule,
    &[("NO-LOST-WORK", "rest"), ("NAPI-BUDGET", "completed")],
    "Work comes and is scheduled while a poll completes.",
);
/// netpoll excludes netpoll.
pub const NETPOLL_TWICE: Scenario = scenario(
    "napi/netpoll-twice",
    2,
    netpoll_twice,
    &[("NAPI-BUDGET", "zero-budget")],
    "Two CPUs netpoll the same context.",
);
/// Disable, then use.
pub const DISABLE_USE: Scenario = scenario(
    "napi/disable-use",
    2,
    disable_use,
    &[("DISABLE-MEANS-DISABLED", "disabled"), ("SINGLE-CONSUMER", "polled")],
    "A context is disabled and its driver's state used while a poll ends.",
);
/// A kthread takes over.
pub const KTHREAD_ENABLE: Scenario = scenario(
    "napi/kthread-enable",
    2,
    kthread_enable,
    &[("SINGLE-CONSUMER", "polled")],
    "A kthread polls a context that another CPU enables and schedules.",
);
/// Timer against schedule.
pub const WATCHDOG_SCHEDULE: Scenario = scenario(
    "napi/watchdog-schedule",
    2,
    watchdog_schedule,
    &[("SINGLE-CONSUMER", "polled")],
    "The timer of a context fires while another CPU schedules it.",
);
/// The busy-poll lock is closed.
pub const LOCK_DISABLE: Scenario = Scenario {
    // loom would spin in the wait until it is cut.
    engines: &[
        EngineKind::Explore,
        EngineKind::ExploreTso,
        EngineKind::ExploreRc11,
        EngineKind::Schedules,
        EngineKind::Shuttle,
    ],
    ..scenario(
        "mlx4/lock-disable",
        2,
        lock_disable,
        &[],
        "The busy-poll lock is disabled while a socket holds it.",
    )
};
/// The busy-poll lock among three.
pub const LOCK_3: Scenario = Scenario {
    loom_preemptions: Some(2),
    ..scenario("mlx4/lock-3", 3, lock_3, &[], "NAPI and two sockets want the busy-poll lock.")
};
/// Budgets against ready work.
pub const BUDGET_SWEEP: Scenario = scenario(
    "napi/budget-sweep",
    1,
    budget_sweep,
    &[("NAPI-BUDGET", "zero-budget"), ("NAPI-BUDGET", "full-budget")],
    "Every budget against every number of ready packets, up to four.",
);
