//! A receive ring and its pages: `struct ixgbe_ring`, `ixgbe_alloc_rx_buffers`,
//! `ixgbe_reuse_rx_page`, `ixgbe_clean_rx_ring` (6.12, pages of two 2048-byte buffers).
//!
//! The tail is one past the last descriptor that the device owns. Tail and head equal is an empty
//! ring, so one descriptor always stays with the driver.

use crate::{Core, VALID_BEFORE_USE};
use pollproof_events::{emit, Event, TailRing};
use pollproof_kapi::{Below, Coherent, Dma, DmaAddr, Layout, NoMemory};
use pollproof_netcore::{Page, SkBuff};
use pollproof_regs::ixgbe::pci::BAR_CSR;
use pollproof_regs::ixgbe_desc::BYTES;
use pollproof_regs::ixgbe_map as map;
use pollproof_sync::Ordering::Relaxed;
use pollproof_sync::{PlainU32, Private, What};
use std::sync::atomic::AtomicU64;

/// Word of a descriptor that says by its length that the device wrote it back.
pub(crate) const LENGTH_WORD: u32 = 12;

/// A page in the ring, and which half of it is posted (`struct ixgbe_rx_buffer`).
#[derive(Clone, Debug)]
pub(crate) struct RxBuffer {
    pub page: Page,
    pub half: u8,
    /// The half is the device's.
    pub mapped: bool,
}

/// Counters of a receive ring (`struct ixgbe_queue_stats` and its receive half).
#[derive(Debug, Default)]
pub struct RxStats {
    /// Packets that were taken, bad ones included.
    pub packets: AtomicU64,
    /// Descriptors that did not end their packet (`non_eop_descs`).
    pub non_eop_descs: AtomicU64,
    /// Pages that could not be had (`alloc_rx_page_failed`).
    pub alloc_failed: AtomicU64,
    /// Pages that were allocated.
    pub pages: AtomicU64,
    /// Polls by sockets that found the vector taken.
    pub yields: AtomicU64,
    /// Polls by sockets that found nothing.
    pub misses: AtomicU64,
    /// Packets that sockets took.
    pub cleaned: AtomicU64,
}

/// A receive ring.
pub struct RxRing {
    /// Number of the queue.
    pub index: u32,
    /// Number of descriptors.
    pub count: u32,
    /// Descriptors.
    pub(crate) desc: Coherent,
    /// Counters.
    pub stats: RxStats,
    /// First descriptor that the driver has not given to the device.
    next_to_use: PlainU32,
    /// Next that the device will have written back.
    next_to_clean: PlainU32,
    /// Where the next page that is kept goes.
    next_to_alloc: PlainU32,
    /// Descriptors consumed and posted since the ring was set up: their identity in events.
    consumed: PlainU32,
    produced: PlainU32,
    /// Packets that ended since then.
    frames: AtomicU64,
    /// Pages, by descriptor. Private to the poller.
    buffers: Private<Vec<Option<RxBuffer>>>,
    /// With bug E-30, the page of which it is not decided yet whether it goes on in the ring.
    pub(crate) undecided: Private<Option<(Page, u8)>>,
    /// Packet whose end has not come (`rx_buffer->skb`).
    pub(crate) skb: Private<Option<SkBuff>>,
}

/// State of a ring, for the bench to look at when nothing runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RxRingState {
    /// Number of the queue.
    pub index: u32,
    /// Descriptors that are consumed since the ring was set up.
    pub consumed: u32,
    /// Packets that ended since then.
    pub frames: u64,
    /// Descriptors that the device has, or has written back.
    pub posted: u32,
    /// Packets over the whole life of the ring.
    pub packets: u64,
}

impl RxRing {
    /// `ixgbe_setup_rx_resources`.
    pub(crate) fn setup(below: &Below, index: u32, count: u32) -> Result<Self, NoMemory> {
        let layout = Layout {
            name: "rx ring",
            rule: VALID_BEFORE_USE,
            stride_bytes: BYTES,
            marked: 1 << (LENGTH_WORD / 4),
        };
        let desc = Coherent::alloc(&below.dma, (count * BYTES) as usize, layout)?;
        let word = |name| PlainU32::new(0, What { rule: "SINGLE-CONSUMER", name });
        Ok(Self {
            index,
            count,
            desc,
            stats: RxStats::default(),
            next_to_use: word("rx_ring->next_to_use"),
            next_to_clean: word("rx_ring->next_to_clean"),
            next_to_alloc: word("rx_ring->next_to_alloc"),
            consumed: word("rx_ring consumed"),
            produced: word("rx_ring produced"),
            frames: AtomicU64::new(0),
            buffers: Private::new(vec![None; count as usize]),
            undecided: Private::new(None),
            skb: Private::new(None),
        })
    }

    /// Register of the tail.
    pub fn tail(&self) -> u64 {
        u64::from(map::RDT + 0x40 * self.index)
    }

    fn at(&self, index: u32) -> u32 {
        index * BYTES
    }

    /// The place of the descriptor at `next_to_clean`, and its running number.
    #[inline]
    pub(crate) fn current(&self) -> (u32, u32) {
        (self.at(self.next_to_clean.get()), self.consumed.get())
    }

    fn after(&self, index: u32) -> u32 {
        if index + 1 == self.count {
            0
        } else {
            index + 1
        }
    }

    /// `ixgbe_desc_unused`: descriptors that may be given to the device.
    #[inline]
    pub(crate) fn desc_unused(&self) -> u32 {
        let (clean, used) = (self.next_to_clean.get(), self.next_to_use.get());
        let lap = if clean > used { 0 } else { self.count };
        lap + clean - used - 1
    }

    /// Takes the buffer of the current descriptor out of the ring and moves on.
    #[inline]
    pub(crate) fn consume(&self) -> Option<RxBuffer> {
        let clean = self.next_to_clean.get();
        let buffer = self.take_buffer(clean);
        self.next_to_clean.set(self.after(clean));
        self.consumed.set(self.consumed.get().wrapping_add(1));
        buffer
    }

    /// So many packets have ended.
    pub(crate) fn count_frames(&self, frames: u32) {
        self.frames.fetch_add(frames.into(), Relaxed);
        self.stats.packets.fetch_add(frames.into(), Relaxed);
    }

    /// How far descriptors were consumed, for events.
    pub(crate) fn consumed(&self) -> u32 {
        self.consumed.get()
    }

    /// `ixgbe_reuse_rx_page`: the page goes back into the ring, where the next one is wanted.
    #[inline]
    pub(crate) fn reuse_rx_page(&self, page: Page, half: u8) {
        let to = self.next_to_alloc.get();
        self.next_to_alloc.set(self.after(to));
        self.put_buffer(to, page, half, false);
    }

    #[inline]
    fn take_buffer(&self, index: u32) -> Option<RxBuffer> {
        let take = |all: &mut Vec<Option<RxBuffer>>| all.get_mut(index as usize)?.take();
        self.buffers.with(take).flatten()
    }

    #[inline]
    fn put_buffer(&self, index: u32, page: Page, half: u8, mapped: bool) {
        self.buffers.with(|all| {
            if let Some(slot) = all.get_mut(index as usize) {
                *slot = Some(RxBuffer { page, half, mapped });
            }
        });
    }

    /// `ixgbe_alloc_rx_buffers`: gives up to `count` descriptors to the device, as long as there is
    /// memory, and tells it by one write of the tail.
    pub(crate) fn alloc_rx_buffers(&self, core: &Core, count: u32) {
        let first = self.next_to_use.get();
        let (mut index, mut given) = (first, 0);
        while given < count.min(self.desc_unused()) {
            let Some(buf) = self.mapped_buffer(core, index) else { break };
            self.write_descriptor(index, buf);
            index = self.after(index);
            given += 1;
        }
        if given == 0 {
            return;
        }
        // Nobody has given this one to the device: an old length in it must not pass for news.
        self.desc.store32(self.at(index) + LENGTH_WORD, 0, Relaxed);
        self.next_to_use.set(index);
        self.next_to_alloc.set(index);
        let producer = self.produced.get().wrapping_add(given);
        self.produced.set(producer);
        let (ring, consumer, size) = (self.index, self.consumed.get(), self.count);
        emit(Event::Refill { ring, producer, consumer, size });
        // The descriptors are in memory before the device is told to fetch them: a register write
        // orders that by itself, so the wmb that Linux has here changes nothing.
        emit(Event::Doorbell { ring, producer });
        core.hw.write(self.tail() as u32, index);
    }

    /// The half that descriptor `index` gets: of the page that waits there, or of a new one. It is
    /// the device's from here on (`ixgbe_alloc_mapped_page`).
    #[inline]
    fn mapped_buffer(&self, core: &Core, index: u32) -> Option<DmaAddr> {
        let dma = &*core.below.dma;
        let kept = self.buffers.with(|all| {
            let buffer = all.get_mut(index as usize)?.as_mut()?;
            buffer.mapped = true;
            Some(buffer.page.half(buffer.half))
        });
        let half = match kept.flatten() {
            Some(half) => half,
            None => self.new_page(dma, index)?,
        };
        dma.map_buf(half);
        Some(half)
    }

    /// A page for descriptor `index`; gives the half that is posted.
    #[cold]
    fn new_page(&self, dma: &(dyn Dma + 'static), index: u32) -> Option<DmaAddr> {
        let Ok(page) = Page::alloc(dma) else {
            self.stats.alloc_failed.fetch_add(1, Relaxed);
            let posted = self.posted();
            emit(Event::RefillFailed { ring: self.index, posted });
            return None;
        };
        self.stats.pages.fetch_add(1, Relaxed);
        let half = page.half(0);
        self.put_buffer(index, page, 0, true);
        Some(half)
    }

    /// The read format: packet address, and a header address of 0, whose lowest bit is DD.
    #[inline]
    fn write_descriptor(&self, index: u32, buf: DmaAddr) {
        let at = self.at(index);
        emit(Event::Descriptor { tail: self.tail(), index, buf });
        self.desc.write_words(at, [buf as u32, (buf >> 32) as u32, 0]);
        self.desc.store32(at + LENGTH_WORD, 0, Relaxed);
    }

    /// Descriptors between clean and use.
    pub(crate) fn posted(&self) -> u32 {
        self.produced.get().wrapping_sub(self.consumed.get())
    }

    /// An empty ring, as the device will find it (`ixgbe_configure_rx_ring`).
    pub(crate) fn begin(&self) {
        for index in 0..self.count {
            self.desc.store32(self.at(index) + LENGTH_WORD, 0, Relaxed);
        }
        for word in [&self.next_to_use, &self.next_to_clean, &self.next_to_alloc] {
            word.set(0);
        }
        self.consumed.set(0);
        self.produced.set(0);
        self.frames.store(0, Relaxed);
        let (bar, entries, cq) = (BAR_CSR, self.count, Some(self.index));
        emit(Event::TailRing(TailRing { bar, tail: self.tail(), entries, cq }));
        emit(Event::RingStarted { ring: self.index, cq: self.index });
    }

    /// `ixgbe_clean_rx_ring`: what is in the ring goes; the device is stopped and nobody polls.
    pub(crate) fn clean(&self, core: &Core) {
        let dma = &*core.below.dma;
        let open = self.skb.with(Option::take).flatten();
        if let Some(skb) = open {
            core.net.kfree_skb_unfinished(skb);
        }
        let take = |all: &mut Vec<Option<RxBuffer>>| -> Vec<RxBuffer> {
            all.iter_mut().filter_map(Option::take).collect()
        };
        for buffer in self.buffers.with(take).unwrap_or_default() {
            if buffer.mapped {
                dma.unmap_buf(buffer.page.half(buffer.half));
            }
            buffer.page.put(dma);
        }
    }

    /// `ixgbe_free_rx_resources`.
    pub(crate) fn release(&self) {
        self.desc.free();
    }

    /// Its state; only when nothing runs.
    pub fn state(&self) -> RxRingState {
        RxRingState {
            index: self.index,
            consumed: self.consumed.get(),
            frames: self.frames.load(Relaxed),
            posted: self.posted(),
            packets: self.stats.packets.load(Relaxed),
        }
    }
}
