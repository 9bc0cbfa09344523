//! What crosses the bus in a timed run, and what arrives in order.

use super::counts::Counts;
use super::world::World;
use super::{Device, Nic};
use pollproof_events::What;
use pollproof_pcie::{Entry, Link, Outbound, Ring};
use std::collections::VecDeque;

/// Requests of the device are taken while its lane is taken for less than this, so that a full
/// lane holds the device back. Assumed; stands for posted credits.
pub(super) const LANE_AHEAD_PS: u64 = 1_000_000;
/// Bytes of an MSI-X message.
const MSIX_BYTES: u32 = 4;

/// What arrives in order, each at its time.
pub struct InOrder<T> {
    items: VecDeque<(u64, T)>,
    /// When the first does, at hand: the event loop looks at it more often than it changes.
    first_ps: u64,
}

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        Self { items: VecDeque::new(), first_ps: u64::MAX }
    }
}

impl<T> InOrder<T> {
    /// When the first arrives; never is the end of time.
    #[inline]
    pub fn first_ps(&self) -> u64 {
        self.first_ps
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    #[inline]
    pub fn push(&mut self, at_ps: u64, item: T) {
        if self.items.is_empty() {
            self.first_ps = at_ps;
        }
        self.items.push_back((at_ps, item));
    }

    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let (_, item) = self.items.pop_front()?;
        self.first_ps = self.items.front().map_or(u64::MAX, |next| next.0);
        Some(item)
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter().map(|(_, item)| item)
    }
}

/// When a request that starts now arrives, and when the answer to a read is back.
fn times(link: &mut Link, counts: &mut Counts, now_ps: u64, request: &Outbound) -> (u64, u64) {
    match request {
        Outbound::DmaWrite { payload, .. } => {
            counts.dma_write(payload.len());
            (link.write_ps(now_ps, payload.len() as u32), 0)
        }
        Outbound::DmaRead { len, .. } => {
            counts.dma_read(*len as usize);
            link.read_ps(now_ps, *len)
        }
        Outbound::Msix { .. } => (link.write_ps(now_ps, MSIX_BYTES), 0),
    }
}

/// A request of the device on its way to memory.
#[derive(Default)]
struct Crossing {
    at_ps: u64,
    /// When the answer to a read is back.
    back_ps: u64,
    /// The request itself, unless the device keeps it.
    request: Outbound,
}

impl Entry for Crossing {
    #[inline]
    fn clear(&mut self) {
        self.request.clear();
    }
}

/// Requests on their way, in order, looked at where they are.
pub struct Crossings {
    items: Ring<Crossing>,
    /// As in [`InOrder`].
    first_ps: u64,
}

impl Default for Crossings {
    fn default() -> Self {
        Self { items: Ring::default(), first_ps: u64::MAX }
    }
}

impl Crossings {
    /// When the first arrives; never is the end of time.
    #[inline]
    pub fn first_ps(&self) -> u64 {
        self.first_ps
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    #[inline(always)]
    fn push(&mut self, at_ps: u64, back_ps: u64, request: impl FnOnce() -> Outbound) {
        if self.items.is_empty() {
            self.first_ps = at_ps;
        }
        self.items.push_with(|| Crossing { at_ps, back_ps, request: request() });
    }

    #[inline]
    fn drop_front(&mut self) {
        self.items.drop_front();
        self.first_ps = self.items.front().map_or(u64::MAX, |c| c.at_ps);
    }
}

/// What is left of a request when it was looked at.
enum Does {
    Write,
    Read(u32, u64, u32, What),
    Raise(u32),
}

/// What was read, on its way to the device.
pub struct Answer {
    tag: u32,
    bytes: Vec<u8>,
}

impl<N: Nic> World<N> {
    /// After an event of the device. When the link takes no time, what it asks for would be the
    /// next events; they happen here, and count as if they had waited.
    #[inline]
    pub(super) fn pass_on(&mut self) {
        if !self.is_instant || self.removed || !self.bus_is_next() {
            return self.drain();
        }
        let device_ps = self.device.next_deadline().unwrap_or(u64::MAX);
        let now_ps = self.now_ps;
        if device_ps <= now_ps {
            return self.drain();
        }
        while let Some(request) = self.device.front() {
            let does = match request {
                Outbound::DmaWrite { addr, payload, what } => {
                    self.counts.dma_write(payload.len());
                    self.mem.dma_write(*addr, payload, *what);
                    Does::Write
                }
                Outbound::DmaRead { tag, addr, len, what } => Does::Read(*tag, *addr, *len, *what),
                Outbound::Msix { vector } => Does::Raise(*vector),
            };
            self.device.front_done();
            match does {
                Does::Write => {}
                Does::Read(tag, addr, len, what) => {
                    self.counts.dma_read(len as usize);
                    self.read(now_ps, tag, addr, len, what);
                }
                Does::Raise(vector) if N::Device::OWNS_MSIX || self.msix.send(vector) => {
                    self.raise(vector);
                }
                Does::Raise(_) => continue,
            }
            self.count_step();
        }
        if !self.device.is_settled() {
            return self.drain();
        }
        (self.lane_ps, self.device_ps) = (u64::MAX, device_ps);
        self.device_moved();
    }

    /// Whether what the device sends now would be the next event, unless it does something else.
    #[inline]
    fn bus_is_next(&self) -> bool {
        let now_ps = self.now_ps;
        self.street.first_ps() > now_ps
            && self.to_host.is_empty()
            && self.starts.peek_time().is_none_or(|ps| ps >= now_ps)
            && self.stop_at_ps >= now_ps
    }

    /// Puts what the device asks for onto the bus, as far as its lane has room.
    pub fn drain(&mut self) {
        self.changed();
        self.lane_ps = u64::MAX;
        if self.removed {
            self.device_ps = u64::MAX;
            return;
        }
        loop {
            let free_ps = self.link.to_host_free_ps();
            if free_ps > self.now_ps.saturating_add(LANE_AHEAD_PS) && self.device.has_output() {
                self.lane_ps = free_ps - LANE_AHEAD_PS;
                break;
            }
            if !self.send() {
                break;
            }
        }
        self.device_ps = self.device.next_deadline().map_or(u64::MAX, |ps| ps.max(self.now_ps));
    }

    /// The device's next request goes onto the bus; false when there is none.
    fn send(&mut self) -> bool {
        if N::Device::KEEPS_REQUESTS {
            let Some(request) = self.device.depart() else { return false };
            let (at_ps, back_ps) = times(&mut self.link, &mut self.counts, self.now_ps, request);
            self.to_host.push(at_ps, back_ps, Outbound::default);
            return true;
        }
        let Some(request) = self.device.pop() else { return false };
        // The table of the bus may hold a message back.
        if let Outbound::Msix { vector } = request {
            if !N::Device::OWNS_MSIX && !self.msix.send(vector) {
                return true;
            }
        }
        let (at_ps, back_ps) = times(&mut self.link, &mut self.counts, self.now_ps, &request);
        self.to_host.push(at_ps, back_ps, || request);
        true
    }

    /// The next request reaches memory. It is looked at where it waits: a move costs as much as a
    /// write.
    #[inline]
    pub(super) fn arrive(&mut self) {
        let Some(crossing) = self.to_host.items.front() else { return };
        let keeps = N::Device::KEEPS_REQUESTS;
        let request = if keeps { self.device.on_bus() } else { Some(&crossing.request) };
        match request.unwrap_or(&crossing.request) {
            Outbound::DmaWrite { addr, payload, what } => {
                self.mem.dma_write(*addr, payload, *what);
            }
            &Outbound::DmaRead { tag, addr, len, what } => {
                let back_ps = crossing.back_ps;
                self.read(back_ps, tag, addr, len, what);
            }
            &Outbound::Msix { vector } => self.raise(vector),
        }
        self.to_host.drop_front();
        self.device.arrived();
    }

    /// Memory is read; the answer is back at `back_ps`.
    fn read(&mut self, back_ps: u64, tag: u32, addr: u64, len: u32, what: What) {
        self.changed();
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.resize(len as usize, 0);
        self.mem.dma_read(addr, &mut bytes, what);
        self.answers.push(back_ps, Answer { tag, bytes });
    }

    /// The device is told what it read.
    pub(super) fn answer(&mut self, answer: Answer) {
        self.device.set_time(self.now_ps);
        self.device.dma_complete(answer.tag, &answer.bytes);
        self.spare.push(answer.bytes);
    }

    /// Performs all that the device asked for, in no time.
    pub fn settle(&mut self) {
        loop {
            self.lane_ps = u64::MAX;
            while self.send() {}
            if self.to_host.is_empty() {
                break;
            }
            self.arrive();
            while let Some(answer) = self.answers.pop() {
                self.answer(answer);
                self.drain();
            }
        }
        self.link = Link::new(*self.link.params());
        self.drain();
    }

    /// Takes what the device wants to send, whatever its lane says: for a look at the end.
    pub fn take_all(&mut self) {
        while !self.removed && self.send() {}
    }
}
