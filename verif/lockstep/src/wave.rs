//! A waveform with both sides on one time base, as VCD: the pins of the RTL, the last value of each
//! observable on either side with a count, and where they differ first.
//!
//! A cycle is 10 ns: the model has no clock of its own, and the RTL's is whatever it is run at.

use crate::equivalence::BlockInfo;
use crate::lock::{Lock, Watched, Who};
use pollproof_verilated::rtl::Block;
use std::io::{self, BufWriter};
use vcd::{IdCode, TimescaleUnit, Value, VarType};

/// A signal and what it last was.
struct Signal {
    id: IdCode,
    bits: u32,
    last: Option<[u32; 8]>,
}

/// Signals of an observable on one side: how many values there were, and the last.
struct Shown {
    count: Signal,
    counted: u32,
    fields: Vec<Signal>,
}

/// The file as it grows.
pub struct Wave {
    vcd: vcd::Writer<BufWriter<std::fs::File>>,
    block: &'static BlockInfo,
    pins: Vec<Signal>,
    sides: [Vec<Shown>; 2],
    differs: Option<Signal>,
    clock: Option<IdCode>,
    failed: Option<io::Error>,
}

fn words(value: &[u32]) -> [u32; 8] {
    let mut all = [0; 8];
    for (to, from) in all.iter_mut().zip(value) {
        *to = *from;
    }
    all
}

impl Wave {
    /// A file of a block.
    pub fn new(file: BufWriter<std::fs::File>, block: &'static BlockInfo) -> Self {
        Self {
            vcd: vcd::Writer::new(file),
            block,
            pins: Vec::new(),
            sides: [Vec::new(), Vec::new()],
            differs: None,
            clock: None,
            failed: None,
        }
    }

    /// What was written is on its way to the file.
    pub fn finish(mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.vcd.flush(),
        }
    }

    /// One cycle, after both sides did theirs.
    pub fn sample<B: Block>(&mut self, input: &B::In, output: &B::Out, lock: &Lock) {
        if self.failed.is_none() {
            self.failed = self.try_sample::<B>(input, output, lock).err();
        }
    }

    fn try_sample<B: Block>(
        &mut self,
        input: &B::In,
        output: &B::Out,
        lock: &Lock,
    ) -> io::Result<()> {
        let mut pins = Vec::new();
        B::show(input, output, &mut |name, bits, value| pins.push((name, bits, words(value))));
        if self.clock.is_none() {
            self.header(&pins)?;
        }
        self.vcd.timestamp(lock.cycle() * 10)?;
        if let Some(clock) = self.clock {
            self.vcd.change_scalar(clock, Value::V1)?;
        }
        for (signal, (_, _, value)) in self.pins.iter_mut().zip(&pins) {
            signal.change(&mut self.vcd, *value)?;
        }
        for &Watched { who, seen, is_new } in lock.watched() {
            let Some(shown) = self.sides[who as usize].get_mut(seen.channel) else { continue };
            shown.counted += u32::from(is_new);
            shown.count.change(&mut self.vcd, words(&[shown.counted]))?;
            for (signal, value) in shown.fields.iter_mut().zip(seen.fields) {
                signal.change(&mut self.vcd, words(&[value as u32, (value >> 32) as u32]))?;
            }
        }
        if let Some(signal) = &mut self.differs {
            signal.change(&mut self.vcd, words(&[u32::from(lock.has_difference())]))?;
        }
        self.vcd.timestamp(lock.cycle() * 10 + 5)?;
        if let Some(clock) = self.clock {
            self.vcd.change_scalar(clock, Value::V0)?;
        }
        if lock.has_difference() {
            // So that its last cycle can be seen.
            self.vcd.timestamp(lock.cycle() * 10 + 30)?;
        }
        Ok(())
    }

    fn header(&mut self, pins: &[(&'static str, u32, [u32; 8])]) -> io::Result<()> {
        let vcd = &mut self.vcd;
        vcd.timescale(1, TimescaleUnit::NS)?;
        vcd.add_module("lockstep")?;
        self.clock = Some(vcd.add_wire(1, "clk")?);
        self.differs = Some(Signal::new(vcd, "differs", 1)?);
        for (who, name) in [(Who::Model, "model"), (Who::Rtl, "rtl")] {
            vcd.add_module(name)?;
            for observable in self.block.observables {
                vcd.add_module(observable.name)?;
                let count = Signal::new(vcd, "count", 32)?;
                let field = |name: &&str| Signal::new(vcd, &name.replace([' ', '-'], "_"), 64);
                let fields = observable.fields.iter().map(field).collect::<io::Result<_>>()?;
                self.sides[who as usize].push(Shown { count, counted: 0, fields });
                vcd.upscope()?;
            }
            vcd.upscope()?;
        }
        vcd.add_module("pins")?;
        for (name, bits, _) in pins {
            self.pins.push(Signal::new(vcd, name, *bits)?);
        }
        vcd.upscope()?;
        vcd.upscope()?;
        vcd.enddefinitions()
    }
}

impl Signal {
    fn new(
        vcd: &mut vcd::Writer<BufWriter<std::fs::File>>,
        name: &str,
        bits: u32,
    ) -> io::Result<Self> {
        let id = vcd.add_var(VarType::Wire, bits, name, None)?;
        Ok(Self { id, bits, last: None })
    }

    fn change(
        &mut self,
        vcd: &mut vcd::Writer<BufWriter<std::fs::File>>,
        value: [u32; 8],
    ) -> io::Result<()> {
        if self.last == Some(value) {
            return Ok(());
        }
        self.last = Some(value);
        let bit = |n: u32| value[(n / 32) as usize] >> (n % 32) & 1 != 0;
        if self.bits == 1 {
            return vcd.change_scalar(self.id, bit(0));
        }
        vcd.change_vector(self.id, (0..self.bits).rev().map(|n| Value::from(bit(n))))
    }
}
