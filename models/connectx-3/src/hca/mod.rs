//! The whole PCI function: firmware commands, context memory, translation, queue pairs, port and
//! MSI-X around the engines of [`ConnectX3`].
//!
//! What the engines want from the bus leaves through [`Hca::pop`], translated from the buffers that
//! contexts name to pages. Commands that are not modelled are answered with status 2 (bad
//! operation) and told by [`Hca::not_modelled`].
//!
//! Sources: Linux 6.12 `drivers/net/ethernet/mellanox/mlx4` for what a driver relies on; layouts in
//! `pollproof_regs::mlx4_hca`. Assumed, where neither says it: a command takes no time of its own
//! besides its DMA; a read of the command register waits until the command is done; translation
//! entries are read when a queue is made, and not again.
//!
//! Not modelled: SR-IOV, InfiniBand, SRQ, memory keys (a key is identity), steering but for MAC
//! tables (A0), BlueFlame, VLAN insertion and filters, EQ and CQ queries, flow control, times.

mod bytes;
mod caps;
mod firmware;
mod frame;
mod hcr;
mod icm;
mod port;
mod queues;
mod send;
mod wqe;

pub use port::MULTICAST_MAX;

use crate::out::Read;
use crate::{ConnectX3, Params, Stats};
use hcr::Hcr;
use icm::Icm;
use pollproof_pcie::{MsixBar, Outbound};
use pollproof_regs::mlx4::BAR_UAR;
use pollproof_regs::mlx4_hca::{control, pci, SEND_DOORBELL};
use pollproof_wire::Frame;
use port::Port;
use queues::Qp;
use send::SendQueue;
use std::collections::{BTreeMap, VecDeque};

/// What can be chosen about the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HcaParams {
    /// The engines.
    pub engine: Params,
    /// Address of the port.
    pub mac: [u8; 6],
    /// CLOSE_PORT tells by event that the link went down. Whether firmware does so is not known.
    pub close_tells: bool,
}

impl HcaParams {
    /// A board with this address. Completion events take a microsecond: one that came at once would
    /// keep a driver that arms in its interrupt handler there for ever.
    pub fn new(mac: [u8; 6]) -> Self {
        let engine = Params { uar_pages: 256, event_delay_ps: 1_000_000, ..Params::default() };
        Self { engine, mac, close_tells: false }
    }
}

/// What reads of memory beside those of the engines are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The input mailbox of the command that runs.
    Mailbox,
    /// Translation entries of that command, from this byte on.
    Mtt(u32),
    /// A piece of a send WQE, from this byte on.
    Wqe { qpn: u32, at: u32 },
    /// A piece of a frame, from this byte on.
    Data { qpn: u32, at: u32 },
}

/// A ConnectX-3 with one Ethernet port. See the crate for how it is driven.
pub struct Hca {
    params: HcaParams,
    engine: ConnectX3,
    hcr: Hcr,
    icm: Icm,
    msix: MsixBar,
    port: Port,
    qps: BTreeMap<u32, Qp>,
    sends: BTreeMap<u32, SendQueue>,
    /// EQ of each type of asynchronous event.
    event_eqs: [Option<u32>; 64],
    /// Frames for the wire.
    wire: VecDeque<Vec<u8>>,
    wire_number: u64,
    /// A driver has the function.
    owned: bool,
    /// Where translation entries begin in context memory.
    mtt_base: u64,
    hung: bool,
    resets: u64,
    not_modelled: BTreeMap<u32, Option<&'static str>>,
}

impl Hca {
    /// A function as after power on.
    pub fn new(params: HcaParams) -> Self {
        let mut hca = Self {
            params,
            engine: ConnectX3::new(params.engine),
            hcr: Hcr::default(),
            icm: Icm::default(),
            msix: MsixBar::new(pci::VECTORS, pci::MSIX_PBA - pci::MSIX_TABLE, true),
            port: Port::new(params.mac),
            qps: BTreeMap::new(),
            sends: BTreeMap::new(),
            event_eqs: [None; 64],
            wire: VecDeque::new(),
            wire_number: 0,
            owned: false,
            mtt_base: 0,
            hung: false,
            resets: 0,
            not_modelled: BTreeMap::new(),
        };
        hca.msix.control(false, false);
        hca
    }

    /// Resets everything; what is counted and the cable stay.
    pub fn reset(&mut self) {
        let (now_ps, stats) = (self.engine.now_ps, self.engine.stats);
        let (cable, resets) = (self.port.cable, self.resets + 1);
        let not_modelled = std::mem::take(&mut self.not_modelled);
        *self = Self { resets, not_modelled, ..Self::new(self.params) };
        (self.engine.now_ps, self.engine.stats) = (now_ps, stats);
        self.port.cable = cable;
    }

    /// Parameters.
    pub fn params(&self) -> &HcaParams {
        &self.params
    }

    /// Tells the time; it never goes back.
    pub fn set_time(&mut self, now_ps: u64) {
        self.engine.set_time(now_ps);
    }

    /// When it next does something by itself.
    pub fn next_deadline(&self) -> Option<u64> {
        self.engine.next_deadline()
    }

    /// Does what is due.
    pub fn expire(&mut self) {
        self.engine.expire();
    }

    /// The next request to the bus. A message that the table holds back is none.
    pub fn pop(&mut self) -> Option<Outbound> {
        loop {
            if let Some(part) = self.icm.next_part() {
                return Some(part);
            }
            let request = self.engine.pop()?;
            self.left_for_bus();
            match request {
                Outbound::Msix { vector } if !self.msix.send(vector) => {}
                Outbound::Msix { .. } => return Some(request),
                request => match self.icm.translate(request) {
                    Ok(request) => return Some(request),
                    Err(at) => self.engine.misuse("address behind the end of a buffer", at),
                },
            }
        }
    }

    /// Whether a request waits for the bus.
    pub fn has_output(&self) -> bool {
        self.engine.has_output() || self.icm.has_parts()
    }

    /// A DMA read is answered.
    pub fn dma_complete(&mut self, tag: u32, bytes: &[u8]) {
        let Some((tag, bytes)) = self.icm.join(tag, bytes) else { return };
        match self.engine.out.peek_read(tag) {
            Some(Read::Hca(purpose)) => {
                self.engine.out.take_read(tag);
                match purpose {
                    Purpose::Mailbox => self.mailbox_read(&bytes),
                    Purpose::Mtt(at) => self.mtt_read(at, &bytes),
                    Purpose::Wqe { qpn, at } => self.wqe_read(qpn, at, &bytes),
                    Purpose::Data { qpn, at } => self.data_read(qpn, at, &bytes),
                }
            }
            _ => self.engine.dma_complete(tag, &bytes),
        }
        self.send_all();
    }

    /// The answer to the next command that is reported by event is lost.
    pub fn lose_answer(&mut self) {
        self.hcr.loses = true;
    }

    /// A frame reaches the port. One that is too short was padded by its sender's MAC; captures
    /// that were made there hold it unpadded.
    pub fn rx_frame(&mut self, mut frame: Frame) {
        if (14..SHORTEST).contains(&frame.bytes.len()) {
            let mut bytes = frame.bytes.to_vec();
            bytes.resize(SHORTEST, 0);
            frame.bytes = bytes.into();
        }
        if self.port.takes(&frame.bytes) {
            self.engine.rx_frame(frame);
        } else {
            self.port.filtered += 1;
        }
    }

    /// The next frame that it sent.
    pub fn pop_frame(&mut self) -> Option<Vec<u8>> {
        self.wire.pop_front()
    }

    /// A dword of a BAR is read.
    pub fn mmio_read32(&mut self, bar: u8, offset: u64) -> u32 {
        let table = u64::from(pci::MSIX_TABLE)..u64::from(pci::MSIX_PBA + pci::VECTORS / 8);
        match (bar, offset) {
            (pci::BAR_CONTROL, at) if table.contains(&at) => {
                self.msix.read((at - table.start) as u32)
            }
            (pci::BAR_CONTROL, control::HCR..=control::HCR_LAST) => {
                self.hcr.read(offset).swap_bytes()
            }
            (pci::BAR_CONTROL, control::OWNER) => {
                u32::from(std::mem::replace(&mut self.owned, true)).swap_bytes()
            }
            (pci::BAR_CONTROL, control::RESET_SEMAPHORE | control::CLEAR_INT) => 0,
            (pci::BAR_CONTROL, at) if (control::CATAS..).contains(&at) && at < CATAS_END => {
                u32::from(self.port.catas && at == control::CATAS).swap_bytes()
            }
            _ => {
                self.not_modelled.entry(offset as u32).or_default();
                0
            }
        }
    }

    /// A dword of a BAR is written: as it lies on the bus, read little endian.
    pub fn mmio_write32(&mut self, bar: u8, offset: u64, value: u32) {
        let table = u64::from(pci::MSIX_TABLE)..u64::from(pci::MSIX_PBA);
        match (bar, offset) {
            (pci::BAR_CONTROL, at) if table.contains(&at) => {
                if let Some(vector) = self.msix.write((at - table.start) as u32, value) {
                    self.engine.out.msix(vector);
                }
            }
            (pci::BAR_CONTROL, control::HCR..=control::HCR_LAST) => {
                self.hcr_write(offset, value.swap_bytes());
            }
            (pci::BAR_CONTROL, control::OWNER) => self.owned = value != 0,
            (pci::BAR_CONTROL, control::RESET) if value.swap_bytes() & 1 != 0 => self.reset(),
            (pci::BAR_CONTROL, control::RESET_SEMAPHORE | control::CLEAR_INT) => {}
            (BAR_UAR, at) if at % 4096 == SEND_DOORBELL => {
                self.send_doorbell(value.swap_bytes() >> 8);
            }
            (BAR_UAR, _) => self.engine.mmio_write32(bar, offset, value),
            _ => {
                self.not_modelled.entry(offset as u32).or_default();
            }
        }
        self.send_all();
    }

    /// Eight bytes of a BAR are written at once.
    pub fn mmio_write64(&mut self, bar: u8, offset: u64, value: u64) {
        if bar == BAR_UAR {
            self.engine.mmio_write64(bar, offset, value);
            return self.send_all();
        }
        self.mmio_write32(bar, offset, value as u32);
        self.mmio_write32(bar, offset.wrapping_add(4), (value >> 32) as u32);
    }

    /// Whether the answer to a read of this register waits for a command.
    pub fn stalls_read(&self, bar: u8, offset: u64) -> bool {
        bar == pci::BAR_CONTROL && offset == control::HCR_LAST && self.hcr.is_busy()
    }

    /// Message control of MSI-X.
    pub fn set_msix_control(&mut self, enabled: bool, function_mask: bool) {
        for vector in self.msix.control(enabled, function_mask) {
            self.engine.out.msix(vector);
        }
    }

    /// Address and data of a vector's message.
    pub fn msix_message(&self, vector: u32) -> Option<(u64, u32)> {
        self.msix.message(vector)
    }

    /// Sending stops until the function is reset.
    pub fn hold_transmit(&mut self) {
        self.hung = true;
    }

    /// The buffer of catastrophic errors is filled, as by firmware that gave up.
    pub fn fail(&mut self) {
        self.port.catas = true;
    }

    /// Whether frames that come now reach a queue.
    pub fn is_receiving(&self) -> bool {
        self.port.is_up() && (self.engine.default_rqn.is_some() || self.engine.rss.is_some())
    }

    /// Frames inside it.
    pub fn held(&self) -> u64 {
        self.engine.held()
    }

    /// What was counted.
    pub fn stats(&self) -> &Stats {
        self.engine.stats()
    }

    /// Frames that no address of the port's tables wanted, and frames sent.
    pub fn port_counts(&self) -> (u64, u64) {
        (self.port.filtered, self.wire_number)
    }

    /// How often it was reset.
    pub fn resets(&self) -> u64 {
        self.resets
    }

    /// Registers and opcodes (behind `0x1000_0000`) that were asked for and are not modelled.
    pub fn not_modelled(&self) -> &BTreeMap<u32, Option<&'static str>> {
        &self.not_modelled
    }
}

/// Shortest frame without FCS.
const SHORTEST: usize = 60;
const CATAS_END: u64 = control::CATAS + control::CATAS_BYTES;
