//! Busy polling through the poll method, kthreads and netpoll: who owns a context, and who comes
//! back for it. Without a device.

use super::nic::{net_with, Nic, OneTimer};
use super::ENGINES;
use pollproof_bench::scenario::{EngineKind, Scenario};
use pollproof_kapi::Below;
use pollproof_netcore::{BusyPoll, Era, Napi, Net, NetOptions};
use pollproof_sync::thread::{self, JoinHandle};
use std::cell::Cell;
use std::sync::Arc;

fn options(cpus: u32) -> NetOptions {
    NetOptions { cpus, hash_buckets: 1, min_napi_id: cpus + 1, ..NetOptions::default() }
}

/// A port on a core of so many CPUs.
fn port(cpus: u32, weight: i32, ready: u32) -> (Arc<Net>, Arc<Nic>, Arc<Napi>) {
    port_with(options(cpus), weight, ready)
}

fn port_with(options: NetOptions, weight: i32, ready: u32) -> (Arc<Net>, Arc<Nic>, Arc<Napi>) {
    let net = net_with(options, 0).0;
    let (nic, napi) = Nic::open(&net, weight, ready);
    (net, nic, napi)
}

type Port<'a> = (&'a Arc<Net>, &'a Arc<Nic>, &'a Arc<Napi>);

/// A packet comes on `cpu`, with its interrupt.
fn packet((_, nic, napi): Port<'_>, cpu: u32) -> JoinHandle {
    let (nic, napi) = (nic.clone(), napi.clone());
    thread::spawn(cpu, move || nic.packet(&napi))
}

/// An application busy-polls for so many rounds, on `cpu`.
fn busy((net, nic, napi): Port<'_>, cpu: u32, rounds: u32, how: BusyPoll) -> JoinHandle {
    let (net, nic, napi) = (net.clone(), nic.clone(), napi.clone());
    thread::spawn(cpu, move || {
        let left = Cell::new(rounds);
        let ended = || {
            left.set(left.get() - 1);
            left.get() == 0
        };
        net.napi_busy_loop(napi.napi_id(), Some(&ended), how);
        nic.idle();
    })
}

fn kthread((net, nic, napi): Port<'_>, cpu: u32) -> JoinHandle {
    let (net, nic, napi) = (net.clone(), nic.clone(), napi.clone());
    thread::spawn(cpu, move || {
        net.napi_threaded_poll(&napi);
        nic.idle();
    })
}

fn join_all(threads: impl IntoIterator<Item = JoinHandle>) {
    for thread in threads {
        thread.join();
    }
}

const ONE: BusyPoll = BusyPoll { prefer: false, budget: 1 };
const TWO: BusyPoll = BusyPoll { prefer: false, budget: 2 };

/// A packet's interrupt on one CPU and a late one on another, with the rules of 3.18: a schedule
/// that is refused is forgotten, and the device fires again when it is armed.
fn schedule_3_18() {
    let (net, nic, napi) = port_with(NetOptions { era: Era::V3_18, ..options(2) }, 2, 0);
    let (driver, same) = (nic.clone(), napi.clone());
    let late = thread::spawn(1, move || driver.late_interrupt(&same));
    join_all([packet((&net, &nic, &napi), 0), late]);
    nic.rest(&napi, false);
}

/// A packet and its interrupt against a busy poller of two rounds.
fn busy_softirq() {
    let (net, nic, napi) = port(2, 2, 0);
    let all = (&net, &nic, &napi);
    join_all([packet(all, 0), busy(all, 1, 2, TWO)]);
    nic.rest(&napi, false);
}

/// The last poll of a busy poller uses its whole budget, while the interrupt of its packets comes
/// late, and another packet.
fn busy_stop() {
    let (net, nic, napi) = port(2, 2, 2);
    let (driver, same) = (nic.clone(), napi.clone());
    let late = thread::spawn(0, move || {
        driver.late_interrupt(&same);
        driver.packet(&same);
    });
    join_all([late, busy((&net, &nic, &napi), 1, 1, ONE)]);
    nic.rest(&napi, false);
}

/// The context is disabled and its state used while an application polls it.
fn busy_disable() {
    let (net, nic, napi) = port(2, 2, 1);
    let (other, driver, same) = (net.clone(), nic.clone(), napi.clone());
    let closer = thread::spawn(0, move || {
        other.napi_disable(&same);
        driver.use_state();
    });
    join_all([closer, busy((&net, &nic, &napi), 1, 2, TWO)]);
    nic.idle();
}

/// An application and a kthread want the same context.
fn busy_kthread() {
    let net = net_with(options(3), 0).0;
    let (nic, napi) = Nic::build(&net, 2, None);
    net.set_threaded(&napi);
    nic.enable(&napi);
    let all = (&net, &nic, &napi);
    let kthread = kthread(all, 2);
    join_all([packet(all, 0), busy(all, 1, 1, TWO)]);
    net.napi_stop_kthread(&napi);
    kthread.join();
    nic.rest(&napi, false);
}

/// Two applications poll the same context.
fn busy_two() {
    let (net, nic, napi) = port(3, 2, 1);
    let all = (&net, &nic, &napi);
    join_all([busy(all, 1, 1, TWO), busy(all, 2, 1, TWO)]);
    nic.idle();
    nic.rest(&napi, false);
}

/// An application that prefers to poll leaves a timer behind, which may fire at any time from
/// `from` on: when it has left, or at once.
fn busy_prefer(at_once: bool) {
    let net_options =
        NetOptions { gro_flush_timeout_ns: 1_000, napi_defer_hard_irqs: 1, ..options(2) };
    let timer = OneTimer::new();
    let host = net_with(options(2), 0).1;
    let net = Net::new(net_options, Below { timer: timer.clone(), ..Below::of(host) });
    let (nic, napi) = Nic::open(&net, 2, 2);
    let fires = || timer.run(&net, napi.slot, 0);
    let before = at_once.then(fires);
    busy((&net, &nic, &napi), 1, 1, BusyPoll { prefer: true, budget: 1 }).join();
    let after = if at_once { before } else { Some(timer.run(&net, napi.slot, 0)) };
    thread::yield_now();
    timer.end();
    join_all(after);
    nic.rest(&napi, false);
}

/// The task should reschedule while it polls, and meanwhile the context goes away.
fn busy_resched() {
    let (net, nic, napi) = port(2, 2, 0);
    let (other, driver, same) = (net.clone(), nic.clone(), napi.clone());
    let remover = thread::spawn(0, move || {
        other.resched_task(1);
        driver.remove(&other, &same);
    });
    join_all([remover, busy((&net, &nic, &napi), 1, 2, TWO)]);
}

/// A message is printed on one CPU while another polls, and a packet comes.
fn netpoll_owner() {
    let (net, nic, napi) = port_with(NetOptions { netpoll: true, ..options(2) }, 2, 0);
    let (other, same) = (net.clone(), napi.clone());
    let printer = thread::spawn(1, move || {
        other.netpoll_send(&same);
    });
    join_all([packet((&net, &nic, &napi), 0), printer]);
    nic.rest(&napi, false);
}

/// The same while an application polls.
fn netpoll_busy() {
    let (net, nic, napi) = port_with(NetOptions { netpoll: true, ..options(3) }, 2, 1);
    let (other, same) = (net.clone(), napi.clone());
    let printer = thread::spawn(2, move || {
        other.netpoll_send(&same);
    });
    join_all([busy((&net, &nic, &napi), 1, 1, TWO), printer]);
    nic.idle();
    nic.rest(&napi, false);
}

/// A context is disabled while netpoll is inside its poll.
fn netpoll_disable() {
    let (net, nic, napi) = port(2, 2, 0);
    let (other, same) = (net.clone(), napi.clone());
    let printer = thread::spawn(1, move || {
        other.netpoll_send(&same);
    });
    net.napi_disable(&napi);
    nic.use_state();
    printer.join();
}

/// The softirq uses its whole weight on a context that an application would rather poll, and no
/// timer is set: it must come back by itself.
fn prefer_softirq() {
    let (net, nic, napi) = port(2, 1, 2);
    let (driver, same) = (nic.clone(), napi.clone());
    let late = thread::spawn(0, move || driver.late_interrupt(&same));
    let how = BusyPoll { prefer: true, budget: 2 };
    join_all([late, busy((&net, &nic, &napi), 1, 1, how)]);
    nic.rest(&napi, false);
}

/// A context is disabled while it waits for its kthread.
fn kthread_disable() {
    let net = net_with(options(3), 0).0;
    let (nic, napi) = Nic::build(&net, 2, None);
    net.set_threaded(&napi);
    nic.enable(&napi);
    nic.packet(&napi);
    let (other, driver, same) = (net.clone(), nic.clone(), napi.clone());
    let closer = thread::spawn(1, move || {
        other.napi_disable(&same);
        driver.use_state();
        other.stop_threaded(&same);
    });
    join_all([closer, kthread((&net, &nic, &napi), 2)]);
}

/// Threaded mode is turned off while packets come.
fn kthread_stop() {
    let net = net_with(options(3), 0).0;
    let (nic, napi) = Nic::build(&net, 2, None);
    net.set_threaded(&napi);
    nic.enable(&napi);
    let all = (&net, &nic, &napi);
    let kthread = kthread(all, 2);
    let (other, same) = (net.clone(), napi.clone());
    let admin = thread::spawn(1, move || other.napi_stop_kthread(&same));
    join_all([packet(all, 0), admin, kthread]);
    nic.rest(&napi, false);
}

const OWNED: &[(&str, &str)] =
    &[("NAPI-OWNER", "busy"), ("NO-LOST-WORK", "rest"), ("SINGLE-CONSUMER", "polled")];

/// Without loom: it would spin in a wait until it is cut.
const NO_LOOM: &[EngineKind] = &[
    EngineKind::Explore,
    EngineKind::ExploreTso,
    EngineKind::ExploreRc11,
    EngineKind::Schedules,
    EngineKind::Shuttle,
];

const fn scenario(
    id: &'static str,
    threads: u32,
    body: fn(),
    must_reach: &'static [(&'static str, &'static str)],
    about: &'static str,
) -> Scenario {
    Scenario { id, about, threads, body, engines: ENGINES, must_reach, loom_preemptions: None }
}

/// The lists of 3.18.
pub const SCHEDULE_3_18: Scenario = Scenario {
    loom_preemptions: Some(2),
    ..scenario(
        "napi/schedule-3.18",
        3,
        schedule_3_18,
        &[("NAPI-OWNER", "granted"), ("NO-LOST-WORK", "rest"), ("SINGLE-CONSUMER", "polled")],
        "A packet's interrupt and a late one come on two CPUs, with the rules of 3.18.",
    )
};
/// Busy polling against the softirq.
pub const BUSY_SOFTIRQ: Scenario = Scenario {
    loom_preemptions: Some(2),
    ..scenario(
        "busy/softirq",
        3,
        busy_softirq,
        OWNED,
        "An application busy-polls while a packet and its interrupt come.",
    )
};
/// Its end against a schedule.
pub const BUSY_STOP: Scenario = Scenario {
    loom_preemptions: Some(2),
    ..scenario(
        "busy/stop",
        3,
        busy_stop,
        OWNED,
        "A busy poller leaves with its budget used up while a late interrupt and a packet come.",
    )
};
/// Against disable.
pub const BUSY_DISABLE: Scenario = scenario(
    "busy/disable",
    3,
    busy_disable,
    &[("NAPI-OWNER", "busy"), ("DISABLE-MEANS-DISABLED", "disabled")],
    "A context is disabled and its driver's state used while an application polls it.",
);
/// Against the kthread.
pub const BUSY_KTHREAD: Scenario = Scenario {
    engines: NO_LOOM,
    ..scenario(
        "busy/kthread",
        4,
        busy_kthread,
        OWNED,
        "An application and a kthread poll one context while a packet comes.",
    )
};
/// Against its like.
pub const BUSY_TWO: Scenario =
    scenario("busy/two", 3, busy_two, OWNED, "Two applications poll one context.");
/// A timer is left behind.
pub const BUSY_PREFER: Scenario = scenario(
    "busy/prefer",
    3,
    || busy_prefer(false),
    OWNED,
    "An application that prefers to poll leaves a timer, which fires later.",
);
/// The timer may fire before its starter is done.
pub const BUSY_PREFER_EARLY: Scenario = scenario(
    "busy/prefer-early",
    3,
    || busy_prefer(true),
    &[],
    "An application that prefers to poll leaves a timer, which fires at any time.",
);
/// Rescheduling lets the context go.
pub const BUSY_RESCHED: Scenario = Scenario {
    loom_preemptions: Some(2),
    ..scenario(
        "busy/resched",
        3,
        busy_resched,
        &[("NAPI-OWNER", "busy"), ("NAPI-ID", "found")],
        "A busy poller is rescheduled while its context is removed and freed.",
    )
};
/// netpoll against NAPI.
pub const NETPOLL_OWNER: Scenario = scenario(
    "busy/netpoll-owner",
    3,
    netpoll_owner,
    &[("NAPI-BUDGET", "zero-budget"), ("NO-LOST-WORK", "rest"), ("SINGLE-CONSUMER", "polled")],
    "netpoll wants a context that the softirq polls.",
);
/// netpoll against a busy poller.
pub const NETPOLL_BUSY: Scenario = scenario(
    "busy/netpoll-busy",
    3,
    netpoll_busy,
    &[("NAPI-BUDGET", "zero-budget"), ("NAPI-OWNER", "busy"), ("NO-LOST-WORK", "rest")],
    "netpoll wants a context that an application polls.",
);
/// netpoll against disable.
pub const NETPOLL_DISABLE: Scenario = scenario(
    "busy/netpoll-disable",
    2,
    netpoll_disable,
    &[("NAPI-BUDGET", "zero-budget"), ("DISABLE-MEANS-DISABLED", "disabled")],
    "A context is disabled while netpoll is inside its poll.",
);
/// The softirq gives way.
pub const PREFER_SOFTIRQ: Scenario = Scenario {
    loom_preemptions: Some(2),
    ..scenario(
        "busy/prefer-softirq",
        3,
        prefer_softirq,
        OWNED,
        "The softirq uses its weight on a context that an application would rather poll.",
    )
};
/// A kthread owns what is disabled.
pub const KTHREAD_DISABLE: Scenario = Scenario {
    engines: NO_LOOM,
    ..scenario(
        "busy/kthread-disable",
        4,
        kthread_disable,
        &[("DISABLE-MEANS-DISABLED", "disabled"), ("SINGLE-CONSUMER", "polled")],
        "A context is disabled while it waits for its kthread.",
    )
};
/// The kthread goes.
pub const KTHREAD_STOP: Scenario = Scenario {
    engines: NO_LOOM,
    ..scenario(
        "busy/kthread-stop",
        4,
        kthread_stop,
        &[("NO-LOST-WORK", "rest"), ("SINGLE-CONSUMER", "polled")],
        "Threaded mode is turned off while a packet and its interrupt come.",
    )
};
