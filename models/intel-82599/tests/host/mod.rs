//! A host in a few lines: memory as bytes, rings at fixed places, requests performed one by one.

pub mod sender;

use etherparse::PacketBuilder;
use pollproof_events::What;
use pollproof_intel_82599::{Intel82599, Misuse, Params};
use pollproof_pcie::Outbound;
use pollproof_regs::ixgbe::{fctrl, gpie, hlreg0, queue, rdma, tdma};
use pollproof_regs::ixgbe_desc::{build, dword, rx};
use pollproof_regs::ixgbe_map as map;
use pollproof_wire::Frame;

pub const MEM: usize = 1 << 22;
/// Rings of queue n, 64 KB apart.
pub const RX_RING: u64 = 0x1_0000;
pub const TX_RING: u64 = 0x8_0000;
/// Buffers.
pub const RX_BUF: u64 = 0x10_0000;
pub const TX_BUF: u64 = 0x30_0000;

/// The host.
pub struct Host {
    pub dev: Intel82599,
    pub mem: Vec<u8>,
    pub msix: Vec<u32>,
    /// What was written: kind, address, bytes.
    pub writes: Vec<(What, u64, usize)>,
    pub reads: Vec<(What, u64, u32)>,
    pub sent: Vec<Vec<u8>>,
    next: u64,
    pub rx_tail: [u32; 8],
    pub rx_next: [u32; 8],
    pub tx_tail: u32,
    /// Read completions that are not given yet, when they are to wait.
    pub hold_reads: bool,
    pub held: Vec<(u32, Vec<u8>)>,
}

/// A frame as the driver got it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Got {
    pub data: Vec<u8>,
    pub status: u32,
    pub identity: [u32; 2],
    pub vlan: u16,
    /// One for each descriptor: index and RSCCNT.
    pub chain: Vec<(u32, u32)>,
}

impl Host {
    pub fn new(params: Params) -> Self {
        let mut host = Self {
            dev: Intel82599::new(params),
            mem: vec![0; MEM],
            msix: vec![],
            writes: vec![],
            reads: vec![],
            sent: vec![],
            next: 0,
            rx_tail: [0; 8],
            rx_next: [0; 8],
            tx_tail: 0,
            hold_reads: false,
            held: vec![],
        };
        host.mem.iter_mut().enumerate().for_each(|(i, b)| *b = (i / 7) as u8);
        host
    }

    /// A device that receives all frames into `queues` rings of `size`, one vector each.
    pub fn receiving(params: Params, queues: u32, size: u32) -> Self {
        let mut host = Self::new(params);
        host.set(map::FCTRL, fctrl::UPE | fctrl::MPE | fctrl::BAM);
        host.set(map::RDRXCTL, rdma::CRCSTRIP);
        host.set(map::RXCSUM, 1 << 13);
        host.interrupts(queues);
        for n in 0..queues {
            host.start_rx(n, size);
        }
        host.set(map::RXCTRL, rdma::RXEN);
        host.run();
        host
    }

    /// As Linux has it: queue n on vector n, other causes on the next.
    pub fn interrupts(&mut self, queues: u32) {
        let msix = gpie::MSIX_MODE | gpie::OCD | gpie::EIAME | gpie::PBA_SUPPORT;
        self.set(map::GPIE, msix);
        for n in 0..queues.div_ceil(2) {
            let v = 0x80 + 2 * n;
            self.set(map::IVAR + 4 * n, v | v << 8 | (v + 1) << 16 | (v + 1) << 24);
        }
        self.set(map::IVAR_MISC, (0x80 | queues) << 8);
        self.set(map::EIAC, 0xffff);
        self.set(map::EIAM_EX, u32::MAX);
        self.get(map::EICR);
        self.set(map::EIMS, 0x7fff_0000);
        self.set(map::EIMS_EX, u32::MAX);
    }

    pub fn start_rx(&mut self, n: u32, size: u32) {
        let q = 0x40 * n;
        let base = RX_RING + 0x4000 * u64::from(n);
        self.put(base, &vec![0; 16 * size as usize]);
        self.set(map::RDBAL + q, base as u32);
        self.set(map::RDBAH + q, (base >> 32) as u32);
        self.set(map::RDLEN + q, 16 * size);
        self.set(map::RDH + q, 0);
        self.set(map::RDT + q, 0);
        self.set(map::SRRCTL + q, 2 | 4 << 8 | 1 << queue::DESCTYPE_SHIFT);
        let control = self.get(map::RXDCTL + q);
        self.set(map::RXDCTL + q, queue::ENABLE | control);
        (self.rx_tail[n as usize], self.rx_next[n as usize]) = (0, 0);
    }

    pub fn size(&mut self, n: u32) -> u32 {
        self.get(map::RDLEN + 0x40 * n) / 16
    }

    fn rx_at(&self, n: u32, index: u32) -> u64 {
        RX_RING + 0x4000 * u64::from(n) + 16 * u64::from(index)
    }

    pub fn buffer(&self, n: u32, index: u32) -> u64 {
        RX_BUF + 0x4_0000 * u64::from(n) + 0x800 * u64::from(index)
    }

    /// Posts `count` buffers.
    pub fn post(&mut self, n: u32, count: u32) {
        let size = self.size(n);
        for _ in 0..count {
            let index = self.rx_tail[n as usize];
            let buffer = self.buffer(n, index) as u32;
            let at = self.rx_at(n, index);
            self.put(at, &build([buffer, 0, 0, 0]));
            self.rx_tail[n as usize] = (index + 1) % size;
        }
        let tail = self.rx_tail[n as usize];
        self.set(map::RDT + 0x40 * n, tail);
    }

    /// The next frame of a ring, as Linux looks for it: length, then the chain.
    pub fn poll(&mut self, n: u32) -> Option<Got> {
        let size = self.size(n);
        let mut index = self.rx_next[n as usize];
        let mut got = Got { data: vec![], status: 0, identity: [0; 2], vlan: 0, chain: vec![] };
        loop {
            let d = self.descriptor(self.rx_at(n, index));
            let (status, len) = (dword(&d, 2), dword(&d, 3) & 0xffff);
            if len == 0 || status & rx::DD == 0 {
                return None;
            }
            let count = dword(&d, 0) >> rx::RSCCNT_SHIFT & rx::RSCCNT_MASK;
            let buffer = self.buffer(n, index) as usize;
            got.data.extend_from_slice(&self.mem[buffer..buffer + len as usize]);
            got.chain.push((index, count));
            if status & rx::EOP != 0 {
                got.status = status;
                got.identity = [dword(&d, 0), dword(&d, 1)];
                got.vlan = (dword(&d, 3) >> 16) as u16;
                break;
            }
            index = match count {
                0 => (index + 1) % size,
                _ => status >> rx::NEXTP_SHIFT & 0xffff,
            };
        }
        for &(index, _) in &got.chain {
            self.put(self.rx_at(n, index), &[0; 16]);
        }
        let next = got.chain.last().map_or(0, |c| c.0);
        self.rx_next[n as usize] = (next + 1) % size;
        Some(got)
    }

    pub fn poll_all(&mut self, n: u32) -> Vec<Got> {
        std::iter::from_fn(|| self.poll(n)).collect()
    }

    pub fn start_tx(&mut self, size: u32, txdctl: u32) {
        self.set(map::DMATXCTL, self.dev.peek(map::DMATXCTL) | tdma::TE);
        self.set(map::HLREG0, self.dev.peek(map::HLREG0) | hlreg0::JUMBOEN);
        self.set(map::MAXFRS, 9728 << 16);
        self.put(TX_RING, &vec![0; 16 * size as usize]);
        self.set(map::TDBAL, TX_RING as u32);
        self.set(map::TDLEN, 16 * size);
        self.set(map::TDH, 0);
        self.set(map::TDT, 0);
        self.set(map::TXDCTL, txdctl | queue::ENABLE);
        self.tx_tail = 0;
    }

    /// Writes transmit descriptors without telling the device.
    pub fn queue_tx(&mut self, descriptors: &[[u32; 4]]) {
        let size = self.dev.peek(map::TDLEN) / 16;
        for d in descriptors {
            self.put(TX_RING + 16 * u64::from(self.tx_tail), &build(*d));
            self.tx_tail = (self.tx_tail + 1) % size;
        }
    }

    pub fn kick(&mut self) {
        self.set(map::TDT, self.tx_tail);
    }

    pub fn tx_done(&self, index: u32) -> bool {
        dword(&self.descriptor(TX_RING + 16 * u64::from(index)), 3) & 1 != 0
    }

    pub fn descriptor(&self, at: u64) -> [u8; 16] {
        *self.mem[at as usize..].first_chunk().expect("memory")
    }

    pub fn put(&mut self, at: u64, bytes: &[u8]) {
        self.mem[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
    }

    pub fn get(&mut self, offset: u32) -> u32 {
        self.dev.mmio_read32(0, u64::from(offset))
    }

    pub fn set(&mut self, offset: u32, value: u32) {
        self.dev.mmio_write32(0, u64::from(offset), value);
    }

    pub fn frame(&mut self, bytes: &[u8]) {
        self.dev.rx_frame(Frame::new(self.next, bytes.into()));
        self.next += 1;
    }

    /// Performs one request; false when there is none.
    pub fn step(&mut self) -> bool {
        match self.dev.pop() {
            None => return false,
            Some(Outbound::DmaRead { tag, addr, len, what }) => {
                self.reads.push((what, addr, len));
                let at = (addr as usize).min(MEM);
                let bytes = self.mem[at..(at + len as usize).min(MEM)].to_vec();
                if self.hold_reads {
                    self.held.push((tag, bytes));
                } else {
                    self.dev.dma_complete(tag, &bytes);
                }
            }
            Some(Outbound::DmaWrite { addr, payload, what }) => {
                self.writes.push((what, addr, payload.len()));
                let at = addr as usize;
                if let Some(to) = self.mem.get_mut(at..at.saturating_add(payload.len())) {
                    to.copy_from_slice(&payload);
                }
            }
            Some(Outbound::Msix { vector }) => self.msix.push(vector),
        }
        true
    }

    /// Performs all that waits.
    pub fn run(&mut self) {
        loop {
            while self.step() {}
            let sent = std::iter::from_fn(|| self.dev.pop_frame());
            let before = self.sent.len();
            self.sent.extend(sent.map(|s| s.frame.bytes.to_vec()));
            if self.sent.len() == before && !self.dev.has_output() {
                return;
            }
        }
    }

    /// Lets time pass until `to_ps`, with all that is due in between.
    pub fn run_until(&mut self, to_ps: u64) {
        self.run();
        let mut steps = 0;
        while let Some(at) = self.dev.next_deadline().filter(|&at| at <= to_ps) {
            steps += 1;
            assert!(steps < 100_000, "time stands still at {at}");
            self.dev.set_time(at);
            self.dev.expire();
            self.run();
        }
        self.dev.set_time(to_ps);
        self.dev.expire();
        self.run();
    }

    pub fn misused(&self, kind: Misuse) -> u64 {
        self.dev.misuses().get(&kind).copied().unwrap_or(0)
    }
}

/// A TCP segment over IPv4: sequence number, flags by name, payload.
pub fn tcp(port: u16, seq: u32, psh: bool, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ethernet2([4; 6], [2; 6])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(port, 80, seq, 1000)
        .ack(77);
    let builder = if psh { builder.psh() } else { builder };
    builder.write(&mut bytes, payload).expect("a packet");
    bytes
}

/// A UDP datagram over IPv4.
pub fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    PacketBuilder::ethernet2([4; 6], [2; 6])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .udp(port, 80)
        .write(&mut bytes, payload)
        .expect("a packet");
    bytes
}
