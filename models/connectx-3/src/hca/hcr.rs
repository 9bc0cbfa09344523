//! The command register and the life of a command: latch, mailbox, translation entries, execution,
//! answer.
//!
//! Commands run one after the other. One that is reported by register keeps GO until what it wrote
//! has left for the bus; one that is reported by event gives the register back at once.

use super::bytes::be32;
use super::{Hca, Purpose};
use crate::out::Read;
use pollproof_events::What;
use pollproof_pcie::Payload;
use pollproof_regs::mlx4_hca::{control, event, op, MAILBOX_BYTES};
use std::collections::VecDeque;

/// Commands that wait; Linux has 16 at most.
const WAITING_MAX: usize = 64;

/// A command as it was posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    pub in_param: u64,
    pub in_modifier: u32,
    pub out_param: u64,
    pub token: u32,
    pub event: bool,
    pub op_modifier: u32,
    pub opcode: u32,
}

/// What a command gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub status: u8,
    /// Immediate result.
    pub immediate: u64,
    /// Output mailbox.
    pub mailbox: Option<Vec<u8>>,
}

impl Answer {
    pub fn status(status: u8) -> Self {
        Self { status, ..Self::default() }
    }
}

/// Where the command that runs is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Idle,
    /// Its input mailbox is read.
    Mailbox(Command),
    /// Translation entries are read: mailbox, entries, bytes of them that are missing.
    Mtt(Command, Vec<u8>, Vec<u8>, u32),
    /// It is done when so many requests have left.
    Leaving(Command, Answer, u64),
}

/// The register, and commands behind it.
#[derive(Debug, Default)]
pub(super) struct Hcr {
    words: [u32; 7],
    stage: Stage,
    waiting: VecDeque<Command>,
    /// The next report by event is lost.
    pub loses: bool,
}

impl Hcr {
    pub fn read(&self, offset: u64) -> u32 {
        let at = (offset - control::HCR) / 4;
        self.words.get(at as usize).copied().unwrap_or(0)
    }

    /// A command is under way that the register reports.
    pub fn is_busy(&self) -> bool {
        self.words[6] & control::GO != 0
    }

    fn latch(&self) -> Command {
        let [in_high, in_low, in_modifier, out_high, out_low, token, last] = self.words;
        Command {
            in_param: u64::from(in_high) << 32 | u64::from(in_low),
            in_modifier,
            out_param: u64::from(out_high) << 32 | u64::from(out_low),
            token: token >> 16,
            event: last & control::EVENT != 0,
            op_modifier: last >> 12 & 0xf,
            opcode: last & 0xfff,
        }
    }
}

/// Commands whose input parameter is the address of a mailbox.
fn has_input(opcode: u32) -> bool {
    matches!(
        opcode,
        op::INIT_HCA
            | op::SET_PORT
            | op::SW2HW_MPT
            | op::SW2HW_EQ
            | op::SW2HW_CQ
            | op::MODIFY_CQ
            | op::RST2INIT_QP
            | op::INIT2RTR_QP
            | op::RTR2RTS_QP
            | op::RTS2RTS_QP
            | op::MAD_IFC
            | op::SET_VLAN_FLTR
            | op::MAP_ICM
            | op::MAP_ICM_AUX
            | op::MAP_FA
    )
}

impl Hca {
    /// A word of the register is written; the last one posts the command.
    pub(super) fn hcr_write(&mut self, offset: u64, value: u32) {
        let at = ((offset - control::HCR) / 4) as usize;
        if self.hcr.is_busy() {
            return self.engine.misuse("command register written while a command runs", offset);
        }
        if let Some(word) = self.hcr.words.get_mut(at) {
            *word = value;
        }
        if at != 6 || value & control::GO == 0 {
            return;
        }
        let command = self.hcr.latch();
        if command.event {
            // The register is free again; T stays as it was written.
            self.hcr.words[6] &= !control::GO;
        }
        if self.hcr.waiting.len() >= WAITING_MAX {
            return self.engine.misuse("more commands than can wait", offset);
        }
        self.hcr.waiting.push_back(command);
        self.next_command();
    }

    fn next_command(&mut self) {
        if self.hcr.stage != Stage::Idle {
            return;
        }
        let Some(command) = self.hcr.waiting.pop_front() else { return };
        if !has_input(command.opcode) {
            return self.execute(command, &[], &[]);
        }
        self.hcr.stage = Stage::Mailbox(command);
        let purpose = Read::Hca(Purpose::Mailbox);
        self.engine.out.read(command.in_param, MAILBOX_BYTES, What::Mailbox, purpose);
    }

    pub(super) fn mailbox_read(&mut self, bytes: &[u8]) {
        let Stage::Mailbox(command) = std::mem::take(&mut self.hcr.stage) else { return };
        let Some((first, len)) = self.mtt_range(&command, bytes) else {
            return self.execute(command, bytes, &[]);
        };
        let pieces = self.icm.pieces(first, len);
        if pieces.iter().map(|(.., len)| len).sum::<u32>() != len {
            self.engine.misuse("translation entries outside of mapped ICM", first);
            return self.finish(command, Answer::status(3));
        }
        self.hcr.stage = Stage::Mtt(command, bytes.to_vec(), vec![0; len as usize], len);
        for (at, addr, len) in pieces {
            self.engine.out.read(addr, len, What::Mtt, Read::Hca(Purpose::Mtt(at)));
        }
    }

    pub(super) fn mtt_read(&mut self, at: u32, bytes: &[u8]) {
        let Stage::Mtt(_, _, entries, missing) = &mut self.hcr.stage else { return };
        super::bytes::put(entries, at as usize, bytes);
        *missing = missing.saturating_sub(bytes.len() as u32);
        if *missing > 0 {
            return;
        }
        if let Stage::Mtt(command, mailbox, entries, _) = std::mem::take(&mut self.hcr.stage) {
            self.execute(command, &mailbox, &entries);
        }
    }

    fn execute(&mut self, command: Command, mailbox: &[u8], mtt: &[u8]) {
        let answer = self.perform(&command, mailbox, mtt);
        self.finish(command, answer);
    }

    /// Writes the answer, then reports it.
    fn finish(&mut self, command: Command, mut answer: Answer) {
        if let Some(mailbox) = answer.mailbox.take() {
            let payload = Payload::whole(mailbox.into());
            self.engine.out.write(command.out_param, payload, What::Mailbox);
        }
        let behind = self.engine.out.pushed();
        self.hcr.stage = Stage::Leaving(command, answer, behind);
        self.left_for_bus();
    }

    /// Requests have left: the command may be done by that.
    pub(super) fn left_for_bus(&mut self) {
        let left = self.engine.out.popped();
        if !matches!(self.hcr.stage, Stage::Leaving(_, _, behind) if behind <= left) {
            return;
        }
        let Stage::Leaving(command, answer, _) = std::mem::take(&mut self.hcr.stage) else {
            return;
        };
        self.report(&command, &answer);
        self.next_command();
    }

    fn report(&mut self, command: &Command, answer: &Answer) {
        if command.event && std::mem::take(&mut self.hcr.loses) {
            return;
        }
        if command.event {
            let Some(eqn) = self.event_eqs[event::CMD as usize] else {
                return self.engine.misuse("command by event without an EQ for it", 0);
            };
            let immediate = answer.immediate.to_be_bytes();
            let words = [
                command.token,
                0,
                answer.status.into(),
                be32(&immediate, 0),
                be32(&immediate, 4),
                0,
            ];
            return self.engine.push_async_eqe(eqn, event::CMD, 0, words);
        }
        let last = self.hcr.words[6] & !(control::GO | 0xff << control::STATUS_SHIFT);
        self.hcr.words[3] = (answer.immediate >> 32) as u32;
        self.hcr.words[4] = answer.immediate as u32;
        self.hcr.words[6] = last | u32::from(answer.status) << control::STATUS_SHIFT;
    }
}
