//! Send queues: doorbell, WQE by WQE while they are the device's, gather, frame, completion.
//!
//! One WQE of a queue at a time. The owner bit of the first word is compared with the lap
//! (`en_tx.c` writes it last). Not modelled: the wire's rate, prefetch, error completions.

use super::wqe::{bytes_of, parse, Piece, Wqe};
use super::{frame, Hca, Purpose};
use crate::cq::{Completion, Room};
use crate::out::Read;
use pollproof_events::What;
use pollproof_regs::mlx4_hca::sq;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    /// Its WQE is read: bytes, and how many are missing.
    Fetch(Vec<u8>, u32),
    /// Its data is read.
    Gather(Wqe, Vec<u8>, u32),
    /// It is sent and waits for room in the CQ.
    Report(u32),
}

/// The send queue of a pair.
#[derive(Clone, Debug)]
pub(super) struct SendQueue {
    buf: u64,
    log_size: u32,
    cqn: u32,
    /// Free-running index of the next WQE, in units of 64 bytes.
    next: u32,
    /// Units of the WQE at hand.
    units: u32,
    enabled: bool,
    /// There may be a WQE at `next` that was not looked at.
    rung: bool,
    stage: Stage,
}

impl SendQueue {
    pub fn new(buf: u64, log_size: u32, cqn: u32) -> Self {
        let stage = Stage::Idle;
        Self { buf, log_size, cqn, next: 0, units: 1, enabled: false, rung: false, stage }
    }

    pub fn enable(&mut self) {
        self.enabled = true;
    }

    fn mask(&self) -> u32 {
        (1 << self.log_size) - 1
    }

    fn place(&self, units_on: u32) -> u64 {
        let at = self.next.wrapping_add(units_on) & self.mask();
        self.buf + u64::from(at) * u64::from(sq::TXBB_BYTES)
    }

    /// Whether the first word says that the WQE is the device's.
    fn is_ours(&self, word: u32) -> bool {
        (word & sq::OWNER != 0) == (self.next >> self.log_size & 1 != 0)
    }
}

impl Hca {
    pub(super) fn send_doorbell(&mut self, qpn: u32) {
        match self.sends.get_mut(&qpn) {
            Some(queue) if queue.enabled => queue.rung = true,
            _ => self.engine.misuse("send doorbell of a queue pair that can not send", qpn.into()),
        }
    }

    /// Every queue goes on as far as it can.
    pub(super) fn send_all(&mut self) {
        // By number, without a list of them: this is behind each answer and register write.
        let mut from = 0;
        while let Some(qpn) = self.sends.range(from..).next().map(|(qpn, _)| *qpn) {
            self.send_next(qpn);
            from = qpn + 1;
        }
        self.left_for_bus();
    }

    fn send_next(&mut self, qpn: u32) {
        let Some(queue) = self.sends.get_mut(&qpn) else { return };
        match queue.stage {
            Stage::Idle if queue.rung && !self.hung => {
                // A doorbell from here on is for what this look may be too early for.
                queue.rung = false;
                queue.stage = Stage::Fetch(Vec::new(), sq::TXBB_BYTES);
                let purpose = Read::Hca(Purpose::Wqe { qpn, at: 0 });
                self.engine.out.read(queue.place(0), sq::TXBB_BYTES, What::Wqe, purpose);
            }
            Stage::Report(bytes) => self.report_sent(qpn, bytes),
            _ => {}
        }
    }

    pub(super) fn wqe_read(&mut self, qpn: u32, at: u32, bytes: &[u8]) {
        let Some(queue) = self.sends.get_mut(&qpn) else { return };
        let Stage::Fetch(mut wqe, missing) = std::mem::replace(&mut queue.stage, Stage::Idle)
        else {
            return;
        };
        if at == 0 {
            if !queue.is_ours(super::bytes::be32(bytes, 0)) {
                return;
            }
            wqe = vec![0; bytes_of(bytes).max(sq::TXBB_BYTES) as usize];
            queue.units = (wqe.len() as u32).div_ceil(sq::TXBB_BYTES);
            let rest = wqe.len() as u32 - sq::TXBB_BYTES;
            self.fetch_rest(qpn, rest);
            self.fetched(qpn, wqe, rest, at, bytes);
        } else {
            self.fetched(qpn, wqe, missing.saturating_sub(bytes.len() as u32), at, bytes);
        }
    }

    /// Reads a WQE's units behind its first, round the end of the ring.
    fn fetch_rest(&mut self, qpn: u32, rest: u32) {
        let Some(queue) = self.sends.get(&qpn) else { return };
        for unit in 1..=rest.div_ceil(sq::TXBB_BYTES) {
            let at = unit * sq::TXBB_BYTES;
            let len = (rest + sq::TXBB_BYTES - at).min(sq::TXBB_BYTES);
            let purpose = Read::Hca(Purpose::Wqe { qpn, at });
            self.engine.out.read(queue.place(unit), len, What::Wqe, purpose);
        }
    }

    fn fetched(&mut self, qpn: u32, mut wqe: Vec<u8>, missing: u32, at: u32, bytes: &[u8]) {
        super::bytes::put(&mut wqe, at as usize, bytes);
        let Some(queue) = self.sends.get_mut(&qpn) else { return };
        if missing > 0 {
            queue.stage = Stage::Fetch(wqe, missing);
            return;
        }
        wqe.truncate(bytes_of(&wqe) as usize);
        match parse(&wqe) {
            Ok(parsed) => self.gather(qpn, parsed),
            Err(why) => {
                queue.enabled = false;
                self.engine.misuse(why, qpn.into());
            }
        }
    }

    fn gather(&mut self, qpn: u32, wqe: Wqe) {
        let (mut data, mut missing, mut reads) = (Vec::new(), 0, Vec::new());
        for piece in &wqe.pieces {
            match piece {
                Piece::Inline(bytes) => data.extend(bytes),
                Piece::Memory { addr, len } => {
                    reads.push((data.len() as u32, *addr, *len));
                    missing += len;
                    data.resize(data.len() + *len as usize, 0);
                }
            }
        }
        let Some(queue) = self.sends.get_mut(&qpn) else { return };
        if missing > 0 {
            queue.stage = Stage::Gather(wqe, data, missing);
        } else {
            self.transmit(qpn, &wqe, data);
        }
        for (at, addr, len) in reads {
            let purpose = Read::Hca(Purpose::Data { qpn, at });
            self.engine.out.read(addr, len, What::Data, purpose);
        }
    }

    pub(super) fn data_read(&mut self, qpn: u32, at: u32, bytes: &[u8]) {
        let Some(queue) = self.sends.get_mut(&qpn) else { return };
        let Stage::Gather(_, data, missing) = &mut queue.stage else { return };
        super::bytes::put(data, at as usize, bytes);
        *missing = missing.saturating_sub(bytes.len() as u32);
        if *missing > 0 {
            return;
        }
        if let Stage::Gather(wqe, data, _) = std::mem::replace(&mut queue.stage, Stage::Idle) {
            self.transmit(qpn, &wqe, data);
        }
    }

    fn transmit(&mut self, qpn: u32, wqe: &Wqe, mut data: Vec<u8>) {
        let len = data.len() as u32;
        if !data.is_empty() {
            frame::finish(&mut data, wqe.ip_checksum, wqe.l4_checksum);
            if self.port.is_up() {
                self.wire_number += 1;
                self.wire.push_back(data);
            }
        }
        if wqe.reports {
            self.report_sent(qpn, len);
        } else {
            self.sent(qpn);
        }
    }

    /// The completion of the WQE at hand, when the CQ has room.
    fn report_sent(&mut self, qpn: u32, byte_count: u32) {
        let Some(queue) = self.sends.get_mut(&qpn) else { return };
        let (cqn, next) = (queue.cqn, queue.next);
        // Arrivals of frames are counted from 0; sends from far behind them.
        match self.engine.cq_room(cqn, 1 << 63 | u64::from(next)) {
            Room::Yes => {}
            Room::Wait => {
                queue.stage = Stage::Report(byte_count);
                return;
            }
            Room::Overrun => return self.engine.cq_overrun(cqn),
            Room::Stopped => return,
        }
        let completion = Completion {
            number: 1 << 63 | u64::from(next),
            qpn,
            hash: 0,
            status: 0,
            byte_count,
            wqe_index: (next & 0xffff) as u16,
            checksum: 0,
            opcode: sq::OPCODE_SEND | sq::CQE_IS_SEND,
        };
        self.engine.push_cqe(cqn, &completion);
        self.sent(qpn);
    }

    fn sent(&mut self, qpn: u32) {
        let Some(queue) = self.sends.get_mut(&qpn) else { return };
        queue.next = queue.next.wrapping_add(queue.units);
        queue.rung = true;
        queue.stage = Stage::Idle;
        self.send_next(qpn);
    }
}
