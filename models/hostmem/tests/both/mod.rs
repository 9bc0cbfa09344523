//! One sequence of operations on both memories, whose results and events must agree.

use pollproof_events::{record, Event, What};
use pollproof_hostmem::{AreaLayout, Config, HostMem, SharedMem};
use std::panic::Location;
use std::sync::atomic::Ordering;

/// An operation; buffers and areas are named by the order of their allocation.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    AllocBuf,
    FreeBuf(usize),
    Map(usize),
    Unmap(usize),
    HandUp(usize),
    ReadBuf(usize, usize, usize),
    DeviceWrite(usize, usize, usize),
    DeviceRead(usize, usize, usize),
    AllocArea(usize),
    FreeArea(usize),
    Load(usize, usize),
    Store(usize, usize, u32),
    Read(usize, usize),
    Write(usize, usize, u32),
    DmaWrite(usize, usize, usize),
    DmaRead(usize, usize, usize),
    Wild(u64),
}

/// A layout like that of a CQ: the last word of 32 bytes is marked.
pub fn layout() -> AreaLayout {
    AreaLayout { name: "cq", rule: "CQE-ORDER", stride_bytes: 32, marked: 1 << 7 }
}

/// Both memories and what was allocated in them.
pub struct Both {
    pub host: HostMem,
    pub shared: SharedMem,
    bufs: Vec<u64>,
    areas: Vec<u64>,
    salt: u8,
}

const RELAXED: Ordering = Ordering::Relaxed;

impl Both {
    pub fn new(config: Config) -> Self {
        let shared = SharedMem::new(config);
        Self { host: HostMem::new(config), shared, bufs: vec![], areas: vec![], salt: 0 }
    }

    /// Runs `ops` and gives the events; panics where the memories differ.
    pub fn run(&mut self, ops: &[Op]) -> Vec<Event> {
        let mut all = Vec::new();
        for &op in ops {
            self.salt = self.salt.wrapping_add(1);
            let (one, events) = record(|| self.on_host(op));
            let (other, others) = record(|| self.on_shared(op));
            assert_eq!(one, other, "{op:?}");
            let events: Vec<_> = events.iter().map(|r| r.event).collect();
            let others: Vec<_> = others.iter().map(|r| r.event).collect();
            assert_eq!(events, others, "{op:?}");
            assert_eq!(self.host.counters(), self.shared.counters(), "{op:?}");
            match (op, one.first_chunk()) {
                (Op::AllocBuf, Some(addr)) => self.bufs.push(u64::from_le_bytes(*addr)),
                (Op::AllocArea(_), Some(addr)) => self.areas.push(u64::from_le_bytes(*addr)),
                _ => {}
            }
            all.extend(events);
        }
        all
    }

    fn buf(&self, n: usize) -> u64 {
        self.bufs.get(n % self.bufs.len().max(1)).copied().unwrap_or(3)
    }

    fn area(&self, n: usize) -> u64 {
        self.areas.get(n % self.areas.len().max(1)).copied().unwrap_or(4)
    }

    fn data(&self, len: usize) -> Vec<u8> {
        (0..len).map(|i| (i as u8) ^ self.salt).collect()
    }

    fn on_host(&mut self, op: Op) -> Vec<u8> {
        let mem = &mut self.host;
        let none = vec![];
        match op {
            Op::AllocBuf => mem.alloc_buf().map_or(none, |a| a.to_le_bytes().to_vec()),
            Op::AllocArea(len) => {
                mem.alloc_coherent(len, layout()).map_or(none, |a| a.to_le_bytes().to_vec())
            }
            _ => self.on_host_more(op),
        }
    }

    fn on_host_more(&mut self, op: Op) -> Vec<u8> {
        let (buf, area) = (|n| self.buf(n), |n, o| self.area(n) + o as u64);
        let mut out = vec![];
        match op {
            Op::FreeBuf(n) => self.host.free_buf(buf(n)),
            Op::Map(n) => self.host.map_buf(buf(n)),
            Op::Unmap(n) => self.host.unmap_buf(buf(n)),
            Op::HandUp(n) => self.host.hand_up(buf(n)),
            Op::ReadBuf(n, offset, len) => {
                out = vec![9; len];
                self.host.read_buf(buf(n), offset, &mut out);
            }
            Op::DeviceWrite(n, o, len) => {
                let (to, data) = (buf(n) + o as u64, self.data(len));
                out.push(self.host.dma_write(to, &data, What::Data).into());
            }
            Op::DeviceRead(n, o, len) => {
                out = vec![9; len];
                let from = buf(n) + o as u64;
                let done = self.host.dma_read(from, &mut out, What::Data);
                out.push(done.into());
            }
            Op::FreeArea(n) => self.host.free_coherent(area(n, 0)),
            Op::Load(n, o) => out.extend(self.host.load32(area(n, o), RELAXED).to_le_bytes()),
            Op::Store(n, o, value) => self.host.store32(area(n, o), value, RELAXED),
            Op::Read(n, o) => out.extend(self.host.read32(area(n, o)).to_le_bytes()),
            Op::Write(n, o, value) => self.host.write32(area(n, o), value),
            Op::DmaWrite(n, o, len) => {
                let (to, data) = (area(n, o), self.data(len));
                out.push(self.host.dma_write(to, &data, What::Cqe).into());
            }
            Op::DmaRead(n, o, len) => {
                out = vec![9; len];
                let done = self.host.dma_read(area(n, o), &mut out, What::Cqe);
                out.push(done.into());
            }
            Op::Wild(addr) => {
                out.push(self.host.dma_write(addr, &[1; 8], What::Data).into());
                out.extend(self.host.read32(addr).to_le_bytes());
                self.host.map_buf(addr);
                self.host.free_coherent(addr);
            }
            Op::AllocBuf | Op::AllocArea(_) => {}
        }
        out
    }

    fn on_shared(&self, op: Op) -> Vec<u8> {
        let at = Location::caller();
        let mem = &self.shared;
        let (buf, area) = (|n| self.buf(n), |n, o| self.area(n) + o as u64);
        let mut out = vec![];
        match op {
            Op::AllocBuf => out.extend(mem.alloc_buf().into_iter().flat_map(u64::to_le_bytes)),
            Op::AllocArea(len) => {
                let addr = mem.alloc_coherent(len, layout());
                out.extend(addr.into_iter().flat_map(u64::to_le_bytes));
            }
            Op::FreeBuf(n) => mem.free_buf(buf(n)),
            Op::Map(n) => mem.map_buf(buf(n)),
            Op::Unmap(n) => mem.unmap_buf(buf(n)),
            Op::HandUp(n) => mem.hand_up(buf(n)),
            Op::ReadBuf(n, offset, len) => {
                out = vec![9; len];
                mem.read_buf(buf(n), offset, &mut out);
            }
            Op::DeviceWrite(n, o, len) => {
                let to = buf(n) + o as u64;
                out.push(mem.dma_write(to, &self.data(len), What::Data).into());
            }
            Op::DeviceRead(n, o, len) => {
                out = vec![9; len];
                let done = mem.dma_read(buf(n) + o as u64, &mut out, What::Data);
                out.push(done.into());
            }
            Op::FreeArea(n) => mem.free_coherent(area(n, 0)),
            Op::Load(n, o) => out.extend(mem.load32(area(n, o), RELAXED, at).to_le_bytes()),
            Op::Store(n, o, value) => mem.store32(area(n, o), value, RELAXED, at),
            Op::Read(n, o) => out.extend(mem.read32(area(n, o), at).to_le_bytes()),
            Op::Write(n, o, value) => mem.write32(area(n, o), value, at),
            Op::DmaWrite(n, o, len) => {
                out.push(mem.dma_write(area(n, o), &self.data(len), What::Cqe).into());
            }
            Op::DmaRead(n, o, len) => {
                out = vec![9; len];
                let done = mem.dma_read(area(n, o), &mut out, What::Cqe);
                out.push(done.into());
            }
            Op::Wild(addr) => {
                out.push(mem.dma_write(addr, &[1; 8], What::Data).into());
                out.extend(mem.read32(addr, at).to_le_bytes());
                mem.map_buf(addr);
                mem.free_coherent(addr);
            }
        }
        out
    }
}
