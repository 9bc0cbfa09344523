//! A host with memory, and as much of a driver as brings a port up.

use pollproof_connectx_3::{Hca, HcaParams};
use pollproof_events::{record, Event};
use pollproof_pcie::Outbound;
use pollproof_regs::mlx4_hca::{control, cqc, eqc, op, pci, qpc, set_port, SEND_DOORBELL};
use std::collections::{BTreeMap, VecDeque};

pub const EQN: u32 = 4;
pub const CQ_RX: u32 = 8;
pub const CQ_TX: u32 = 9;
pub const QPN: u32 = 0x40;

const MAILBOX: u64 = 0x8000;
const ICM: u64 = 0x1_0000;
const ICM_VA: u64 = 0x7000_0000;
/// Each queue has pages of its own, behind each other in the tables and apart in memory.
const PAGES: u64 = 0x10_0000;
const RECORDS: u64 = 0x2000;
const BUFFERS: u64 = 0x80_0000;
const LOG_EQ: u32 = 8;
const LOG_CQ: u32 = 8;
const LOG_SQ: u32 = 5;
const LOG_RQ: u32 = 8;
/// Receive WQEs of one segment: 16 bytes, behind the sends as the smaller stride.
const RQ_AT: u64 = 64 << LOG_SQ;
const TOKEN: u32 = 0x1234;

/// A read that the device waits for.
#[derive(Clone, Copy, Debug)]
pub struct DmaRead {
    pub tag: u32,
    pub addr: u64,
    pub len: u32,
}

pub struct Driver {
    pub hca: Hca,
    pub mac: [u8; 6],
    memory: BTreeMap<u64, u8>,
    reads: VecDeque<DmaRead>,
    toggle: bool,
    eq_ci: u32,
    posted: u16,
    sent: u32,
    tx_ci: u32,
}

impl Driver {
    pub fn new() -> Self {
        let mac = [2, 0, 0, 0, 0, 1];
        let mut hca = Hca::new(HcaParams::new(mac));
        hca.set_msix_control(true, false);
        let (memory, reads) = (BTreeMap::new(), VecDeque::new());
        let (toggle, eq_ci, posted, sent, tx_ci) = (true, 0, 0, 0, 0);
        Self { hca, mac, memory, reads, toggle, eq_ci, posted, sent, tx_ci }
    }

    pub fn memory(&self, addr: u64, len: u32) -> Vec<u8> {
        (0..u64::from(len)).map(|at| self.memory.get(&(addr + at)).copied().unwrap_or(0)).collect()
    }

    fn store(&mut self, addr: u64, bytes: &[u8]) {
        self.memory.extend((addr..).zip(bytes.iter().copied()));
    }

    /// A page of a queue: not beside the one before.
    fn page(queue: u64, n: u64) -> u64 {
        PAGES + queue * 0x4_0000 + n * 0x2000
    }

    fn place(queue: u64, at: u64) -> u64 {
        Self::page(queue, at >> 12) + (at & 0xfff)
    }

    /// The device goes on by one request or answer; false when it waits for us.
    pub fn step(&mut self) -> bool {
        match self.hca.pop() {
            Some(Outbound::DmaWrite { addr, payload, .. }) => self.store(addr, &payload),
            Some(Outbound::DmaRead { tag, addr, len, .. }) => {
                self.reads.push_back(DmaRead { tag, addr, len });
            }
            Some(Outbound::Msix { .. }) => {}
            None => match self.reads.pop_front() {
                Some(read) => {
                    let bytes = self.memory(read.addr, read.len);
                    self.hca.dma_complete(read.tag, &bytes);
                }
                None => return self.wait(),
            },
        }
        true
    }

    fn wait(&mut self) -> bool {
        let Some(at_ps) = self.hca.next_deadline() else { return false };
        self.hca.set_time(at_ps);
        self.hca.expire();
        true
    }

    pub fn settle(&mut self) {
        while self.step() {}
    }

    /// The device goes on until it waits for memory; the read, which stays unanswered.
    pub fn take_read(&mut self) -> Option<DmaRead> {
        while self.reads.is_empty() && self.step() {}
        self.reads.pop_front()
    }

    pub fn last_word(&mut self) -> u32 {
        self.hca.mmio_read32(pci::BAR_CONTROL, control::HCR_LAST).swap_bytes()
    }

    pub fn post(&mut self, opcode: u32, modifier: u32, input: u64, output: u64, by_event: bool) {
        let opmod = match opcode {
            op::SET_PORT | op::MODIFY_CQ => 1,
            op::TO_RST_QP => 2,
            _ => 0,
        };
        let event = if by_event { control::EVENT } else { 0 };
        let toggle = if self.toggle { control::TOGGLE } else { 0 };
        let last = control::GO | event | toggle | opmod << 12 | opcode;
        let [in_high, out_high] = [input, output].map(|param| (param >> 32) as u32);
        let token = TOKEN << 16;
        let words = [in_high, input as u32, modifier, out_high, output as u32, token, last];
        for (at, word) in (control::HCR..).step_by(4).zip(words) {
            self.hca.mmio_write32(pci::BAR_CONTROL, at, word.swap_bytes());
        }
    }

    /// Status of a command by register.
    pub fn command(&mut self, opcode: u32, modifier: u32, input: u64, output: u64) -> u32 {
        self.post(opcode, modifier, input, output, false);
        self.settle();
        self.last_word() >> control::STATUS_SHIFT
    }

    pub fn query(&mut self, opcode: u32, modifier: u32) -> Vec<u8> {
        assert_eq!(self.command(opcode, modifier, 0, 0x9000), 0);
        self.memory(0x9000, 4096)
    }

    fn with_mailbox(&mut self, opcode: u32, modifier: u32, fields: &[(usize, &[u8])]) -> u32 {
        self.store(MAILBOX, &[0; 4096]);
        fields.iter().for_each(|(at, bytes)| self.store(MAILBOX + *at as u64, bytes));
        self.command(opcode, modifier, MAILBOX, 0)
    }

    /// Byte offset of a queue's entries, as a context holds it.
    fn mtt(queue: u64) -> [u8; 5] {
        let [_, _, _, bytes @ ..] = (queue * 512).to_be_bytes();
        bytes
    }

    /// Context memory, one EQ for everything, two CQs, a queue pair, the port.
    pub fn bring_up(&mut self) {
        let pair = [ICM_VA.to_be_bytes(), ICM.to_be_bytes()].concat();
        assert_eq!(self.with_mailbox(op::MAP_ICM, 1, &[(0, &pair)]), 0);
        assert_eq!(self.with_mailbox(op::INIT_HCA, 0, &[(0x100, &ICM_VA.to_be_bytes())]), 0);
        for queue in 0..4 {
            for n in 0..64 {
                let entry = (Self::page(queue, n) | 1).to_be_bytes();
                self.store(ICM + queue * 512 + n * 8, &entry);
            }
        }
        let size = [LOG_EQ as u8];
        let fields: [(usize, &[u8]); 2] = [(eqc::LOG_SIZE, &size), (eqc::MTT, &Self::mtt(0))];
        assert_eq!(self.with_mailbox(op::SW2HW_EQ, EQN, &fields), 0);
        assert_eq!(self.command(op::MAP_EQ, EQN, u64::MAX, 0), 0);
        for (n, cqn) in [(1, CQ_RX), (2, CQ_TX)] {
            let fields: [(usize, &[u8]); 4] = [
                (eqc::LOG_SIZE, &[LOG_CQ as u8]),
                (eqc::MTT, &Self::mtt(n)),
                (cqc::EQN, &[EQN as u8]),
                (cqc::DB_RECORD, &(RECORDS + 16 * n).to_be_bytes()),
            ];
            assert_eq!(self.with_mailbox(op::SW2HW_CQ, cqn, &fields), 0);
        }
        assert_eq!(self.make_qp(), 0);
        let mac = self.mac.iter().fold(1_u64 << 63, |mac, b| mac | u64::from(*b));
        let mac = (mac & (1 << 63)) | self.mac.iter().fold(0, |m, b| m << 8 | u64::from(*b));
        let port = |part: u32| part << 8 | 1;
        let table: [(usize, &[u8]); 1] = [(0, &mac.to_be_bytes())];
        assert_eq!(self.with_mailbox(op::SET_PORT, port(set_port::MAC_TABLE), &table), 0);
        let base: [(usize, &[u8]); 1] = [(0, &QPN.to_be_bytes())];
        assert_eq!(self.with_mailbox(op::SET_PORT, port(set_port::RQP_CALC), &base), 0);
        assert_eq!(self.command(op::INIT_PORT, 1, 0, 0), 0);
        while self.take_eqe().is_some() {}
    }

    /// A queue pair through its states; status of the first command that fails.
    pub fn make_qp(&mut self) -> u32 {
        self.store(Self::page(3, 0), &[0xff; 64 << LOG_SQ]);
        let rq = [(LOG_RQ << 3) as u8];
        let sq = [(LOG_SQ << 3) as u8 | 2];
        let fields: [(usize, &[u8]); 6] = [
            (8 + qpc::RQ_SIZE_STRIDE, &rq),
            (8 + qpc::SQ_SIZE_STRIDE, &sq),
            (8 + qpc::CQN_SEND, &CQ_TX.to_be_bytes()),
            (8 + qpc::CQN_RECV, &CQ_RX.to_be_bytes()),
            (8 + qpc::DB_RECORD, &RECORDS.to_be_bytes()),
            (8 + qpc::MTT, &Self::mtt(3)),
        ];
        for opcode in [op::RST2INIT_QP, op::INIT2RTR_QP, op::RTR2RTS_QP] {
            let status = self.with_mailbox(opcode, QPN, &fields);
            if status != 0 {
                return status;
            }
        }
        0
    }

    pub fn clear_mtts(&mut self) {
        self.store(ICM, &[0; 4096]);
    }

    pub fn take_eqe(&mut self) -> Option<Vec<u8>> {
        let at = u64::from(self.eq_ci % (1 << LOG_EQ)) * 32;
        let eqe = self.memory(Self::place(0, at), 32);
        let lap = self.eq_ci >> LOG_EQ & 1;
        (u32::from(eqe[31] >> 7) == lap).then(|| {
            self.eq_ci += 1;
            eqe
        })
    }

    /// Entries of a CQ on its first lap that are the driver's.
    pub fn cqes(&self, cqn: u32) -> usize {
        let queue = u64::from(cqn - CQ_RX) + 1;
        let owner = |n: u64| self.memory(Self::place(queue, 32 * n + 31), 1)[0] >> 7;
        (0..1 << LOG_CQ).filter(|n| owner(*n) == 0).count()
    }

    /// The completions of sends are seen: their consumer index goes up.
    pub fn consume_tx(&mut self) {
        self.tx_ci += 1;
        self.store(RECORDS + 32, &self.tx_ci.to_be_bytes());
    }

    pub fn post_receive(&mut self, count: u16) {
        for _ in 0..count {
            let n = u64::from(self.posted % (1 << LOG_RQ));
            let addr = (BUFFERS + n * 2048).to_be_bytes();
            let segment = [&2048_u32.to_be_bytes()[..], &[0, 0, 0x10, 0], &addr].concat();
            self.store(Self::place(3, RQ_AT + 16 * n), &segment);
            self.posted += 1;
        }
        self.store(RECORDS, &u32::from(self.posted).to_be_bytes());
    }

    /// What lies in the n-th receive buffer.
    pub fn received(&self, n: u32) -> Vec<u8> {
        self.memory(BUFFERS + u64::from(n) * 2048, 60)
    }

    /// A packet of one segment in memory, one unit of the ring.
    pub fn send(&mut self, bytes: &[u8]) {
        let n = u64::from(self.sent % (1 << LOG_SQ));
        let data = BUFFERS + 0x10_0000 + n * 2048;
        self.store(data, bytes);
        let owner = (self.sent >> LOG_SQ & 1) << 31;
        let words = [owner | 0x0a, 2, 0xc, 0, bytes.len() as u32, 0x1000, 0, data as u32];
        let wqe: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        self.store(Self::place(3, 64 * n), &wqe);
        self.sent += 1;
    }

    pub fn doorbell(&mut self) {
        self.hca.mmio_write32(2, 129 * 4096 + SEND_DOORBELL, (QPN << 8).swap_bytes());
    }

    /// How often the device complains meanwhile.
    pub fn misuses(&mut self, body: impl FnOnce(&mut Self)) -> usize {
        let (_, events) = record(|| body(self));
        events.iter().filter(|r| matches!(r.event, Event::DeviceMisuse { .. })).count()
    }
}
