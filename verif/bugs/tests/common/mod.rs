//! What the tests share: a core without a device, a driver whose device is a counter, a runner.
#![allow(dead_code)] // Each test file uses its part.

use pollproof_bench::explored::ExploredHost;
use pollproof_events::{emit, Event};
use pollproof_hostmem::{Config, SharedMem};
use pollproof_kapi::Below;
use pollproof_netcore::{Napi, NapiPoll, Net, NetOptions};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config as PropConfig, RngAlgorithm, TestRng, TestRunner};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// A network core without a device.
pub fn bare_net(options: NetOptions) -> Arc<Net> {
    let config = Config { max_bufs: 0, buf_bytes: 64, ..Config::default() };
    let host = ExploredHost::new(SharedMem::new(config), options.cpus, 0);
    let below = Below::of(host);
    Net::new(options, below)
}

/// A driver whose device counts ready packets.
pub struct Counter {
    net: OnceLock<Arc<Net>>,
    cq: u32,
    written: AtomicU32,
    consumed: AtomicU32,
}

impl Counter {
    /// A driver with its context, which is not enabled yet.
    pub fn new(net: &Arc<Net>, cq: u32, weight: i32) -> (Arc<Self>, Arc<Napi>) {
        let (written, consumed) = (AtomicU32::new(0), AtomicU32::new(0));
        let counter = Arc::new(Self { net: OnceLock::new(), cq, written, consumed });
        assert!(counter.net.set(net.clone()).is_ok());
        let napi = net.netif_napi_add(counter.clone(), weight);
        (counter, napi)
    }

    /// So many packets become ready.
    pub fn complete(&self, count: u32) {
        for _ in 0..count {
            let (cq, index) = (self.cq, self.written.fetch_add(1, Relaxed));
            emit(Event::CqeWrite { cq, index, number: u64::from(cq) << 32 | u64::from(index) });
        }
    }

    /// Packets that wait.
    pub fn ready(&self) -> u32 {
        self.written.load(Relaxed) - self.consumed.load(Relaxed)
    }
}

impl NapiPoll for Counter {
    fn poll(&self, napi: &Arc<Napi>, budget: i32) -> i32 {
        let mut work = 0;
        while work < budget && self.ready() > 0 {
            let (cq, index) = (self.cq, self.consumed.fetch_add(1, Relaxed));
            emit(Event::CqeConsume { cq, index, napi: napi.slot });
            work += 1;
        }
        if let (true, Some(net)) = (work < budget, self.net.get()) {
            net.napi_complete_done(napi, work);
        }
        work
    }
}

/// Whether `body` panics for any of the first cases of a strategy, which are the same each time.
pub fn any_case<S: Strategy>(cases: u32, strategy: &S, body: impl Fn(S::Value)) -> bool {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(PropConfig::default(), rng);
    (0..cases).any(|_| {
        let case = strategy.new_tree(&mut runner).expect("the strategy gives cases").current();
        catch_unwind(AssertUnwindSafe(|| body(case))).is_err()
    })
}
