//! What a driver and a wire do to the queues, by choice: commands, doorbells, completions.

use super::{
    Mlx4, CQS, EQS, OP_ARM_CQ, OP_EQ_DOORBELL, OP_HW2SW_CQ, OP_HW2SW_EQ, OP_MODIFY_CQ, OP_SW2HW_CQ,
    OP_SW2HW_EQ, RECORDS,
};
use crate::tape::Tape;
use pollproof_regs::mlx4::{cqe, db};

impl Mlx4 {
    /// All queues, in an order in which they can be made.
    pub(super) fn set_up(&mut self) {
        let eqs = (0..EQS).map(|n| (OP_SW2HW_EQ, n));
        let cqs = (0..CQS).map(|n| (OP_SW2HW_CQ, n));
        for (op, n) in eqs.chain(cqs) {
            self.todo.push_back(op);
            self.todo_queue.push_back(n);
        }
    }

    fn tear_down(&mut self) {
        let cqs = (0..CQS).map(|n| (OP_HW2SW_CQ, n));
        let eqs = (0..EQS).map(|n| (OP_HW2SW_EQ, n));
        // What is gone must not be armed.
        let misuse = [(OP_ARM_CQ, 1), (OP_EQ_DOORBELL, 1)];
        for (op, n) in cqs.chain(eqs).chain(misuse) {
            self.todo.push_back(op);
            self.todo_queue.push_back(n);
        }
    }

    pub(super) fn next_of_todo(&mut self, tape: &mut Tape) {
        let (Some(op), Some(n)) = (self.todo.pop_front(), self.todo_queue.pop_front()) else {
            return;
        };
        self.begin_command(op, n);
        let pins = &mut self.pins;
        match op {
            OP_SW2HW_EQ => {
                pins.cmd_buf = 0x1_0000 + 0x1000 * u64::from(n);
                pins.cmd_log_size = tape.below(self.rates.log_size_max + 2) as u8;
                pins.cmd_vector = tape.below(2048) as u16;
            }
            OP_SW2HW_CQ => {
                pins.cmd_buf = 0x12_3456_0000 + 0x1_0000 * u64::from(n);
                pins.cmd_record = RECORDS + 64 * u64::from(n);
                pins.cmd_log_size = tape.below(self.rates.log_size_max + 1) as u8;
                pins.cmd_stride64 = tape.below(2) as u8;
                pins.cmd_sw_init = tape.below(2) as u8;
                pins.cmd_eqn = tape.below(EQS) as u8;
                self.records[n as usize] = 0;
                self.new_moderation(tape);
            }
            _ => {}
        }
    }

    fn begin_command(&mut self, op: u8, n: u32) {
        self.pins.cmd_valid = 1;
        self.pins.cmd_op = op;
        self.pins.cmd_cqn = n as u8 & 3;
        self.pins.cmd_eqn = n as u8 & 1;
    }

    fn new_moderation(&mut self, tape: &mut Tape) {
        self.pins.cmd_period = tape.pick(&[0, 0, 1, 2, 5, 16]);
        self.pins.cmd_count = tape.pick(&[0, 0, 1, 2, 3, 7]);
    }

    pub(super) fn new_command(&mut self, tape: &mut Tape) {
        let n = tape.below(CQS);
        match tape.below(64) {
            0..=33 => self.new_arm(tape, n),
            34..=55 => self.new_doorbell(tape, n % EQS),
            56..=60 => {
                self.begin_command(OP_MODIFY_CQ, n);
                self.new_moderation(tape);
            }
            61 if tape.chance(1, 8) => {
                self.tear_down();
                self.set_up();
            }
            _ => {
                // A queue that stopped is made anew, as a driver would; others at times.
                let stopped = self.dev.cq_view(n).is_some_and(|cq| cq.stopped);
                if stopped || tape.chance(1, 8) {
                    for op in [OP_HW2SW_CQ, OP_SW2HW_CQ] {
                        self.todo.push_back(op);
                        self.todo_queue.push_back(n);
                    }
                }
            }
        }
    }

    /// A consumer index: mostly one that a driver may have, at times any.
    fn new_index(tape: &mut Tape, producer: u32, consumer: u32) -> u32 {
        let pending = producer.wrapping_sub(consumer) & db::INDEX_MASK;
        let index = match tape.below(16) {
            0..=6 => producer,
            7..=13 => consumer.wrapping_add(tape.below(pending + 1)),
            14 => consumer.wrapping_sub(tape.below(4)),
            _ => producer.wrapping_add(tape.below(4)),
        };
        let wild = tape.chance(1, 64);
        (if wild { tape.word() } else { index }) & db::INDEX_MASK
    }

    fn new_arm(&mut self, tape: &mut Tape, n: u32) {
        self.begin_command(OP_ARM_CQ, n);
        let Some(view) = self.dev.cq_view(n) else { return };
        let ci = Self::new_index(tape, view.producer, view.consumer);
        let fresh = view.next_sn.unwrap_or(1);
        let stale = tape.chance(1, 4);
        self.pins.cmd_ci = ci;
        self.pins.cmd_sn = (if stale { tape.below(4) } else { fresh }) as u8;
        self.pins.cmd_arm = tape.pick(&[2, 2, 2, 2, 2, 2, 1, 3]);
        self.records[n as usize] = ci;
    }

    fn new_doorbell(&mut self, tape: &mut Tape, n: u32) {
        self.begin_command(OP_EQ_DOORBELL, n);
        let Some(view) = self.dev.eq_view(n) else { return };
        self.pins.cmd_ci = Self::new_index(tape, view.producer, view.consumer);
        self.pins.cmd_arm = u8::from(!tape.chance(1, 4));
    }

    pub(super) fn new_completion(&mut self, tape: &mut Tape) {
        self.numbers += 1;
        let pins = &mut self.pins;
        pins.cpl_valid = 1;
        pins.cpl_cqn = tape.below(CQS) as u8;
        pins.cpl_arrival = self.numbers;
        let word = tape.word();
        pins.cpl_qpn = word & 0x00ff_ffff;
        pins.cpl_hash = word.rotate_left(7);
        pins.cpl_status = (word >> 3) as u16;
        pins.cpl_bytes = word ^ 0x5a5a_5a5a;
        pins.cpl_wqe = self.numbers as u16;
        pins.cpl_checksum = (word >> 11) as u16;
        let opcode = if tape.chance(1, 8) { cqe::OPCODE_ERROR } else { cqe::OPCODE_RECV };
        pins.cpl_opcode = opcode as u8;
    }

    /// The driver publishes how far it is, without a doorbell.
    pub(super) fn consume(&mut self, tape: &mut Tape) {
        let n = tape.below(CQS);
        if let Some(view) = self.dev.cq_view(n) {
            let index = Self::new_index(tape, view.producer, view.consumer);
            self.records[n as usize] = index;
        }
    }
}
