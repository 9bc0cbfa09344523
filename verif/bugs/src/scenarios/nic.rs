//! A NIC without a device: a word that counts ready packets and holds the arm bit, a driver that
//! polls it, and interrupts that are taken where the packet comes.
//!
//! What it does is what the drivers' contract asks for and no more: packets up to the budget,
//! complete when less was there, arm when that was allowed. An arm with packets waiting fires at
//! once.

use pollproof_bench::explored::ExploredHost;
use pollproof_events::{emit, Event, RestCq};
use pollproof_hostmem::{Config, SharedMem};
use pollproof_ixgbe::{QvLock, QvLockForm};
use pollproof_kapi::{Below, Timer};
use pollproof_netcore::{Napi, NapiPoll, Net, NetOptions, SkBuff, LL_FLUSH_BUSY, LL_FLUSH_FAILED};
use pollproof_sync::thread::{self, JoinHandle};
use pollproof_sync::Ordering::{AcqRel, Acquire, Relaxed};
use pollproof_sync::{cpu, AtomicU32, PlainU32, What};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

const ARMED: u32 = 1 << 31;
const CQ: u32 = 0;

/// The device and its driver.
pub(super) struct Nic {
    net: OnceLock<Arc<Net>>,
    /// Packets that became ready, and whether the next one interrupts.
    word: AtomicU32,
    /// Packets that were taken: the owner's.
    taken: PlainU32,
    /// Transmit completions that were reaped: of whoever is inside the poll method.
    reaped: PlainU32,
    /// The lock of busy polling, of a driver that has its own method for it.
    lock: Option<Box<dyn QvLock>>,
    /// Packets with bytes, taken in order. Filled before anything runs, touched by the owner alone.
    packets: Mutex<VecDeque<SkBuff>>,
}

/// A core with options, on memory with `bufs` buffers.
pub(super) fn net_with(options: NetOptions, bufs: u32) -> (Arc<Net>, Arc<ExploredHost>) {
    let config = Config { max_bufs: bufs, buf_bytes: 64, ..Config::default() };
    let host = ExploredHost::new(SharedMem::new(config), options.cpus, 0);
    (Net::new(options, Below::of(host.clone())), host)
}

impl Nic {
    /// An open port: its context is hashed, enabled and armed. Or `ready` packets have come and the
    /// interrupt is off, as a deferral leaves it.
    pub fn open(net: &Arc<Net>, weight: i32, ready: u32) -> (Arc<Self>, Arc<Napi>) {
        let (nic, napi) = Self::build(net, weight, None);
        (0..ready).for_each(|_| {
            nic.ready();
        });
        net.napi_enable(&napi);
        if ready == 0 {
            nic.arm(&napi, 0);
        }
        (nic, napi)
    }

    /// Opens a port that was built.
    pub fn enable(&self, napi: &Napi) {
        if let Some(lock) = &self.lock {
            lock.enable();
        }
        if let Some(net) = self.net.get() {
            net.napi_enable(napi);
        }
        self.arm(napi, 0);
    }

    /// An open port of a driver with a busy-poll method and this lock.
    pub fn open_with(
        net: &Arc<Net>,
        weight: i32,
        lock: Option<QvLockForm>,
    ) -> (Arc<Self>, Arc<Napi>) {
        let (nic, napi) = Self::build(net, weight, lock);
        nic.enable(&napi);
        (nic, napi)
    }

    /// A port whose context is not enabled yet.
    pub fn build(net: &Arc<Net>, weight: i32, lock: Option<QvLockForm>) -> (Arc<Self>, Arc<Napi>) {
        let taken = What { rule: "SINGLE-CONSUMER", name: "driver state" };
        let nic = Arc::new(Self {
            net: OnceLock::new(),
            word: AtomicU32::new(0),
            taken: PlainU32::new(0, taken),
            reaped: PlainU32::new(0, What { rule: "SINGLE-CONSUMER", name: "transmit ring" }),
            lock: lock.map(QvLockForm::new_lock),
            packets: Mutex::default(),
        });
        let _ = nic.net.set(net.clone());
        emit(Event::RingStarted { ring: 0, cq: CQ });
        let napi = net.netif_napi_add(nic.clone(), weight);
        net.napi_hash_add(&napi);
        (nic, napi)
    }

    /// The packets that come have bytes, from here on.
    pub fn load(&self, packets: impl IntoIterator<Item = SkBuff>) {
        self.packets.lock().unwrap_or_else(PoisonError::into_inner).extend(packets);
    }

    /// A packet is ready; whether it interrupts.
    fn ready(&self) -> bool {
        let before = self.word.update(AcqRel, |w| Some((w & !ARMED) + 1)).unwrap_or(0);
        let index = before & !ARMED;
        emit(Event::CqeWrite { cq: CQ, index, number: index.into() });
        before & ARMED != 0
    }

    /// The port is closed and its context freed.
    pub fn remove(&self, net: &Net, napi: &Arc<Napi>) {
        net.napi_disable(napi);
        if let Some(lock) = &self.lock {
            lock.disable();
        }
        net.netif_napi_del(napi);
        net.napi_free(napi);
    }

    /// The driver asks for an interrupt; it comes at once, on this CPU, if packets wait behind
    /// those that were taken.
    fn arm(&self, napi: &Napi, taken: u32) {
        let arms = |w: u32| (w & !ARMED == taken).then_some(w | ARMED);
        emit(Event::ArmCq { cq: CQ, napi: napi.slot, consumer: taken, sn: 0 });
        if self.word.update(AcqRel, arms).is_err() {
            self.interrupt(napi.slot);
        }
    }

    fn interrupt(&self, slot: u32) {
        let Some(net) = self.net.get() else { return };
        if let Some(napi) = net.napi(slot) {
            cpu::in_hardirq(|| net.napi_schedule(&napi));
        }
    }

    /// An interrupt that was under way, on the CPU that takes it.
    pub fn late_interrupt(&self, napi: &Napi) {
        self.interrupt(napi.slot);
        self.idle();
    }

    /// A packet comes, on the CPU that takes the interrupt.
    pub fn packet(&self, napi: &Napi) {
        if self.ready() {
            self.interrupt(napi.slot);
        }
        self.idle();
    }

    /// A packet comes; its CPU does not get to its softirq yet.
    pub fn comes(&self, napi: &Napi) {
        if self.ready() {
            self.interrupt(napi.slot);
        }
    }

    /// The CPU has nothing else to do: it runs its softirqs. One that waits for somebody else's
    /// lock is left after some rounds.
    pub fn idle(&self) {
        const ROUNDS_MAX: u32 = 2;
        if let Some(net) = self.net.get() {
            let mut rounds = 0;
            while net.do_softirq() && rounds < ROUNDS_MAX {
                rounds += 1;
            }
        }
    }

    /// Somebody uses what only the owner of the context may use.
    pub fn use_state(&self) {
        self.taken.set(self.taken.get());
        self.reap();
    }

    /// How things stand when all threads are done.
    #[track_caller]
    pub fn rest(&self, napi: &Napi, wakeup: bool) {
        let word = self.word.load(Acquire);
        emit(Event::Rest(RestCq {
            cq: CQ,
            napi: napi.slot,
            unconsumed: (word & !ARMED).saturating_sub(self.taken.get()),
            posted: 1,
            enabled: true,
            armed: word & ARMED != 0,
            wakeup,
        }));
    }

    fn reap(&self) {
        self.reaped.set(self.reaped.get() + 1);
    }

    fn receive(&self, napi: &Napi, index: u32) {
        emit(Event::CqeConsume { cq: CQ, index, napi: napi.slot });
        let packet = self.packets.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        if let (Some(mut skb), Some(net)) = (packet, self.net.get()) {
            let bufs = skb.frags.iter().map(|frag| frag.buf).chain([skb.buf]);
            bufs.filter(|buf| *buf != 0).for_each(|buf| net.below().dma.hand_up(buf));
            skb.napi_id = napi.napi_id();
            if skb.buf == 0 {
                // As a driver fills what the context gives it.
                let mut filled = net.napi_get_frags(napi);
                (filled.number, filled.hash, filled.napi_id) = (skb.number, skb.hash, skb.napi_id);
                filled.csum_unnecessary = skb.csum_unnecessary;
                skb.frags.into_iter().for_each(|frag| filled.add_rx_frag(frag));
                net.napi_gro_frags(napi, filled);
            } else {
                net.napi_gro_receive(napi, skb);
            }
        }
    }

    fn take(&self, napi: &Napi, budget: i32) -> i32 {
        let mut work = 0;
        while work < budget && self.taken.get() < self.word.load(Acquire) & !ARMED {
            let index = self.taken.get();
            self.receive(napi, index);
            self.taken.set(index + 1);
            emit(Event::CqSetCi { cq: CQ, consumer: index + 1 });
            work += 1;
        }
        work
    }
}

impl NapiPoll for Nic {
    fn poll(&self, napi: &Arc<Napi>, budget: i32) -> i32 {
        self.reap();
        if budget == 0 {
            return 0;
        }
        if self.lock.as_ref().is_some_and(|l| !l.lock_napi()) {
            return budget;
        }
        let work = self.take(napi, budget);
        // Read while it is still ours.
        let taken = self.taken.get();
        if let Some(lock) = &self.lock {
            lock.unlock_napi();
        }
        if let (true, Some(net)) = (work < budget, self.net.get()) {
            if net.napi_complete_done(napi, work) {
                self.arm(napi, taken);
            }
        }
        work
    }

    fn ll_poll(&self, napi: &Arc<Napi>) -> i32 {
        let Some(lock) = &self.lock else { return LL_FLUSH_FAILED };
        if !lock.lock_poll() {
            return LL_FLUSH_BUSY;
        }
        let work = self.take(napi, 4);
        lock.unlock_poll();
        work
    }
}

/// A timer that fires once, whenever it is armed.
pub(super) struct OneTimer {
    word: AtomicU32,
}

const PENDING: u32 = 1;
const OVER: u32 = 2;

impl OneTimer {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { word: AtomicU32::new(0) })
    }

    /// The timer's interrupts of a context, on `cpu`, until it is over.
    pub fn run(self: &Arc<Self>, net: &Arc<Net>, napi: u32, cpu: u32) -> JoinHandle {
        let (timer, net) = (self.clone(), net.clone());
        thread::spawn(cpu, move || loop {
            timer.word.wait(Relaxed, |w| w != 0);
            if timer.word.fetch_and(!PENDING, AcqRel) & PENDING == 0 {
                return;
            }
            cpu::in_hardirq(|| net.napi_watchdog(napi));
            while net.do_softirq() {}
        })
    }

    /// Nobody starts it any more.
    pub fn end(&self) {
        self.word.fetch_or(OVER, Relaxed);
    }
}

impl Timer for OneTimer {
    fn start(&self, _timer: u32, _delay_ns: u64) {
        self.word.fetch_or(PENDING, AcqRel);
    }

    fn cancel(&self, _timer: u32) -> bool {
        self.word.fetch_and(!PENDING, AcqRel) & PENDING != 0
    }
}
