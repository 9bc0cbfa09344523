//! Completion and event queues of the ConnectX-3: `mlx4_completion` beside `ConnectX3`.
//!
//! The receive pipeline is left out: completions come by `ConnectX3::complete_alone`, as the
//! pipeline would bring them.

mod drive;

use super::{hit, Bench};
use crate::equivalence::MLX4;
use crate::lock::{Fields, Lock};
use crate::tape::Tape;
use pollproof_connectx_3::{Completion, ConnectX3, Params, Room, Stats};
use pollproof_pcie::Outbound;
use pollproof_regs::mlx4::{be, db, CqContext, EqContext, BAR_UAR};
use pollproof_verilated::rtl::pins::mlx4_completion::{Block, In, Out};
use std::collections::VecDeque;

/// Cycles of a microsecond are 8 in this build of the RTL.
const CYCLE_PS: u64 = 125_000;
const CQS: u32 = 4;
const EQS: u32 = 2;
/// Records lie 64 bytes apart.
const RECORDS: u64 = 0x1000;

// Places in the table of observables.
const POSTED: usize = 0;
const READS: usize = 1;
const ROOM: usize = 2;
const TIMER: usize = 3;
const TURN: usize = 4;
const ARM: usize = 5;
const MISUSE: usize = 6;
const CQ: usize = 7;
const EQ: usize = 8;
const LOST: usize = 9;

const OP_SW2HW_EQ: u8 = 0;
const OP_HW2SW_EQ: u8 = 1;
const OP_SW2HW_CQ: u8 = 2;
const OP_MODIFY_CQ: u8 = 3;
const OP_HW2SW_CQ: u8 = 4;
const OP_ARM_CQ: u8 = 5;
const OP_EQ_DOORBELL: u8 = 6;

/// How often what happens in a case, in shares of 16.
#[derive(Clone, Copy, Debug)]
struct Rates {
    write_stall: u32,
    read_stall: u32,
    command: u32,
    completion: u32,
    answer: u32,
    consume: u32,
    log_size_max: u32,
}

/// A read that the bus has taken.
#[derive(Clone, Copy, Debug)]
struct Open {
    rtl_tag: u8,
    tag: u32,
    addr: u64,
}

/// Both sides and the driver's half.
pub struct Mlx4 {
    dev: ConnectX3,
    lock: Lock,
    cycle: u64,
    rates: Rates,
    pins: In,
    /// Commands that come first.
    todo: VecDeque<u8>,
    todo_queue: VecDeque<u32>,
    /// Tags of the model's reads that the RTL has not made yet.
    tags: VecDeque<u32>,
    open: Vec<Open>,
    answer: Option<Open>,
    records: [u32; CQS as usize],
    stats: Stats,
    numbers: u32,
}

impl Bench for Mlx4 {
    type Block = Block;

    fn new(tape: &mut Tape, plant: u8) -> Self {
        let rates = Rates {
            write_stall: tape.pick(&[0, 0, 4, 8, 13]),
            read_stall: tape.pick(&[0, 0, 4, 12]),
            command: tape.pick(&[2, 1, 4, 10]),
            completion: tape.pick(&[4, 1, 2, 8, 15]),
            answer: tape.pick(&[8, 1, 15]),
            consume: tape.pick(&[3, 1, 8]),
            log_size_max: tape.pick(&[3, 1, 2, 4]),
        };
        let mut it = Self {
            dev: ConnectX3::new(Params { eqs: EQS, cqs: CQS, ..Params::zero() }),
            lock: Lock::new(MLX4.observables),
            cycle: 0,
            rates,
            pins: In { plant, ..In::default() },
            todo: VecDeque::new(),
            todo_queue: VecDeque::new(),
            tags: VecDeque::new(),
            open: Vec::new(),
            answer: None,
            records: [0; CQS as usize],
            stats: Stats::default(),
            numbers: 0,
        };
        it.set_up();
        it
    }

    fn drive(&mut self, tape: &mut Tape) -> In {
        let word = tape.word();
        let rates = self.rates;
        self.pins.wr_ready = u8::from(!hit(word, 0, rates.write_stall));
        self.pins.rd_ready = u8::from(!hit(word, 4, rates.read_stall));
        if self.pins.cmd_valid == 0 {
            if !self.todo.is_empty() {
                self.next_of_todo(tape);
            } else if hit(word, 8, rates.command) {
                self.new_command(tape);
            }
        }
        if self.pins.cpl_valid == 0 && hit(word, 12, rates.completion) && self.todo.is_empty() {
            self.new_completion(tape);
        }
        if hit(word, 16, rates.consume) {
            self.consume(tape);
        }
        if self.answer.is_none() && !self.open.is_empty() && hit(word, 20, rates.answer) {
            let at = tape.below(self.open.len() as u32) as usize;
            self.answer = Some(self.open.swap_remove(at));
        }
        self.pins.rec_valid = u8::from(self.answer.is_some());
        if let Some(open) = self.answer {
            self.pins.rec_tag = open.rtl_tag;
            self.pins.rec_ci = self.record_at(open.addr);
        }
        self.pins.view_cqn = self.cycle as u8 & (CQS as u8 - 1);
        self.pins.view_eqn = self.cycle as u8 & (EQS as u8 - 1);
        self.pins
    }

    #[inline]
    fn observe(&mut self, input: &In, output: &Out) {
        self.lock.begin(self.cycle);
        self.dev.set_time(self.cycle * CYCLE_PS);
        self.compare_state(input, output);
        if input.rec_valid != 0 && output.rec_ready != 0 {
            self.step_record();
        }
        self.step_timer(input, output);
        if output.cmd_ready != 0 {
            self.step_command(input, output);
            self.pins.cmd_valid = 0;
        }
        if output.cpl_step != 0 {
            self.step_completion(input, output);
        }
        self.take_turns(input, output);
        self.compare_counts(output);
        self.drain();
        self.take_outputs(input, output);
        self.cycle += 1;
    }

    fn lock(&mut self) -> &mut Lock {
        &mut self.lock
    }
}

impl Mlx4 {
    fn record_at(&self, addr: u64) -> u32 {
        let n = (addr - RECORDS) / 64;
        self.records.get(n as usize).copied().unwrap_or(0)
    }

    #[inline]
    fn compare_state(&mut self, input: &In, output: &Out) {
        let n = u32::from(input.view_cqn);
        let rtl = match output.cq_valid {
            0 => [u64::from(n), u64::MAX, 0, 0, 0, 0],
            _ => [
                u64::from(n),
                u64::from(output.cq_producer),
                u64::from(output.cq_consumer),
                u64::from(output.cq_armed << 2 | output.cq_timer << 1 | output.cq_stopped),
                if output.cq_sn_known != 0 { u64::from(output.cq_sn) } else { u64::MAX },
                0,
            ],
        };
        let model = self.dev.cq_view(n).map_or([u64::from(n), u64::MAX, 0, 0, 0, 0], |cq| {
            let flags = u8::from(cq.armed) << 2 | u8::from(cq.timer) << 1 | u8::from(cq.stopped);
            let sn = cq.next_sn.map_or(u64::MAX, u64::from);
            let (producer, consumer) = (u64::from(cq.producer), u64::from(cq.consumer));
            [u64::from(n), producer, consumer, u64::from(flags), sn, 0]
        });
        self.lock.same(CQ, model, rtl);
        if output.event_step != 0 {
            return;
        }
        let n = u32::from(input.view_eqn);
        let rtl = match output.eq_valid {
            0 => [u64::from(n), u64::MAX, 0, 0, 0, 0],
            _ => {
                let (producer, consumer) = (output.eq_producer, output.eq_consumer);
                let armed = u64::from(output.eq_armed);
                [u64::from(n), u64::from(producer), u64::from(consumer), armed, 0, 0]
            }
        };
        let model = self.dev.eq_view(n).map_or([u64::from(n), u64::MAX, 0, 0, 0, 0], |eq| {
            let (producer, consumer) = (u64::from(eq.producer), u64::from(eq.consumer));
            [u64::from(n), producer, consumer, u64::from(eq.armed), 0, 0]
        });
        self.lock.same(EQ, model, rtl);
    }

    fn step_record(&mut self) {
        if let Some(open) = self.answer.take() {
            let word = self.record_at(open.addr);
            self.dev.dma_complete(open.tag, &word.to_be_bytes());
        }
    }

    #[inline]
    fn step_timer(&mut self, input: &In, output: &Out) {
        let made = output.timer_step != 0;
        if !made && self.dev.pending_timers().is_empty() {
            return;
        }
        let now_ps = self.cycle * CYCLE_PS;
        if made {
            let n = u32::from(output.timer_cqn);
            let deadline_ps = self.dev.cq_view(n).and_then(|cq| cq.deadline_ps);
            let fields = |cycle: u64| [u64::from(n), cycle, 0, 0, 0, 0];
            if deadline_ps.is_none_or(|ps| ps > now_ps) {
                let at = deadline_ps.map_or(u64::MAX, |ps| ps / CYCLE_PS);
                return self.lock.refused(TIMER, fields(at), fields(self.cycle));
            }
            self.lock.choice(TIMER, true, true, fields(self.cycle));
            self.dev.expire_cq(n);
        } else if output.busy == 0 && input.rec_valid == 0 {
            let due = self.dev.next_deadline().filter(|&ps| ps <= now_ps);
            let at = due.map_or(0, |ps| ps / CYCLE_PS);
            self.lock.choice(TIMER, false, due.is_some(), [u64::MAX, at, 0, 0, 0, 0]);
        }
    }

    fn step_command(&mut self, input: &In, output: &Out) {
        let (cqn, eqn) = (u32::from(input.cmd_cqn), u32::from(input.cmd_eqn));
        let (period_us, max_count) = (u32::from(input.cmd_period), u32::from(input.cmd_count));
        let log_size = u32::from(input.cmd_log_size);
        // What the driver model asks for is always something that can be had.
        match input.cmd_op {
            OP_SW2HW_EQ => {
                let (buf, vector) = (input.cmd_buf, u32::from(input.cmd_vector));
                let context = EqContext { buf, log_size, vector, period_us: 0, max_count: 0 };
                let _ = self.dev.sw2hw_eq(eqn, context);
            }
            OP_HW2SW_EQ => drop(self.dev.hw2sw_eq(eqn)),
            OP_SW2HW_CQ => {
                let context = CqContext {
                    buf: input.cmd_buf,
                    log_size,
                    stride_bytes: if input.cmd_stride64 != 0 { 64 } else { 32 },
                    eqn,
                    period_us,
                    max_count,
                    db_record: input.cmd_record,
                    sw_init: input.cmd_sw_init != 0,
                };
                let _ = self.dev.sw2hw_cq(cqn, context);
            }
            OP_MODIFY_CQ => drop(self.dev.modify_cq(cqn, period_us, max_count)),
            OP_HW2SW_CQ => drop(self.dev.hw2sw_cq(cqn)),
            OP_ARM_CQ => {
                let (sn, cmd) = (u32::from(input.cmd_sn), u32::from(input.cmd_arm));
                let first = be(sn << db::SN_SHIFT | cmd << 24 | cqn);
                let both = u64::from(first) | u64::from(be(input.cmd_ci)) << 32;
                let before = *self.dev.stats();
                self.dev.mmio_write64(BAR_UAR, db::CQ_DOORBELL, both);
                let after = self.dev.stats();
                let (arms, fired) = (after.arms - before.arms, after.fired - before.fired);
                let n = u64::from(cqn);
                let rtl = [n, u64::from(output.arm_taken), u64::from(output.fired), 0, 0, 0];
                self.lock.both(ARM, [n, arms, fired, 0, 0, 0], rtl);
            }
            _ => {
                let arm = if input.cmd_arm & 1 != 0 { db::EQ_ARM } else { 0 };
                let word = be(input.cmd_ci | arm);
                self.dev.mmio_write32(BAR_UAR, db::eq_offset(eqn), word);
            }
        }
    }

    fn step_completion(&mut self, input: &In, output: &Out) {
        let n = u32::from(input.cpl_cqn);
        let what = Completion {
            number: u64::from(input.cpl_arrival),
            qpn: input.cpl_qpn,
            hash: input.cpl_hash,
            status: u32::from(input.cpl_status),
            byte_count: input.cpl_bytes,
            wqe_index: input.cpl_wqe,
            checksum: input.cpl_checksum,
            opcode: u32::from(input.cpl_opcode),
        };
        let room = self.dev.complete_alone(n, u64::from(input.cpl_arrival), &what);
        let result = match room {
            Room::Yes => 1,
            Room::Wait => 2,
            Room::Overrun => 3,
            Room::Stopped => 4,
        };
        let fields = |result: u64| [u64::from(n), result, 0, 0, 0, 0];
        self.lock.both(ROOM, fields(result), fields(u64::from(output.cpl_result)));
        if room != Room::Wait {
            self.pins.cpl_valid = 0;
        }
    }

    /// Something waits and nothing is taken, though the bus is open.
    #[inline]
    fn take_turns(&mut self, input: &In, output: &Out) {
        let is_open = input.wr_ready & input.rd_ready != 0;
        let waits = input.cmd_valid | input.cpl_valid << 1 | input.rec_valid << 2;
        let taken = output.cmd_ready | output.cpl_step | output.timer_step;
        let taken = taken != 0 || (input.rec_valid & output.rec_ready) != 0;
        if taken || (waits != 0 && is_open) {
            // A turn is no event to show: what was taken shows.
            let wanted = waits != 0 && !taken;
            self.lock.choice(TURN, false, wanted, [u64::from(waits), 0, 0, 0, 0, 0]);
        }
    }

    #[inline]
    fn compare_counts(&mut self, output: &Out) {
        let stats = self.dev.stats();
        let told = stats.misuse - self.stats.misuse;
        let lost = stats.eq_overruns - self.stats.eq_overruns;
        (self.stats.misuse, self.stats.eq_overruns) = (stats.misuse, stats.eq_overruns);
        self.lock.same(MISUSE, [told, 0, 0, 0, 0, 0], [u64::from(output.misuse), 0, 0, 0, 0, 0]);
        for _ in 0..lost {
            self.lock.model(LOST, [1, 0, 0, 0, 0, 0]);
        }
    }

    /// What the model asks the bus for.
    #[inline]
    fn drain(&mut self) {
        while let Some(out) = self.dev.pop() {
            match out {
                Outbound::DmaWrite { addr, payload, .. } => {
                    self.lock.model(POSTED, write_fields(addr, &payload));
                }
                Outbound::Msix { vector } => {
                    self.lock.model(POSTED, [u64::from(vector), 0, 0, 0, 0, 0]);
                }
                Outbound::DmaRead { tag, addr, len, .. } => {
                    self.lock.model(READS, [addr, u64::from(len), 0, 0, 0, 0]);
                    self.tags.push_back(tag);
                }
            }
        }
    }

    #[inline]
    fn take_outputs(&mut self, input: &In, output: &Out) {
        if output.eq_lost != 0 {
            self.lock.rtl(LOST, [1, 0, 0, 0, 0, 0]);
        } else {
            self.lock.open(LOST);
        }
        if input.wr_ready != 0 {
            if output.wr_valid == 0 {
                self.lock.open(POSTED);
            } else if output.wr_msix != 0 {
                self.lock.rtl(POSTED, [output.wr_addr, 0, 0, 0, 0, 0]);
            } else {
                let d = &output.wr_data;
                let pair = |n: usize| u64::from(d[n + 1]) << 32 | u64::from(d[n]);
                let len = u64::from(output.wr_len);
                self.lock.rtl(POSTED, [output.wr_addr, len, pair(0), pair(2), pair(4), pair(6)]);
            }
        }
        if input.rd_ready != 0 {
            if output.rd_valid == 0 {
                self.lock.open(READS);
            } else {
                self.lock.rtl(READS, [output.rd_addr, 4, 0, 0, 0, 0]);
                if let Some(tag) = self.tags.pop_front() {
                    self.open.push(Open { rtl_tag: output.rd_tag, tag, addr: output.rd_addr });
                }
            }
        }
    }
}

/// Address, length and bytes.
fn write_fields(addr: u64, bytes: &[u8]) -> Fields {
    let mut fields = [addr, bytes.len() as u64, 0, 0, 0, 0];
    for (field, chunk) in fields[2..].iter_mut().zip(bytes.chunks(8)) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        *field = u64::from_le_bytes(word);
    }
    fields
}
