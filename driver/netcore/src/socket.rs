//! The guest: a ledger of what arrived at the sockets, in which order and when.
//!
//! The ledger's sockets are flow hashes. It is not a TCP: it reads the bytes, keeps what it was
//! told to keep, and gives the buffer back. Packets of a flow that has a [`crate::Sock`] are
//! counted here as all others, and then wait there for their reader.

use crate::inet::Refused;
use crate::{lock, segment, Net, SkBuff};
use pollproof_events::{emit, is_recording, sum_of, Event, SkbEnd, SkbStep};
use pollproof_sync::{cpu, Counter, Private};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::Mutex;

/// What the ledger keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Packets and bytes.
    Counts,
    /// Every arrival with its bytes.
    Bytes,
}

/// One packet at a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Socket: the flow hash that the device gave.
    pub socket: u32,
    /// Identity of the packet.
    pub number: u64,
    /// When, nanoseconds.
    pub time_ns: u64,
    /// `napi_id` that the socket was marked with.
    pub napi_id: u32,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// What arrived.
pub struct Ledger {
    keep: Keep,
    packets: Counter,
    bytes: Counter,
    /// `sk_napi_id` of the socket that got a packet last.
    last_napi_id: AtomicU32,
    arrivals: Mutex<Vec<Arrival>>,
    /// `sk_receive_queue`, of all sockets together.
    unread: Private<VecDeque<SkBuff>>,
}

impl Ledger {
    pub(crate) fn new(keep: Keep) -> Self {
        Self {
            keep,
            packets: Counter::default(),
            bytes: Counter::default(),
            last_napi_id: AtomicU32::new(0),
            arrivals: Mutex::new(Vec::new()),
            unread: Private::new(VecDeque::new()),
        }
    }

    /// Packets that arrived.
    pub fn packets(&self) -> u64 {
        self.packets.get()
    }

    /// Bytes that arrived.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// `sk_napi_id` of the socket that got a packet last; 0 before any did.
    pub fn last_napi_id(&self) -> u32 {
        self.last_napi_id.load(Relaxed)
    }

    /// Takes the arrivals kept so far.
    pub fn take_arrivals(&self) -> Vec<Arrival> {
        std::mem::take(&mut *lock(&self.arrivals))
    }
}

impl Net {
    /// `netif_receive_skb`: what becomes of the packet is told. False when it was dropped
    /// (`NET_RX_DROP`).
    #[inline(always)]
    pub(crate) fn netif_receive_skb(&self, skb: SkBuff) -> bool {
        self.through_layers(&skb);
        self.finish_receive(skb)
    }

    /// The same where the packet need not be handed on; false when it must, and nothing was done.
    #[inline(always)]
    pub(crate) fn netif_receive_at_once(&self, skb: &SkBuff) -> bool {
        if skb.meta.ext.is_some() || !self.reads_at_once() {
            return false;
        }
        self.through_layers(skb);
        self.deliver_at_once(skb);
        true
    }

    /// Core, network protocol, transport: a call each.
    #[inline(always)]
    fn through_layers(&self, skb: &SkBuff) {
        const LAYERS: u64 = 3;
        self.cost.calls.add(LAYERS);
        (0..LAYERS).for_each(|_| self.cost.touch(skb));
        self.check_link(skb, "netif_receive_skb");
    }

    /// The end of the way up.
    #[inline(always)]
    pub(crate) fn finish_receive(&self, mut skb: SkBuff) -> bool {
        if skb.meta.ext.is_some() {
            skb_orphan(&mut skb);
        }
        if self.reads_at_once() {
            self.deliver_at_once(&skb);
            return true;
        }
        if skb.is_merged() {
            return self.receive_merged(skb);
        }
        let (number, flow, napi_id) = (skb.number, skb.hash, skb.napi_id);
        let end = match self.deliver(skb) {
            None => SkbEnd::Socket(flow),
            Some(why) => SkbEnd::Dropped(why),
        };
        emit(Event::SkbEnd { skb: number, flow, napi_id, end });
        matches!(end, SkbEnd::Socket(_))
    }

    /// All packets go to the ledger, which keeps counts and lets them go.
    #[inline(always)]
    fn reads_at_once(&self) -> bool {
        let options = &self.options;
        let at_once = options.rcv_queue == 0 && !options.rcv_full_drops;
        self.ledger.keep == Keep::Counts && at_once && !self.has_socks()
    }

    /// The same as below without handing the packet on: a copy of it costs as much as all else.
    #[inline(always)]
    fn deliver_at_once(&self, skb: &SkBuff) {
        self.count_delivered(skb);
        skb.release(&*self.below.dma);
        if is_recording() {
            for (skb, flow, napi_id) in skb.identities() {
                emit(Event::SkbEnd { skb, flow, napi_id, end: SkbEnd::Socket(flow) });
            }
        }
    }

    #[inline(always)]
    fn count_delivered(&self, skb: &SkBuff) {
        let (mut packets, mut bytes) = (1, skb.len as u64);
        if skb.is_merged() {
            packets += skb.merged().count() as u64;
            bytes += skb.merged().map(|skb| skb.len as u64).sum::<u64>();
        }
        self.calls_up.add(1);
        self.ledger.packets.add(packets);
        self.ledger.bytes.add(bytes);
        // The ledger is marked as a socket would be.
        self.ledger.last_napi_id.store(skb.napi_id, Relaxed);
    }

    /// A merged packet ends for all that are in it.
    #[inline(never)]
    fn receive_merged(&self, skb: SkBuff) -> bool {
        let all: Vec<_> = skb.identities().collect();
        let why = self.deliver(skb);
        for (skb, flow, napi_id) in all {
            let end = why.map_or(SkbEnd::Socket(flow), SkbEnd::Dropped);
            emit(Event::SkbEnd { skb, flow, napi_id, end });
        }
        why.is_none()
    }

    /// Protocol and socket lookup in one: queues the packet to its socket, or drops it and says
    /// why.
    #[inline(always)]
    fn deliver(&self, skb: SkBuff) -> Option<&'static str> {
        self.count_delivered(&skb);
        if self.ledger.keep == Keep::Bytes {
            self.keep(&skb);
        }
        if self.has_socks() {
            return self.deliver_to_sock(skb);
        }
        self.deliver_to_ledger(skb)
    }

    #[inline(always)]
    fn deliver_to_ledger(&self, skb: SkBuff) -> Option<&'static str> {
        if self.options.rcv_full_drops && self.is_full() {
            skb.release(&*self.below.dma);
            return Some("rcvbuf");
        }
        if self.options.rcv_queue == 0 {
            // The reader takes it at once.
            skb.release(&*self.below.dma);
        } else {
            self.queue_to_socket(skb);
        }
        None
    }

    fn deliver_to_sock(&self, skb: SkBuff) -> Option<&'static str> {
        match self.inet_rcv(skb) {
            Ok(()) => None,
            Err(Refused::NoSocket(skb)) => self.deliver_to_ledger(skb),
            Err(Refused::Dropped(skb, why)) => {
                skb.release(&*self.below.dma);
                Some(why)
            }
        }
    }

    /// `loopback_xmit`, without the backlog between: a packet that this CPU sends to itself. On its
    /// way out it got the sender's CPU plus one, in the place where a received packet has its id.
    /// It never was a frame, so what becomes of it is not told.
    pub fn loopback_xmit(&self, mut skb: SkBuff) {
        skb.napi_id = cpu::smp_processor_id() + 1;
        cpu::local_bh_disable();
        self.deliver(skb);
        self.local_bh_enable();
    }

    /// Keeps a packet; of a merged one what it is taken apart into, which must be what came.
    #[inline(never)]
    fn keep(&self, skb: &SkBuff) {
        let dma = &*self.below.dma;
        let time_ns = self.below.clock.now_ns();
        let parts = segment(skb, dma);
        if let Some(gso) = skb.gso() {
            let came = skb.each_as_it_came(dma);
            let same = came == parts && gso.segs as usize == parts.len();
            emit(Event::GsoSplit { skb: skb.number, segs: gso.segs, same });
        }
        for (read, bytes) in skb.identities().zip(&parts) {
            emit(Event::Skb(SkbStep::Read { skb: read.0, sum: sum_of(bytes) }));
        }
        let identities = skb.identities().zip(parts);
        lock(&self.ledger.arrivals).extend(identities.map(|((number, socket, napi_id), bytes)| {
            Arrival { socket, number, time_ns, napi_id, bytes }
        }));
    }

    #[inline(never)]
    fn is_full(&self) -> bool {
        let waiting = self.ledger.unread.with(|unread| unread.len()).unwrap_or(0);
        waiting >= self.options.rcv_queue
    }

    /// The reader takes a packet when so many others came after it.
    #[inline(never)]
    fn queue_to_socket(&self, skb: SkBuff) {
        let limit = self.options.rcv_queue;
        let queue = |unread: &mut VecDeque<SkBuff>| {
            unread.push_back(skb);
            if unread.len() > limit {
                unread.pop_front()
            } else {
                None
            }
        };
        if let Some(skb) = self.ledger.unread.with(queue).flatten() {
            skb.release(&*self.below.dma);
        }
    }

    /// All sockets read what waits for them.
    pub fn read_sockets(&self) {
        let all = self.ledger.unread.with(std::mem::take).unwrap_or_default();
        for skb in all {
            if self.ledger.keep == Keep::Bytes {
                // As a reader does, who is another CPU perhaps.
                skb.copy_bits(&*self.below.dma);
            }
            skb.release(&*self.below.dma);
        }
    }

    /// `kfree_skb` with a reason: the packet ends here and is counted.
    pub fn kfree_skb(&self, skb: SkBuff, why: &'static str) {
        skb.release(&*self.below.dma);
        for (skb, flow, napi_id) in skb.identities() {
            emit(Event::SkbEnd { skb, flow, napi_id, end: SkbEnd::Dropped(why) });
        }
    }

    /// Frees a packet that never became whole, so that nobody was told of it.
    pub fn kfree_skb_unfinished(&self, skb: SkBuff) {
        skb.release(&*self.below.dma);
    }
}

/// `skb_orphan`, of a packet and of all that are in it: the sender's charge ends here.
#[cold]
fn skb_orphan(skb: &mut SkBuff) {
    skb.meta.orphan(skb.number);
    skb.merged_mut().for_each(|skb| skb.meta.orphan(skb.number));
}
