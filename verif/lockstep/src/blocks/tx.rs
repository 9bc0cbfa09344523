//! Transmit DMA of the 82599: `ixgbe_tx` beside the whole of `Intel82599`.
//!
//! Packets are posted whole, without offloads; a queue is taken off the bus when all that was
//! posted has left. A frame of the model is held against what the driver posted, byte for byte.

use super::rings::{Answer, Read, Reads, Rings};
use super::{hit, Bench};
use crate::equivalence::TX;
use crate::lock::Lock;
use crate::tape::Tape;
use pollproof_events::What;
use pollproof_intel_82599::{IdleWriteBack, Intel82599, Misuse, Params};
use pollproof_pcie::Outbound;
use pollproof_regs::ixgbe::{gpie, hlreg0, pci, queue, tdma};
use pollproof_regs::ixgbe_desc::tx;
use pollproof_regs::ixgbe_map as map;
use pollproof_verilated::rtl::pins::ixgbe_tx::{Block, In, Out};
use std::collections::VecDeque;

const CYCLE_PS: u64 = 4_000;
const QUEUES: u32 = 2;

// Places in the table of observables.
const POSTED: usize = 0;
const READS: usize = 1;
const FRAMES: usize = 2;
const CAUSE: usize = 3;
const READ: usize = 4;
const TAIL: usize = 5;
const TURN: usize = 6;

/// How often what happens in a case, in shares of 16.
#[derive(Clone, Copy, Debug)]
struct Rates {
    write_stall: u32,
    read_stall: u32,
    post: u32,
    other: u32,
    answer: u32,
}

/// What a queue was given and has not sent.
#[derive(Clone, Debug, Default)]
struct Posted {
    /// Parts of each packet: address and bytes.
    packets: VecDeque<Vec<(u64, u32)>>,
    /// Descriptors of each.
    descriptors: VecDeque<u32>,
    done: u32,
}

/// Both sides and the driver's half.
pub struct Tx {
    dev: Intel82599,
    lock: Lock,
    cycle: u64,
    rates: Rates,
    pins: In,
    rings: Rings,
    reads: Reads,
    answer: Option<Answer>,
    todo: VecDeque<(u32, u32, u32)>,
    queues: [Posted; QUEUES as usize],
    told: [u64; 2],
    /// Queues that the RTL told of in this step.
    causes: u64,
}

impl Bench for Tx {
    type Block = Block;

    fn new(tape: &mut Tape, plant: u8) -> Self {
        let rates = Rates {
            write_stall: tape.pick(&[0, 0, 4, 10]),
            read_stall: tape.pick(&[0, 0, 4, 12]),
            post: tape.pick(&[3, 1, 8]),
            other: tape.pick(&[1, 0, 2]),
            answer: tape.pick(&[6, 1, 15]),
        };
        // As the RTL is built.
        let params = Params {
            tx_cache: 32,
            tx_fetch: 8,
            fetches_in_flight: 2,
            tx_jobs: 4,
            tx_wb_idle: IdleWriteBack::Never,
            ..Params::zero()
        };
        let mut it = Self {
            dev: Intel82599::new(params),
            lock: Lock::new(TX.observables),
            cycle: 0,
            rates,
            pins: In { plant, ..In::default() },
            rings: Rings::new(QUEUES),
            reads: Reads::default(),
            answer: None,
            todo: VecDeque::new(),
            queues: Default::default(),
            told: [0; 2],
            causes: 0,
        };
        it.dev.expire();
        it.set(map::HLREG0, 0x0801_2c0b & !hlreg0::TXPADEN);
        it.set(map::GPIE, gpie::MSIX_MODE | gpie::OCD);
        it.set(map::IVAR, 0x8100_8000);
        it.set(map::DMATXCTL, tdma::TE);
        it.drain();
        (0..QUEUES).for_each(|n| it.set_up_queue(tape, n));
        it
    }

    fn drive(&mut self, tape: &mut Tape) -> In {
        let word = tape.word();
        let rates = self.rates;
        self.pins.wr_ready = u8::from(!hit(word, 0, rates.write_stall));
        self.pins.rd_ready = u8::from(!hit(word, 4, rates.read_stall));
        if self.pins.reg_valid == 0 {
            if let Some((n, offset, value)) = self.todo.pop_front() {
                self.access(n, offset, Some(value));
            } else if hit(word, 8, rates.post) {
                self.post(tape);
            } else if hit(word, 12, rates.other) {
                self.any_access(tape);
            }
        }
        if self.answer.is_none() && hit(word, 20, rates.answer) {
            self.answer = self.reads.take(tape, &self.rings);
        }
        self.pins.fill_valid = u8::from(self.answer.is_some());
        if let Some(answer) = &self.answer {
            let is_data = answer.read.rtl_tag & IS_DATA != 0;
            self.pins.fill_is_data = u8::from(is_data);
            self.pins.fill_tag = answer.read.rtl_tag as u8 & 7;
            self.pins.fill_data = answer.beat();
            self.pins.fill_last = u8::from(is_data || answer.is_last());
        }
        self.pins
    }

    #[inline]
    fn observe(&mut self, input: &In, output: &Out) {
        self.lock.begin(self.cycle);
        self.dev.set_time(self.cycle * CYCLE_PS);
        if output.idle != 0 && self.causes != 0 {
            let causes = std::mem::take(&mut self.causes);
            self.lock.rtl(CAUSE, [causes, 0, 0, 0, 0, 0]);
        }
        let mut stepped = true;
        if output.fill_ready != 0 {
            let more = input.fill_last == 0;
            if let Some(answer) = self.answer.as_mut().filter(|_| more) {
                answer.at += 1;
                stepped = false;
            } else if let Some(answer) = self.answer.take() {
                self.complete(&answer);
            }
        } else if output.reg_ready != 0 {
            self.step_access(input, output);
            self.pins.reg_valid = 0;
        } else {
            stepped = false;
        }
        if stepped {
            self.drain();
        }
        self.take_turns(input, output);
        self.take_outputs(input, output);
        self.cycle += 1;
    }

    fn lock(&mut self) -> &mut Lock {
        &mut self.lock
    }
}

/// Marks tags of data reads.
const IS_DATA: u32 = 1 << 8;

impl Tx {
    fn set(&mut self, offset: u32, value: u32) {
        self.dev.mmio_write32(pci::BAR_CSR, u64::from(offset), value);
    }

    fn set_up_queue(&mut self, tape: &mut Tape, n: u32) {
        let size = tape.pick(&[32, 8, 16, 64]);
        let base = self.rings.start(n, size);
        self.queues[n as usize] = Posted::default();
        let head = if tape.chance(1, 3) { tape.below(size) } else { 0 };
        self.rings.begin_at(n, head);
        let head_wb = if tape.chance(1, 4) { queue::HEAD_WB } else { 0 };
        let writes = [
            (map::TDBAL, base as u32),
            (map::TDBAH, (base >> 32) as u32),
            (map::TDLEN, 16 * size),
            (map::TDH, head),
            (map::TDWBAL, (0x5000 + 0x100 * n) | head_wb),
            (map::TDWBAH, 0x33),
            (map::TXDCTL, thresholds(tape) | queue::ENABLE),
        ];
        self.todo.extend(writes.map(|(offset, value)| (n, offset, value)));
    }

    fn access(&mut self, n: u32, offset: u32, value: Option<u32>) {
        self.pins.reg_valid = 1;
        self.pins.reg_write = u8::from(value.is_some());
        self.pins.reg_queue = n as u8;
        self.pins.reg_offset = offset as u8 & 0x3f;
        self.pins.reg_value = value.unwrap_or(0);
    }

    /// The driver posts some packets, each whole, with one write of the tail.
    fn post(&mut self, tape: &mut Tape) {
        let n = tape.below(QUEUES);
        for _ in 0..tape.pick(&[1, 1, 2, 5]) {
            let parts = tape.pick(&[1, 1, 2, 4]);
            let context = tape.chance(1, 6);
            let needs = parts + u32::from(context);
            let done = self.queues[n as usize].done;
            if self.rings.free(n, done) < needs {
                break;
            }
            if context {
                let report = if tape.chance(1, 4) { tx::RS } else { 0 };
                let kind = tx::DTYP_CONTEXT << tx::DTYP_SHIFT | tx::DEXT | report;
                self.rings.put(n, [0, u64::from(kind)]);
            }
            let packet = self.put_packet(tape, n, parts);
            let queue = &mut self.queues[n as usize];
            queue.packets.push_back(packet);
            queue.descriptors.push_back(needs);
        }
        let tail = self.rings.tail(n);
        self.access(n, map::TDT, Some(tail));
    }

    fn put_packet(&mut self, tape: &mut Tape, n: u32, parts: u32) -> Vec<(u64, u32)> {
        let legacy = tape.chance(1, 4);
        let mut packet = Vec::new();
        let lengths: Vec<u32> = (0..parts)
            .map(|part| match tape.below(8) {
                7 if part != 0 => 0,
                _ => 14 + tape.below(300),
            })
            .collect();
        let whole: u32 = lengths.iter().sum();
        for (part, len) in (1..).zip(lengths) {
            let is_last = part == parts;
            let addr = self.rings.buffer();
            let bit = |on: bool, bit: u32| if on { bit } else { 0 };
            let reports = (is_last && !tape.chance(1, 8)) || tape.chance(1, 8);
            let command = len | tx::IFCS | bit(is_last, tx::EOP) | bit(reports, tx::RS);
            let advanced = tx::DEXT | tx::DTYP_DATA << tx::DTYP_SHIFT;
            let (second, third) = match legacy {
                true => (command, 0),
                false => (command | advanced, whole << tx::PAYLEN_SHIFT),
            };
            self.rings.put(n, [addr, u64::from(second) | u64::from(third) << 32]);
            if len != 0 {
                packet.push((addr, len));
            }
        }
        packet
    }

    fn any_access(&mut self, tape: &mut Tape) {
        let n = tape.below(QUEUES);
        match tape.below(16) {
            0 if self.queues[n as usize].packets.is_empty() => {
                self.access(n, map::TXDCTL, Some(thresholds(tape)));
                // Time for what is open to end.
                let wait = 20 + tape.below(20);
                (0..wait).for_each(|_| self.todo.push_back((n, map::TDWBAH, 0x33)));
                self.set_up_queue(tape, n);
            }
            1 => self.access(n, map::TXDCTL, Some(thresholds(tape) | queue::ENABLE)),
            2 | 3 => {
                let flush = queue::ENABLE | queue::SWFLSH;
                self.access(n, map::TXDCTL, Some(thresholds(tape) | flush));
            }
            4 => {
                let beyond = 0x4000 + tape.below(4);
                self.access(n, map::TDT, Some(beyond));
            }
            _ => {
                let offsets =
                    [map::TDH, map::TDT, map::TXDCTL, map::TDLEN, map::TDWBAL, map::TDBAL];
                self.access(n, tape.pick(&offsets), None);
            }
        }
    }

    fn complete(&mut self, answer: &Answer) {
        let read = answer.read;
        if read.rtl_tag & IS_DATA != 0 {
            self.dev.dma_complete(read.tag, &data_at(read.addr, read.len));
        } else {
            self.dev.dma_complete(read.tag, &answer.bytes);
        }
    }

    fn step_access(&mut self, input: &In, output: &Out) {
        let n = u32::from(input.reg_queue);
        let offset = 0x6000 + 0x40 * n + u32::from(input.reg_offset);
        if input.reg_write != 0 {
            self.set(offset, input.reg_value);
            let count = |dev: &Intel82599, kind| dev.misuses().get(&kind).copied().unwrap_or(0);
            let kinds = [Misuse::TailBeyondRing, Misuse::TailBackwards];
            let now = kinds.map(|kind| count(&self.dev, kind));
            let [beyond, backwards] = [now[0] - self.told[0], now[1] - self.told[1]];
            self.told = now;
            let rtl = [u64::from(output.tail_beyond), u64::from(output.tail_backwards)];
            let fields = |[b, w]: [u64; 2]| [u64::from(n), b, w, 0, 0, 0];
            self.lock.same(TAIL, fields([beyond, backwards]), fields(rtl));
        } else {
            let value = self.dev.mmio_read32(pci::BAR_CSR, u64::from(offset));
            let fields = |value: u32| [u64::from(offset), u64::from(value), 0, 0, 0, 0];
            self.lock.both(READ, fields(value), fields(output.reg_read));
        }
    }

    /// What the model asks the bus for, sends and tells.
    #[inline]
    fn drain(&mut self) {
        while let Some(out) = self.dev.pop() {
            match out {
                Outbound::DmaWrite { addr, payload, what } => {
                    let half = |at: usize| {
                        let mut word = [0; 8];
                        let bytes = payload.get(at..).unwrap_or_default();
                        let len = bytes.len().min(8);
                        word[..len].copy_from_slice(&bytes[..len]);
                        u64::from_le_bytes(word)
                    };
                    let is_head = u64::from(what == What::Record);
                    self.lock.model(POSTED, [is_head, addr, half(0), half(8), 0, 0]);
                }
                Outbound::DmaRead { tag, addr, len, what } => {
                    let is_data = u64::from(what == What::Data);
                    self.lock.model(READS, [is_data, addr, u64::from(len), 0, 0, 0]);
                    self.reads.made(tag);
                }
                Outbound::Msix { .. } => {}
            }
        }
        while let Some(sent) = self.dev.pop_frame() {
            let bytes = &sent.frame.bytes;
            self.lock.model(FRAMES, [bytes.len() as u64, sum(bytes), 0, 0, 0, 0]);
        }
        let causes = self.dev.irq().vectors();
        if causes != 0 {
            self.set(map::EICR, causes as u32);
            self.lock.model(CAUSE, [causes, 0, 0, 0, 0, 0]);
        }
    }

    /// Something waits and nothing is taken, though the bus is open.
    #[inline]
    fn take_turns(&mut self, input: &In, output: &Out) {
        let waits = input.reg_valid | input.fill_valid << 2;
        let taken = output.reg_ready | output.fill_ready;
        let wanted = waits != 0 && taken == 0 && input.wr_ready & input.rd_ready != 0;
        if taken != 0 || wanted {
            self.lock.choice(TURN, false, wanted, [u64::from(waits), 0, 0, 0, 0, 0]);
        }
    }

    #[inline]
    fn take_outputs(&mut self, input: &In, output: &Out) {
        let is_open = input.wr_ready & input.rd_ready != 0;
        if output.cause != 0 {
            self.causes |= 1 << output.cause_queue;
        } else if is_open {
            self.lock.open(CAUSE);
        }
        if output.send != 0 {
            let queue = &mut self.queues[usize::from(output.send_queue)];
            let packet = queue.packets.pop_front().unwrap_or_default();
            queue.done += queue.descriptors.pop_front().unwrap_or(0);
            let bytes: Vec<u8> =
                packet.iter().flat_map(|&(addr, len)| data_at(addr, len)).collect();
            let len = u64::from(output.send_len);
            self.lock.rtl(FRAMES, [len, sum(&bytes), 0, 0, 0, 0]);
        } else if is_open {
            self.lock.open(FRAMES);
        }
        if input.wr_ready & output.wr_valid != 0 {
            let d = &output.wr_data;
            let pair = |n: usize| u64::from(d[n + 1]) << 32 | u64::from(d[n]);
            let is_head = u64::from(output.wr_is_head);
            self.lock.rtl(POSTED, [is_head, output.wr_addr, pair(0), pair(2), 0, 0]);
        } else if is_open {
            self.lock.open(POSTED);
        }
        if input.rd_ready & output.rd_valid != 0 {
            let (addr, len) = (output.rd_addr, u32::from(output.rd_bytes));
            let is_data = u64::from(output.rd_is_data);
            self.lock.rtl(READS, [is_data, addr, u64::from(len), 0, 0, 0]);
            let rtl_tag = u32::from(output.rd_tag) | if is_data != 0 { IS_DATA } else { 0 };
            self.reads.paired(|tag| Read { rtl_tag, tag, addr, len });
        } else if is_open {
            self.lock.open(READS);
        }
    }
}

/// PTHRESH, HTHRESH and WTHRESH of a queue.
fn thresholds(tape: &mut Tape) -> u32 {
    let pthresh = tape.pick(&[8, 0, 4, 32]);
    let hthresh = tape.pick(&[1, 2, 4]) << queue::HTHRESH_SHIFT;
    let wthresh = tape.pick(&[0, 0, 1, 2, 5, 8]) << queue::WTHRESH_SHIFT;
    pthresh | hthresh | wthresh
}

/// What memory holds where data is read.
fn data_at(addr: u64, len: u32) -> Vec<u8> {
    (0..u64::from(len)).map(|n| ((addr >> 14) * 31 + n * 7) as u8).collect()
}

/// FNV-1a over bytes.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
