//! The std build on real threads, without an engine: small enough for Miri, which shows stale
//! values and uses after free that a machine seldom does.

use pollproof_kapi::{Below, Clock, Dma, DmaAddr, Irq, Layout, Mmio, NoMemory, Timer};
use pollproof_netcore::{Napi, NapiPoll, Net, NetOptions};
use pollproof_sync::engine::Loc;
use pollproof_sync::switch::take_faults;
use pollproof_sync::{cpu, RcuForm};
use std::cell::OnceCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

/// Nothing is below: these tests have no device.
struct Nothing;

impl Mmio for Nothing {
    fn write32(&self, _: u8, _: u64, _: u32) {}
    fn write64(&self, _: u8, _: u64, _: u64) {}
    fn read32(&self, _: u8, _: u64) -> u32 {
        0
    }
}

impl Dma for Nothing {
    fn alloc_coherent(&self, _: usize, _: Layout) -> Result<DmaAddr, NoMemory> {
        Err(NoMemory)
    }
    fn free_coherent(&self, _: DmaAddr) {}
    fn load32_at(&self, _: DmaAddr, _: Ordering, _: Loc) -> u32 {
        0
    }
    fn store32_at(&self, _: DmaAddr, _: u32, _: Ordering, _: Loc) {}
    fn read32_at(&self, _: DmaAddr, _: Loc) -> u32 {
        0
    }
    fn write32_at(&self, _: DmaAddr, _: u32, _: Loc) {}
    fn alloc_buf(&self) -> Result<DmaAddr, NoMemory> {
        Err(NoMemory)
    }
    fn free_buf(&self, _: DmaAddr) {}
    fn map_buf(&self, _: DmaAddr) {}
    fn unmap_buf(&self, _: DmaAddr) {}
    fn hand_up(&self, _: DmaAddr) {}
    fn read_buf(&self, _: DmaAddr, _: usize, _: &mut [u8]) {}
    fn buf_len(&self) -> usize {
        0
    }
}

impl Irq for Nothing {
    fn request(&self, _: u32, _: Arc<dyn Fn() + Send + Sync>) {}
    fn free(&self, _: u32) {}
    fn mask(&self, _: u32) {}
    fn unmask(&self, _: u32) {}
    fn affinity(&self, _: u32) -> u32 {
        0
    }
    fn synchronize(&self, _: u32) {}
}

impl Clock for Nothing {
    fn now_ns(&self) -> u64 {
        0
    }
}

impl Timer for Nothing {
    fn start(&self, _: u32, _: u64) {}
    fn cancel(&self, _: u32) -> bool {
        false
    }
}

fn net(rcu: RcuForm) -> Arc<Net> {
    let options = NetOptions { cpus: 2, rcu, hash_buckets: 1, ..NetOptions::default() };
    Net::new(options, Below::of(Arc::new(Nothing)))
}

thread_local! {
    /// The core on this CPU: a reference taken in the poll would order what the test looks at.
    static NET: OnceCell<Arc<Net>> = const { OnceCell::new() };
}

/// Takes the work that is there. The sum is no update: only its owner may touch it.
#[derive(Default)]
struct Queue {
    work: AtomicU64,
    seen: AtomicU64,
}

impl NapiPoll for Queue {
    fn poll(&self, napi: &Arc<Napi>, _budget: i32) -> i32 {
        let work = self.work.swap(0, Ordering::Relaxed);
        let seen = self.seen.load(Ordering::Relaxed);
        self.seen.store(seen + work, Ordering::Relaxed);
        NET.with(|net| net.get().map(|net| net.napi_complete_done(napi, work as i32)));
        work as i32
    }
}

#[test]
fn no_event_is_lost_between_two_cpus_that_schedule() {
    let net = net(RcuForm::Locks);
    let queue = Arc::new(Queue::default());
    let napi = net.netif_napi_add(queue.clone(), 64);
    net.napi_enable(&napi);
    let together = Arc::new(Barrier::new(2));
    let cpus = [0, 1].map(|cpu| {
        let (net, napi, queue) = (net.clone(), napi.clone(), queue.clone());
        let together = together.clone();
        thread::spawn(move || {
            cpu::begin(cpu);
            assert!(NET.with(|here| here.set(net.clone()).is_ok()));
            together.wait();
            for _ in 0..3 {
                queue.work.fetch_add(1, Ordering::Relaxed);
                cpu::in_hardirq(|| net.napi_schedule(&napi));
                while net.do_softirq() {}
            }
            take_faults()
        })
    });
    let faults: Vec<_> = cpus.into_iter().flat_map(|c| c.join().expect("it ends")).collect();
    assert!(faults.is_empty());
    assert_eq!(queue.seen.load(Ordering::Relaxed), 6);
}

#[test]
fn a_context_that_is_found_is_whole_and_alive() {
    for form in [RcuForm::Locks, RcuForm::Counters] {
        let net = net(form);
        let reader = {
            let net = net.clone();
            thread::spawn(move || {
                cpu::begin(1);
                for _ in 0..8 {
                    let guard = net.rcu.read_lock();
                    if let Some(napi) = net.napi_by_id(1) {
                        assert_eq!((napi.napi_id(), napi.weight), (1, 64));
                        napi.lifetime.used();
                    }
                    drop(guard);
                    thread::yield_now();
                }
                take_faults()
            })
        };
        cpu::begin(0);
        let napi = net.netif_napi_add(Arc::new(Queue::default()), 64);
        net.napi_hash_add(&napi);
        thread::yield_now();
        net.netif_napi_del(&napi);
        net.napi_free(&napi);
        assert!(reader.join().expect("it ends").is_empty() && take_faults().is_empty());
    }
}
