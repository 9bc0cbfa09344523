//! Receive DMA of the 82599: `ixgbe_rx` beside the whole of `Intel82599`, which gets the frames
//! from the wire and its registers by their offsets.
//!
//! What the filters make of a frame (queue, packet type, hash, checksums) comes to the RTL on pins,
//! from the model's own parser: that is not compared.

use super::rings::{Answer, Read, Reads, Rings};
use super::{hit, Bench};
use crate::equivalence::RX;
use crate::lock::{Fields, Lock};
use crate::tape::Tape;
use pollproof_events::What;
use pollproof_intel_82599::{Headers, Intel82599, Misuse, Params, Toeplitz};
use pollproof_pcie::Outbound;
use pollproof_regs::ixgbe::{fctrl, gpie, hlreg0, mrqc, pci, queue, rdma, rxcsum};
use pollproof_regs::ixgbe_desc::rx;
use pollproof_regs::ixgbe_map as map;
use pollproof_regs::ixgbe_stat as stat;
use pollproof_verilated::rtl::pins::ixgbe_rx::{Block, In, Out};
use pollproof_wire::Frame;
use std::collections::VecDeque;
use std::sync::Arc;

const CYCLE_PS: u64 = 4_000;
const QUEUES: u32 = 4;

// Places in the table of observables.
const POSTED: usize = 0;
const READS: usize = 1;
const CAUSE: usize = 2;
const DROP: usize = 3;
const READ: usize = 4;
const TAIL: usize = 5;
const TURN: usize = 6;

/// How often what happens in a case, in shares of 16.
#[derive(Clone, Copy, Debug)]
struct Rates {
    write_stall: u32,
    read_stall: u32,
    frame: u32,
    tail: u32,
    other: u32,
    answer: u32,
    long: u32,
}

/// Both sides and the driver's half.
pub struct Rx {
    dev: Intel82599,
    lock: Lock,
    cycle: u64,
    rates: Rates,
    pins: In,
    toeplitz: Toeplitz,
    rings: Rings,
    reads: Reads,
    answer: Option<Answer>,
    /// Register writes that come first: queue, offset, value.
    todo: VecDeque<(u32, u32, u32)>,
    /// The frame on the pins, and the one inside.
    next: Option<Frame>,
    inside: Option<(u32, Frame)>,
    /// Bytes of it that the model has written.
    written: usize,
    frames: u64,
    told: [u64; 2],
    dropped: [u64; 3],
}

impl Bench for Rx {
    type Block = Block;

    fn new(tape: &mut Tape, plant: u8) -> Self {
        let rates = Rates {
            write_stall: tape.pick(&[0, 0, 4, 10]),
            read_stall: tape.pick(&[0, 0, 4, 12]),
            frame: tape.pick(&[3, 1, 8, 15]),
            tail: tape.pick(&[3, 1, 8]),
            other: tape.pick(&[1, 0, 2]),
            answer: tape.pick(&[6, 1, 15]),
            long: tape.pick(&[1, 0, 6]),
        };
        // As the RTL is built.
        let params = Params {
            rx_cache: 32,
            rx_pthresh: 8,
            rx_hthresh: 4,
            rx_fetch: 8,
            fetches_in_flight: 2,
            ..Params::zero()
        };
        let key: [u8; 40] = std::array::from_fn(|n| (n as u8).wrapping_mul(73) ^ 0x6d);
        let mut it = Self {
            dev: Intel82599::new(params),
            lock: Lock::new(RX.observables),
            cycle: 0,
            rates,
            pins: In { plant, ..In::default() },
            toeplitz: Toeplitz::new(&key),
            rings: Rings::new(QUEUES),
            reads: Reads::default(),
            answer: None,
            todo: VecDeque::new(),
            next: None,
            inside: None,
            written: 0,
            frames: 0,
            told: [0; 2],
            dropped: [0; 3],
        };
        it.set_up_device(&key);
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
            } else if hit(word, 8, rates.tail) {
                self.new_tail(tape);
            } else if hit(word, 12, rates.other) {
                self.any_access(tape);
            }
        }
        if self.next.is_none() && hit(word, 16, rates.frame) && self.todo.is_empty() {
            self.new_frame(tape);
        }
        if self.answer.is_none() && hit(word, 20, rates.answer) {
            self.answer = self.reads.take(tape, &self.rings);
        }
        self.pins.fill_valid = u8::from(self.answer.is_some());
        if let Some(answer) = &self.answer {
            self.pins.fill_tag = answer.read.rtl_tag as u8;
            self.pins.fill_data = answer.beat();
            self.pins.fill_last = u8::from(answer.is_last());
        }
        self.pins
    }

    #[inline]
    fn observe(&mut self, input: &In, output: &Out) {
        self.lock.begin(self.cycle);
        self.dev.set_time(self.cycle * CYCLE_PS);
        let mut stepped = true;
        if output.fill_ready != 0 {
            if let Some(answer) = self.answer.as_mut().filter(|answer| !answer.is_last()) {
                answer.at += 1;
                stepped = false;
            } else if let Some(answer) = self.answer.take() {
                self.dev.dma_complete(answer.read.tag, &answer.bytes);
            }
        } else if output.reg_ready != 0 {
            self.step_access(input, output);
            self.pins.reg_valid = 0;
        } else if output.frame_ready != 0 {
            self.step_frame(input);
            self.pins.frame_valid = 0;
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

impl Rx {
    fn set(&mut self, offset: u32, value: u32) {
        self.dev.mmio_write32(pci::BAR_CSR, u64::from(offset), value);
    }

    /// What is not the block's business, in the model alone.
    fn set_up_device(&mut self, key: &[u8; 40]) {
        self.dev.expire();
        self.set(map::FCTRL, fctrl::UPE | fctrl::MPE | fctrl::BAM);
        self.set(map::HLREG0, 0x0801_2c0b | hlreg0::RXCRCSTRP | hlreg0::JUMBOEN);
        self.set(map::MAXFRS, 0x3000 << 16);
        self.set(map::RDRXCTL, rdma::CRCSTRIP);
        self.set(map::RXCSUM, rxcsum::PCSD);
        self.set(map::MRQC, mrqc::MODE_RSS | mrqc::IP4);
        for (n, word) in (0..).zip(key.chunks_exact(4)) {
            let word = word.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte));
            self.set(map::RSSRK + 4 * n, word);
        }
        self.set(map::GPIE, gpie::MSIX_MODE | gpie::OCD);
        self.set(map::IVAR, 0x0081_0080);
        self.set(map::IVAR + 4, 0x0083_0082);
        self.set(stat::RQSMR, 0x0302_0100);
        self.set(map::RXCTRL, rdma::RXEN);
        self.drain();
    }

    fn set_up_queue(&mut self, tape: &mut Tape, n: u32) {
        let size = tape.pick(&[16, 8, 32, 64]);
        let base = self.rings.start(n, size);
        let head = if tape.chance(1, 3) { tape.below(size) } else { 0 };
        self.rings.begin_at(n, head);
        let buffer = tape.pick(&[2, 1, 1, 3]);
        let kind = tape.pick(&[1, 1, 0]) << queue::DESCTYPE_SHIFT;
        let drop = if tape.chance(1, 2) { queue::DROP_EN } else { 0 };
        let writes = [
            (map::RDBAL, base as u32),
            (map::RDBAH, (base >> 32) as u32),
            (map::RDLEN, 16 * size),
            (map::RDH, head),
            (map::SRRCTL, buffer | kind | drop),
            (map::RXDCTL, queue::ENABLE),
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

    /// The driver posts descriptors; at times it does what it must not.
    fn new_tail(&mut self, tape: &mut Tape) {
        let n = tape.below(QUEUES);
        let written = self.dev.rx_view(n).written;
        let count = tape.pick(&[1, 2, 4, 8, 16, 64]);
        let tail = match tape.below(48) {
            47 => self.rings.wrong_tail(n, tape),
            _ => self.rings.post(n, written, count),
        };
        self.access(n, map::RDT, Some(tail));
    }

    fn any_access(&mut self, tape: &mut Tape) {
        let n = tape.below(QUEUES);
        match tape.below(16) {
            0 => {
                // Off and on again, with another ring.
                self.access(n, map::RXDCTL, Some(0));
                if tape.chance(1, 2) {
                    let wait = tape.below(30);
                    (0..wait).for_each(|_| self.todo.push_back((n, map::RDBAH, 0)));
                    self.set_up_queue(tape, n);
                }
            }
            1 => self.access(n, map::RXDCTL, Some(queue::ENABLE)),
            2 => {
                let srrctl = tape.below(4) | (tape.below(2) << queue::DESCTYPE_SHIFT);
                let drop = if tape.chance(1, 2) { queue::DROP_EN } else { 0 };
                self.access(n, map::SRRCTL, Some(srrctl | drop));
            }
            _ => {
                let offsets =
                    [map::RDH, map::RDT, map::RXDCTL, map::RDLEN, map::SRRCTL, map::RDBAL];
                self.access(n, tape.pick(&offsets), None);
            }
        }
    }

    fn new_frame(&mut self, tape: &mut Tape) {
        let long = hit(tape.word(), 0, self.rates.long);
        let len = if long { 60 + tape.below(9_500) } else { 60 + tape.below(80) };
        let mut bytes = vec![0xff_u8; 6];
        bytes.resize(len as usize, 0);
        let salt = tape.word();
        for (n, byte) in bytes.iter_mut().enumerate().skip(6) {
            *byte = (n as u32).wrapping_mul(salt | 1).rotate_left(11) as u8;
        }
        let kind: [u8; 2] = tape.pick(&[[0x08, 0x00], [0x08, 0x00], [0x88, 0xb5]]);
        bytes[12..14].copy_from_slice(&kind);
        bytes[14] = 0x45;
        bytes[16..18].copy_from_slice(&((len - 14) as u16).to_be_bytes());
        bytes[20..22].copy_from_slice(&tape.pick(&[0_u16, 0, 0x2000]).to_be_bytes());
        bytes[23] = tape.pick(&[17, 6, 1]);
        let frame = Frame::new(self.frames, Arc::from(bytes));
        self.frames += 1;
        self.classify(tape, &frame);
        self.next = Some(frame);
    }

    /// The pins that stand for the filters.
    fn classify(&mut self, tape: &mut Tape, frame: &Frame) {
        let headers = Headers::of(&frame.bytes, 0x8100);
        let is_ip = headers.version == 4;
        let hash = if is_ip { self.toeplitz.hash(headers.addresses(&frame.bytes)) } else { 0 };
        let pins = &mut self.pins;
        pins.frame_valid = 1;
        pins.frame_queue = if is_ip { tape.below(QUEUES) as u8 } else { 0 };
        pins.frame_len = frame.bytes.len() as u16;
        pins.frame_type = headers.packet_type << rx::TYPE_SHIFT | if is_ip { 2 } else { 0 };
        pins.frame_hash = hash;
        pins.frame_vlan = 0;
        pins.frame_sum = if headers.fragment { headers.payload_sum } else { 0 };
        let bit = |on: bool, bit: u32| if on { bit } else { 0 };
        let bad_l4 = headers.l4_ok == Some(false);
        pins.frame_status = bit(headers.ip_ok.is_some(), rx::IPCS)
            | bit(headers.ip_ok == Some(false), rx::IPE)
            | bit(headers.l4_ok.is_some(), rx::L4CS)
            | bit(bad_l4, rx::TCPE);
    }

    fn step_access(&mut self, input: &In, output: &Out) {
        let n = u32::from(input.reg_queue);
        let offset = 0x1000 + 0x40 * n + u32::from(input.reg_offset);
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

    fn step_frame(&mut self, input: &In) {
        let Some(frame) = self.next.take() else { return };
        let n = u32::from(input.frame_queue);
        if input.frame_type & 15 != 0 {
            let entry = input.frame_hash & 127;
            self.set(map::RETA + entry / 4 * 4, n * 0x0101_0101);
        }
        self.written = 0;
        self.inside = Some((n, frame.clone()));
        self.dev.rx_frame(frame);
    }

    /// What the model asks the bus for, tells and drops.
    #[inline]
    fn drain(&mut self) {
        while let Some(out) = self.dev.pop() {
            match out {
                Outbound::DmaWrite { addr, payload, what: What::Data } => {
                    let fields = self.data_fields(addr, &payload);
                    self.lock.model(POSTED, fields);
                }
                Outbound::DmaWrite { addr, payload, .. } => {
                    let half = |at: usize| {
                        let bytes = payload.get(at..).and_then(|b| b.first_chunk());
                        bytes.map_or(0, |b| u64::from_le_bytes(*b))
                    };
                    let len = payload.len() as u64;
                    self.lock.model(POSTED, [0, addr, len, half(0), half(8), 0]);
                }
                Outbound::DmaRead { tag, addr, len, .. } => {
                    self.lock.model(READS, [addr, u64::from(len), 0, 0, 0, 0]);
                    self.reads.made(tag);
                }
                Outbound::Msix { .. } => {}
            }
        }
        let causes = self.dev.irq().vectors();
        if causes != 0 {
            self.set(map::EICR, causes as u32);
            self.lock.model(CAUSE, [u64::from(causes.trailing_zeros()), 0, 0, 0, 0, 0]);
        }
        let stats = self.dev.stats();
        let dropped = [stats.rx_queue_off, stats.rx_no_descriptor, stats.rx_lost];
        if dropped != self.dropped {
            self.tell_drop(dropped);
        }
    }

    /// A part of the frame inside: which, by what its bytes are.
    fn data_fields(&mut self, addr: u64, bytes: &[u8]) -> Fields {
        let from = self.written;
        self.written += bytes.len();
        let frame = self.inside.as_ref().map(|(_, frame)| &frame.bytes[..]);
        let is_it = frame.and_then(|frame| frame.get(from..from + bytes.len())) == Some(bytes);
        let at = if is_it { from as u64 } else { u64::MAX };
        [1, addr, bytes.len() as u64, at, 0, 0]
    }

    fn tell_drop(&mut self, dropped: [u64; 3]) {
        let why = (0..3).find(|&n| dropped[n] != self.dropped[n]).map_or(0, |n| n as u64 + 1);
        self.dropped = dropped;
        let mut n = self.inside.as_ref().map_or(0, |inside| inside.0);
        if why == 2 {
            // The counter says of which queue.
            for counter in 0..QUEUES {
                let offset = u64::from(stat::QPRDC + 64 * counter);
                if self.dev.mmio_read32(pci::BAR_CSR, offset) != 0 {
                    n = counter;
                }
            }
        }
        self.lock.model(DROP, [u64::from(n), why, 0, 0, 0, 0]);
    }

    /// Something waits and nothing is taken, though the bus is open.
    #[inline]
    fn take_turns(&mut self, input: &In, output: &Out) {
        // A frame may wait for descriptors for ever.
        let waits = input.reg_valid | input.fill_valid << 2;
        let taken = output.reg_ready | output.fill_ready | output.frame_ready;
        let wanted = waits != 0 && taken == 0 && input.wr_ready & input.rd_ready != 0;
        if taken != 0 || wanted {
            self.lock.choice(TURN, false, wanted, [u64::from(waits), 0, 0, 0, 0, 0]);
        }
    }

    #[inline]
    fn take_outputs(&mut self, input: &In, output: &Out) {
        let is_open = input.wr_ready & input.rd_ready != 0;
        if output.cause != 0 {
            self.lock.rtl(CAUSE, [u64::from(output.cause_queue), 0, 0, 0, 0, 0]);
        } else if is_open {
            self.lock.open(CAUSE);
        }
        if output.drop != 0 {
            let (n, why) = (u64::from(output.drop_queue), u64::from(output.drop));
            self.lock.rtl(DROP, [n, why, 0, 0, 0, 0]);
        } else if is_open {
            self.lock.open(DROP);
        }
        if input.wr_ready & output.wr_valid != 0 {
            let (addr, len) = (output.wr_addr, u64::from(output.wr_bytes));
            let d = &output.wr_data;
            let pair = |n: usize| u64::from(d[n + 1]) << 32 | u64::from(d[n]);
            let fields = match output.wr_is_data {
                0 => [0, addr, len, pair(0), pair(2), 0],
                _ => [1, addr, len, u64::from(output.wr_offset), 0, 0],
            };
            self.lock.rtl(POSTED, fields);
        } else if is_open {
            self.lock.open(POSTED);
        }
        if input.rd_ready & output.rd_valid != 0 {
            let (addr, len) = (output.rd_addr, u32::from(output.rd_bytes));
            self.lock.rtl(READS, [addr, u64::from(len), 0, 0, 0, 0]);
            let rtl_tag = u32::from(output.rd_tag);
            self.reads.paired(|tag| Read { rtl_tag, tag, addr, len });
        } else if is_open {
            self.lock.open(READS);
        }
    }
}
