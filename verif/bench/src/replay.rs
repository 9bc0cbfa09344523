//! Packets in memory through GRO and lists to the sockets, with nothing below: for speed, for
//! counts and for sequences without number.

use pollproof_events::{emit, Event};
use pollproof_kapi::{Below, Clock, Dma, DmaAddr, Irq, Layout, Mmio, NoMemory, Timer};
use pollproof_netcore::{Frag, Napi, NapiPoll, Net, NetOptions, SkBuff};
use pollproof_sync::engine::Loc;
use pollproof_sync::Ordering;
use pollproof_wire::{flow_of, Packet};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Bytes between two buffers, as pages of a ring lie; no two share a cache line.
const STRIDE: u64 = 2048;

/// What is below: packets in memory, and nothing else.
struct Memory {
    packets: Vec<Packet>,
    /// Copies that were made, which have no bytes here.
    copies: AtomicU64,
}

impl Memory {
    fn bytes(&self, buf: DmaAddr) -> &[u8] {
        let index = usize::try_from(buf / STRIDE).unwrap_or(0);
        index.checked_sub(1).and_then(|n| self.packets.get(n)).map_or(&[], |p| &p.bytes)
    }
}

impl Dma for Memory {
    fn alloc_coherent(&self, _len: usize, _layout: Layout) -> Result<DmaAddr, NoMemory> {
        Err(NoMemory)
    }
    fn free_coherent(&self, _addr: DmaAddr) {}
    fn load32_at(&self, _addr: DmaAddr, _order: Ordering, _at: Loc) -> u32 {
        0
    }
    fn store32_at(&self, _addr: DmaAddr, _value: u32, _order: Ordering, _at: Loc) {}
    fn read32_at(&self, _addr: DmaAddr, _at: Loc) -> u32 {
        0
    }
    fn write32_at(&self, _addr: DmaAddr, _value: u32, _at: Loc) {}
    fn alloc_buf(&self) -> Result<DmaAddr, NoMemory> {
        self.copies.fetch_add(1, Relaxed);
        Err(NoMemory)
    }
    fn free_buf(&self, _buf: DmaAddr) {}
    fn map_buf(&self, _buf: DmaAddr) {}
    fn unmap_buf(&self, _buf: DmaAddr) {}
    fn hand_up(&self, _buf: DmaAddr) {}

    #[inline]
    fn read_buf(&self, buf: DmaAddr, offset: usize, into: &mut [u8]) {
        let from = self.bytes(buf).get(offset..).unwrap_or(&[]);
        let have = from.len().min(into.len());
        into[..have].copy_from_slice(&from[..have]);
    }

    fn buf_len(&self) -> usize {
        usize::from(u16::MAX)
    }
}

impl Mmio for Memory {
    fn write32(&self, _bar: u8, _offset: u64, _value: u32) {}
    fn write64(&self, _bar: u8, _offset: u64, _value: u64) {}
    fn read32(&self, _bar: u8, _offset: u64) -> u32 {
        0
    }
}

impl Irq for Memory {
    fn request(&self, _vector: u32, _handler: Arc<dyn Fn() + Send + Sync>) {}
    fn free(&self, _vector: u32) {}
    fn mask(&self, _vector: u32) {}
    fn unmask(&self, _vector: u32) {}
    fn affinity(&self, _vector: u32) -> u32 {
        0
    }
    fn synchronize(&self, _vector: u32) {}
}

impl Clock for Memory {
    fn now_ns(&self) -> u64 {
        0
    }
}

impl Timer for Memory {
    fn start(&self, _timer: u32, _delay_ns: u64) {}
    fn cancel(&self, _timer: u32) -> bool {
        false
    }
}

/// What the poll method needs to know of a packet.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    len: usize,
    /// The driver drops it: an error.
    dropped: bool,
}

/// The driver: the next packets of a table, so many a poll.
struct Feeder {
    net: OnceLock<Arc<Net>>,
    entries: Vec<Entry>,
    next: AtomicUsize,
    /// Where polls end.
    until: AtomicUsize,
    /// The device says that the sums are good.
    checked: AtomicBool,
}

impl NapiPoll for Feeder {
    fn poll(&self, napi: &Arc<Napi>, budget: i32) -> i32 {
        let Some(net) = self.net.get() else { return 0 };
        let (from, until) = (self.next.load(Relaxed), self.until.load(Relaxed));
        let until = until.min(from + usize::try_from(budget).unwrap_or(0));
        let checked = self.checked.load(Relaxed);
        for (index, entry) in self.entries.iter().enumerate().take(until).skip(from) {
            emit(Event::CqeConsume { cq: 0, index: index as u32, napi: napi.slot });
            let buf = STRIDE * (index as u64 + 1);
            let frag = Frag { buf, page: None, offset: 0, len: entry.len };
            let skb = SkBuff::received(frag, (index as u64, entry.hash, 1), checked);
            if entry.dropped {
                net.kfree_skb(skb, "rx_error");
            } else {
                net.napi_gro_receive(napi, skb);
            }
        }
        self.next.store(until.max(from), Relaxed);
        let work = (until.max(from) - from) as i32;
        if work < budget {
            net.napi_complete_done(napi, work);
        }
        work
    }
}

/// Packets in memory below a core of one CPU. One thread.
pub struct Replay {
    net: Arc<Net>,
    napi: Arc<Napi>,
    feeder: Arc<Feeder>,
    /// Packets of each poll are told from the next by a schedule.
    polls: Cell<u64>,
}

impl Replay {
    /// A core with these packets below it; those that `dropped` names are dropped by the driver.
    pub fn new(options: NetOptions, packets: Vec<Packet>, dropped: impl Fn(usize) -> bool) -> Self {
        let entry = |(n, packet): (usize, &Packet)| Entry {
            hash: flow_of(&packet.bytes),
            len: packet.bytes.len(),
            dropped: dropped(n),
        };
        let entries = packets.iter().enumerate().map(entry).collect();
        let memory = Arc::new(Memory { packets, copies: AtomicU64::new(0) });
        let net = Net::new(options, Below::of(memory));
        let feeder = Arc::new(Feeder {
            net: OnceLock::new(),
            entries,
            next: AtomicUsize::new(0),
            until: AtomicUsize::new(0),
            checked: AtomicBool::new(true),
        });
        let _ = feeder.net.set(net.clone());
        let napi = net.netif_napi_add(feeder.clone(), pollproof_netcore::POLL_WEIGHT);
        net.napi_enable(&napi);
        Self { net, napi, feeder, polls: Cell::new(0) }
    }

    /// The core.
    pub fn net(&self) -> &Arc<Net> {
        &self.net
    }

    /// From here on nobody has looked at the sums of packets.
    pub fn leave_sums_to_gro(&self) {
        self.feeder.checked.store(false, Relaxed);
    }

    /// Polls that were scheduled.
    pub fn polls(&self) -> u64 {
        self.polls.get()
    }

    /// The next `count` packets come, and are polled until none is left.
    pub fn poll(&self, count: usize) {
        let until = self.feeder.until.load(Relaxed) + count;
        self.feeder.until.store(until.min(self.feeder.entries.len()), Relaxed);
        self.polls.set(self.polls.get() + 1);
        self.net.napi_schedule(&self.napi);
        while self.net.do_softirq() {}
    }

    /// All packets come once, `burst` of them at a time.
    pub fn run(&self, burst: usize) {
        self.feeder.next.store(0, Relaxed);
        self.feeder.until.store(0, Relaxed);
        let all = self.feeder.entries.len();
        (0..all.div_ceil(burst.max(1))).for_each(|_| self.poll(burst.max(1)));
    }
}

/// Processor nanoseconds of a packet, from the driver's hands to the socket: the packets again and
/// again, `burst` a poll, until it took `seconds` by `clock`.
pub fn ns_per_packet(
    options: &NetOptions,
    packets: &[Packet],
    burst: usize,
    seconds: f64,
    clock: &dyn Fn() -> f64,
) -> f64 {
    let _alone = pollproof_sync::alone::enter();
    pollproof_sync::cpu::begin(0);
    let replay = Replay::new(options.clone(), packets.to_vec(), |_| false);
    replay.run(burst);
    let (mut count, began) = (0_u64, clock());
    loop {
        for _ in 0..20 {
            replay.run(burst);
            count += packets.len() as u64;
        }
        let took = clock() - began;
        if took >= seconds {
            return took * 1e9 / count.max(1) as f64;
        }
    }
}
