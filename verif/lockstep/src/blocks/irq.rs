//! Interrupt causes of the 82599: `ixgbe_irq` beside `Irq` and `MsixTable`.

use super::{hit, Bench};
use crate::equivalence::IRQ;
use crate::lock::Lock;
use crate::tape::Tape;
use pollproof_intel_82599::Irq;
use pollproof_pcie::MsixTable;
use pollproof_regs::ixgbe::{eicr, eitr, gpie, VECTORS};
use pollproof_regs::ixgbe_map as map;
use pollproof_verilated::rtl::pins::ixgbe_irq::{Block, In, Out};

const CYCLE_PS: u64 = 125_000;
/// A step of EITR is 16 cycles in this build of the RTL.
const STEP_PS: u64 = 16 * CYCLE_PS;

// Places in the table of observables.
const MESSAGES: usize = 0;
const FIRE: usize = 1;
const TURN: usize = 2;
const READ: usize = 3;
const CAUSES: usize = 4;
const PBA: usize = 5;

/// How often what happens in a case, in shares of 16.
#[derive(Clone, Copy, Debug)]
struct Rates {
    stall: u32,
    access: u32,
    cause: u32,
    mask: u32,
    /// Vectors and queues that the case is about.
    few: u32,
}

/// Both sides.
pub struct Irqs {
    irq: Irq,
    table: MsixTable,
    lock: Lock,
    cycle: u64,
    rates: Rates,
    pins: In,
    /// Set-up writes that are still to come.
    set_up: u32,
}

impl Bench for Irqs {
    type Block = Block;

    fn new(tape: &mut Tape, plant: u8) -> Self {
        let rates = Rates {
            stall: tape.pick(&[0, 0, 4, 12]),
            access: tape.pick(&[2, 1, 6, 12]),
            cause: tape.pick(&[3, 1, 8]),
            mask: tape.pick(&[1, 0, 3]),
            few: tape.pick(&[4, 2, 24, 64]),
        };
        Self {
            irq: Irq::new(STEP_PS, false),
            table: MsixTable::new(VECTORS),
            lock: Lock::new(IRQ.observables),
            cycle: 0,
            rates,
            pins: In { plant, ..In::default() },
            set_up: 0,
        }
    }

    fn drive(&mut self, tape: &mut Tape) -> In {
        let word = tape.word();
        let rates = self.rates;
        self.pins.msix_ready = u8::from(!hit(word, 0, rates.stall));
        if self.pins.reg_valid == 0 && (self.set_up < SET_UP || hit(word, 4, rates.access)) {
            self.new_access(tape);
        }
        if self.pins.cause_valid == 0 && hit(word, 8, rates.cause) {
            self.pins.cause_valid = 1;
            self.pins.cause_is_queue = u8::from(!tape.chance(1, 4));
            self.pins.cause_queue = tape.below(self.rates.few.min(64)) as u8;
            self.pins.cause_is_tx = tape.below(2) as u8;
            self.pins.cause_bits = 1 << (16 + tape.below(15));
        }
        if self.pins.mask_valid == 0 && hit(word, 12, rates.mask) {
            self.pins.mask_valid = 1;
            self.pins.mask_vector = tape.below(self.rates.few) as u8;
            self.pins.mask_on = tape.below(2) as u8;
        }
        self.pins
    }

    #[inline]
    fn observe(&mut self, input: &In, output: &Out) {
        self.lock.begin(self.cycle);
        self.compare_state(output);
        let now_ps = self.cycle * CYCLE_PS;
        self.step_fire(output, now_ps);
        if output.reg_ready != 0 {
            self.step_access(input, output, now_ps);
            self.pins.reg_valid = 0;
        }
        if output.cause_ready != 0 {
            match input.cause_is_queue {
                0 => self.irq.raise_other(input.cause_bits),
                _ => self.irq.raise_queue(u32::from(input.cause_queue), input.cause_is_tx != 0),
            }
            self.pins.cause_valid = 0;
        }
        if output.mask_ready != 0 {
            let vector = u32::from(input.mask_vector);
            if input.mask_on != 0 {
                self.table.mask(vector);
            } else if self.table.unmask(vector) {
                self.lock.model(MESSAGES, [u64::from(vector), 0, 0, 0, 0, 0]);
            }
            self.pins.mask_valid = 0;
        }
        self.take_turns(input, output);
        if input.msix_ready != 0 {
            match output.msix_valid {
                0 => self.lock.open(MESSAGES),
                _ => self.lock.rtl(MESSAGES, [u64::from(output.msix_vector), 0, 0, 0, 0, 0]),
            }
        }
        self.cycle += 1;
    }

    fn lock(&mut self) -> &mut Lock {
        &mut self.lock
    }
}

/// Writes that a case begins with, so that most causes lead somewhere.
const SET_UP: u32 = 40;

impl Irqs {
    fn write(&mut self, offset: u32, value: u32) {
        self.pins.reg_valid = 1;
        self.pins.reg_write = 1;
        self.pins.reg_offset = offset as u16;
        self.pins.reg_value = value;
    }

    fn new_access(&mut self, tape: &mut Tape) {
        let n = self.set_up;
        self.set_up = (n + 1).min(SET_UP);
        match n {
            0 => {
                let linux = gpie::MSIX_MODE | gpie::OCD | gpie::EIAME | gpie::PBA_SUPPORT;
                let none = if tape.chance(1, 8) { gpie::MSIX_MODE } else { 0 };
                let flips = tape.pick(&[0, 0, gpie::OCD, gpie::EIAME, gpie::EIMEN]) ^ none;
                self.write(map::GPIE, linux ^ flips);
            }
            1..=16 => {
                let word = tape.word() & 0x3f3f_3f3f;
                let few = self.rates.few - 1;
                let entry = |at: u32| (word >> at & few.min(63) | 0x80) << at;
                self.write(map::IVAR + 4 * (n - 1), entry(0) | entry(8) | entry(16) | entry(24));
            }
            17 => {
                let vector = tape.below(self.rates.few);
                self.write(map::IVAR_MISC, (vector | 0x80) << 8 | 0x80 | tape.below(4));
            }
            18 => {
                let value = tape.pick(&[eicr::RTXQ, eicr::RTXQ | eicr::TCP_TIMER, 0x00ff, 0]);
                self.write(map::EIAC, value);
            }
            19 | 20 => {
                let value = tape.pick(&[u32::MAX, u32::MAX, 0x5555_5555, 0]);
                self.write(map::EIAM_EX + 4 * (n - 19), value);
            }
            21 | 22 => self.write(map::EIMS_EX + 4 * (n - 21), u32::MAX),
            23 => self.write(map::EIMS, eicr::ALL),
            24..=39 => self.new_interval(tape),
            _ => self.any_access(tape),
        }
    }

    fn new_interval(&mut self, tape: &mut Tape) {
        let vector = tape.below(self.rates.few);
        let interval = tape.pick(&[1, 0, 2, 5, 20]) << eitr::ITR_INT_SHIFT;
        let count = tape.below(3) << eitr::COUNTER_SHIFT;
        let keeps = if tape.chance(1, 3) { 0 } else { eitr::CNT_WDIS };
        self.write(eitr_offset(vector), interval | count | keeps);
    }

    fn any_access(&mut self, tape: &mut Tape) {
        let few = self.rates.few;
        let vector = tape.below(few);
        let bit = 1 << (vector % 32);
        let half = 4 * (vector / 32);
        let other = 1 << (16 + tape.below(15)) | if tape.chance(1, 2) { bit & 0xffff } else { 0 };
        match tape.below(32) {
            0..=7 => self.write(map::EIMS_EX + half, bit),
            8 => self.write(map::EIMS_EX + half, u32::MAX),
            9..=10 => self.write(map::EIMC_EX + half, bit),
            11..=13 => self.write(map::EICS_EX + half, bit),
            14 => self.write(map::EICS, other),
            15 => self.write(map::EIMS, other),
            16 => self.write(map::EIMC, other),
            17..=18 => self.write(map::EICR, other),
            19 => self.write(map::EICR, u32::MAX),
            20 => self.write(map::EIAM, tape.word()),
            21..=22 => self.new_interval(tape),
            23 if tape.chance(1, 4) => {
                let flips = [gpie::OCD, gpie::EIAME, gpie::EIMEN, gpie::MSIX_MODE];
                let flip = tape.pick(&flips);
                self.write(map::GPIE, self.irq.gpie() ^ flip);
            }
            24 => self.write(map::EIAC, tape.word()),
            25 => self.write(map::IVAR + 4 * tape.below(few.min(64)), tape.word()),
            _ => {
                let offset = tape.pick(&[
                    map::EICR,
                    map::EICR,
                    map::EICS,
                    map::EIMS,
                    map::EIAC,
                    map::EIAM,
                    map::GPIE,
                    map::IVAR_MISC,
                    map::IVAR + 4 * (vector % 64),
                    map::EICS_EX + half,
                    map::EIMS_EX + half,
                    map::EIAM_EX + half,
                    eitr_offset(vector),
                    eitr_offset(vector),
                ]);
                self.write(offset, 0);
                self.pins.reg_write = 0;
            }
        }
    }

    #[inline]
    fn compare_state(&mut self, output: &Out) {
        let irq = &self.irq;
        let model = [
            u64::from(irq.causes()),
            irq.vectors(),
            u64::from(irq.eims()),
            irq.eims_vectors(),
            irq.pending(),
            u64::from(irq.line()),
        ];
        let rtl = [
            u64::from(output.causes),
            output.vectors,
            u64::from(output.enabled),
            output.enabled_vectors,
            output.pending,
            u64::from(output.line),
        ];
        self.lock.same(CAUSES, model, rtl);
        let vector = (self.cycle % u64::from(VECTORS)) as u32;
        let pending = |bit: u64| [u64::from(vector), bit, 0, 0, 0, 0];
        let model = pending(u64::from(self.table.pending(vector)));
        self.lock.same(PBA, model, pending(output.pba >> vector & 1));
    }

    #[inline]
    fn step_fire(&mut self, output: &Out, now_ps: u64) {
        let vector = u32::from(output.fire_vector);
        let fields = |cycle: u64| [u64::from(vector), cycle, 0, 0, 0, 0];
        if output.fire_step == 0 {
            if output.busy == 0 && output.pending != 0 {
                let due = self.irq.due(now_ps);
                let late = due.map_or(0, u64::from);
                self.lock.choice(FIRE, false, due.is_some(), [late, self.cycle, 0, 0, 0, 0]);
            }
            return;
        }
        if !self.irq.may_fire(vector, now_ps) {
            let at = self.irq.itr(vector).map_or(u64::MAX, |itr| itr.zero_ps() / CYCLE_PS);
            return self.lock.refused(FIRE, fields(at), fields(self.cycle));
        }
        self.lock.choice(FIRE, true, true, fields(self.cycle));
        self.irq.fire(vector, now_ps);
        if self.irq.gpie() & gpie::MSIX_MODE != 0 && self.table.send(vector) {
            self.lock.model(MESSAGES, [u64::from(vector), 0, 0, 0, 0, 0]);
        }
    }

    fn step_access(&mut self, input: &In, output: &Out, now_ps: u64) {
        let offset = u32::from(input.reg_offset);
        if input.reg_write == 0 {
            let value = self.model_read(offset, now_ps);
            let fields = |value: u32| [u64::from(offset), u64::from(value), 0, 0, 0, 0];
            return self.lock.both(READ, fields(value), fields(output.reg_read));
        }
        let (irq, value) = (&mut self.irq, input.reg_value);
        let wide = u64::from(value) << (8 * (offset & 4));
        match offset {
            map::EICR => irq.write_eicr(value),
            map::EICS => irq.write_eics(value & eicr::ALL),
            map::EIMS => irq.write_eims(value),
            map::EIMC => irq.write_eimc(value),
            map::EIAC => irq.set_eiac(value),
            map::EIAM => irq.set_eiam(value),
            map::GPIE => irq.set_gpie(value),
            map::IVAR_MISC => irq.set_ivar_misc(value),
            _ if offset & !4 == map::EICS_EX => irq.write_eics_vectors(wide),
            _ if offset & !4 == map::EIMS_EX => irq.write_eims_vectors(wide),
            _ if offset & !4 == map::EIMC_EX => irq.write_eimc_vectors(wide),
            _ if offset & !4 == map::EIAM_EX => {
                let kept = irq.eiam_vectors() & !(0xffff_ffff << (8 * (offset & 4)));
                irq.set_eiam_vectors(kept | wide);
            }
            _ => match eitr_vector(offset) {
                Some(vector) => irq.write_eitr(vector, value, now_ps),
                None => irq.set_ivar((offset - map::IVAR) / 4, value),
            },
        }
    }

    fn model_read(&mut self, offset: u32, now_ps: u64) -> u32 {
        let irq = &mut self.irq;
        let half = |bits: u64| (bits >> (8 * (offset & 4))) as u32;
        match offset {
            map::EICR => irq.read_eicr(),
            map::EICS => irq.causes(),
            map::EIMS => irq.eims(),
            map::EIAC => irq.eiac(),
            map::EIAM => irq.eiam(),
            map::GPIE => irq.gpie(),
            map::IVAR_MISC => irq.ivar_misc(),
            _ if offset & !4 == map::EICS_EX => half(irq.vectors()),
            _ if offset & !4 == map::EIMS_EX => half(irq.eims_vectors()),
            _ if offset & !4 == map::EIAM_EX => half(irq.eiam_vectors()),
            _ => match eitr_vector(offset) {
                Some(vector) => irq.read_eitr(vector, now_ps),
                None => irq.ivar((offset - map::IVAR) / 4),
            },
        }
    }

    /// Something waits and nothing is taken, though the bus is open.
    #[inline]
    fn take_turns(&mut self, input: &In, output: &Out) {
        let waits = input.reg_valid | input.cause_valid << 1 | input.mask_valid << 2;
        let taken = output.reg_ready | output.cause_ready | output.mask_ready;
        let wanted = waits != 0 && taken == 0 && input.msix_ready != 0;
        if taken != 0 || wanted {
            self.lock.choice(TURN, false, wanted, [u64::from(waits), 0, 0, 0, 0, 0]);
        }
    }
}

/// Offset of a vector's EITR; the upper ones as the block has them, without bit 16.
fn eitr_offset(vector: u32) -> u32 {
    match vector {
        0..24 => map::EITR + 4 * vector,
        _ => (map::EITR_HI & 0xffff) + 4 * (vector - 24),
    }
}

fn eitr_vector(offset: u32) -> Option<u32> {
    let high = map::EITR_HI & 0xffff;
    match offset {
        _ if (map::EITR..map::EITR + 96).contains(&offset) => Some((offset - map::EITR) / 4),
        _ if (high..high + 160).contains(&offset) => Some((offset - high) / 4 + 24),
        _ => None,
    }
}
