//! Runs cases of a block, finds the first difference, and writes its waveform.

use crate::blocks::irq::Irqs;
use crate::blocks::mlx4::Mlx4;
use crate::blocks::rx::Rx;
use crate::blocks::tx::Tx;
use crate::blocks::Bench;
use crate::equivalence::{BlockInfo, IRQ, MLX4, RX, TX};
use crate::lock::Difference;
use crate::plants::{Plant, Side};
use crate::tape::Tape;
use crate::token;
use crate::wave::Wave;
use pollproof_sync::switch::with_bug;
use pollproof_verilated::rtl::{Block, Rtl};
use std::path::{Path, PathBuf};

/// Cycles of a case.
pub const CASE_CYCLES: u64 = 2_000;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Cases of the block.
    pub cases: u64,
    /// The first of them.
    pub first: u64,
    /// Seed of everything random.
    pub seed: u64,
    /// A planted fault.
    pub plant: Option<&'static Plant>,
    /// Where the waveform of the first difference goes.
    pub wave: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { cases: 50, first: 0, seed: 7, plant: None, wave: None }
    }
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Report {
    /// Block.
    pub block: &'static BlockInfo,
    /// Cases that were run, the one that differed included.
    pub cases: u64,
    /// Their cycles.
    pub cycles: u64,
    /// Values that were compared.
    pub compared: u64,
    /// The first difference.
    pub found: Option<Found>,
}

/// A difference, and how to see it again.
#[derive(Clone, Debug)]
pub struct Found {
    /// It.
    pub difference: Box<Difference>,
    /// Its case.
    pub case: u64,
    /// What `pollproof replay` takes.
    pub token: String,
}

/// A waveform could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the waveform {path}: {why}")]
pub struct WaveError {
    path: String,
    why: std::io::Error,
}

/// Runs cases until one differs.
pub fn run(block: &'static BlockInfo, options: &Options) -> Result<Report, WaveError> {
    let mut report = Report { block, cases: 0, cycles: 0, compared: 0, found: None };
    for case in options.first..options.first.saturating_add(options.cases) {
        let tape = || Tape::of_case(options.seed, block.id, case);
        let ended = one(block, tape(), options.plant, None);
        report.cases += 1;
        report.cycles += ended.cycles;
        report.compared += ended.compared;
        let Some(difference) = ended.difference else { continue };
        if let Some(path) = &options.wave {
            write_wave(block, tape(), options.plant, path)?;
        }
        let token = token::token(block.id, options.plant, options.seed, case);
        report.found = Some(Found { difference, case, token });
        break;
    }
    Ok(report)
}

/// Runs a list of choices, as property tests make them.
pub fn run_tape(
    block: &'static BlockInfo,
    words: Vec<u32>,
    plant: Option<&'static Plant>,
) -> Option<Box<Difference>> {
    one(block, Tape::fixed(words), plant, None).difference
}

/// Runs cases on one instance of the RTL, and writes which of its lines ran; false without the
/// feature `rtl-coverage`, or when the file cannot be written.
pub fn cover(block: &'static BlockInfo, cases: u64, seed: u64, file: &Path) -> bool {
    let tapes = (0..cases).map(|case| Tape::of_case(seed, block.id, case));
    match block.id {
        id if id == MLX4.id => cover_all::<Mlx4>(tapes, file),
        id if id == IRQ.id => cover_all::<Irqs>(tapes, file),
        id if id == RX.id => cover_all::<Rx>(tapes, file),
        id if id == TX.id => cover_all::<Tx>(tapes, file),
        _ => false,
    }
}

fn cover_all<B: Bench>(tapes: impl Iterator<Item = Tape>, file: &Path) -> bool {
    let mut rtl = Rtl::<B::Block>::new(1);
    for mut tape in tapes {
        tape.word();
        rtl.reset();
        play::<B>(&mut rtl, &mut tape, 0, None);
    }
    rtl.coverage(file)
}

/// Two ways to run the same cases; each gives the cycles that it ran.
pub struct Speed {
    /// Both sides, as [`run`] does.
    pub together: Box<dyn FnMut() -> u64>,
    /// The RTL alone, with the pins that it had there.
    pub alone: Box<dyn FnMut() -> u64>,
}

/// Cases to be measured.
pub fn speed(block: &'static BlockInfo, cases: u64, seed: u64) -> Speed {
    match block.id {
        id if id == IRQ.id => speed_of::<Irqs>(block, cases, seed),
        id if id == RX.id => speed_of::<Rx>(block, cases, seed),
        id if id == TX.id => speed_of::<Tx>(block, cases, seed),
        _ => speed_of::<Mlx4>(block, cases, seed),
    }
}

fn speed_of<B: Bench + 'static>(block: &'static BlockInfo, cases: u64, seed: u64) -> Speed {
    let tape = move |case| Tape::of_case(seed, block.id, case);
    let together = move || {
        let played = (0..cases).map(|case| self::case::<B>(tape(case), 0, None));
        played.map(|ended| ended.cycles).sum()
    };
    let recorded: Vec<_> = (0..cases).map(|case| record::<B>(tape(case))).collect();
    let alone = move || {
        let mut cycles = 0;
        for inputs in &recorded {
            let mut rtl = Rtl::<B::Block>::new(1);
            for input in inputs {
                cycles += u64::from(std::hint::black_box(rtl.cycle(input)).is_ok());
            }
        }
        cycles
    };
    Speed { together: Box::new(together), alone: Box::new(alone) }
}

/// The pins of a case.
fn record<B: Bench>(mut tape: Tape) -> Vec<<B::Block as Block>::In> {
    let mut rtl = Rtl::<B::Block>::new(tape.word());
    let mut bench = B::new(&mut tape, 0);
    let mut inputs = Vec::new();
    for _ in 0..CASE_CYCLES {
        let input = bench.drive(&mut tape);
        let Ok(output) = rtl.cycle(&input) else { break };
        bench.observe(&input, &output);
        inputs.push(input);
    }
    inputs
}

fn write_wave(
    block: &'static BlockInfo,
    tape: Tape,
    plant: Option<&'static Plant>,
    path: &Path,
) -> Result<(), WaveError> {
    let error = |why| WaveError { path: path.display().to_string(), why };
    let file = std::fs::File::create(path).map_err(error)?;
    let mut wave = Wave::new(std::io::BufWriter::new(file), block);
    one(block, tape, plant, Some(&mut wave));
    wave.finish().map_err(error)
}

/// How a case ended.
struct Ended {
    cycles: u64,
    compared: u64,
    difference: Option<Box<Difference>>,
}

/// One case of a block, by its name.
fn one(
    block: &'static BlockInfo,
    tape: Tape,
    plant: Option<&'static Plant>,
    wave: Option<&mut Wave>,
) -> Ended {
    let (code, switch) = match plant {
        Some(Plant { side: Side::Rtl(code), .. }) => (*code, ""),
        Some(Plant { side: Side::Model, id, .. }) => (0, *id),
        None => (0, ""),
    };
    with_bug(switch, || match block.id {
        id if id == MLX4.id => case::<Mlx4>(tape, code, wave),
        id if id == IRQ.id => case::<Irqs>(tape, code, wave),
        id if id == RX.id => case::<Rx>(tape, code, wave),
        id if id == TX.id => case::<Tx>(tape, code, wave),
        _ => Ended { cycles: 0, compared: 0, difference: None },
    })
}

/// One case: both sides until they differ, or to its end.
fn case<B: Bench>(mut tape: Tape, plant: u8, wave: Option<&mut Wave>) -> Ended {
    let mut rtl = Rtl::<B::Block>::new(tape.word());
    play::<B>(&mut rtl, &mut tape, plant, wave)
}

fn play<B: Bench>(
    rtl: &mut Rtl<B::Block>,
    tape: &mut Tape,
    plant: u8,
    mut wave: Option<&mut Wave>,
) -> Ended {
    let mut bench = B::new(tape, plant);
    if wave.is_some() {
        bench.lock().watch();
    }
    let mut cycles = 0;
    while cycles < CASE_CYCLES && !bench.lock().has_difference() {
        let input = bench.drive(tape);
        match rtl.cycle(&input) {
            Ok(output) => {
                bench.observe(&input, &output);
                if let Some(wave) = &mut wave {
                    wave.sample::<B::Block>(&input, &output, bench.lock());
                }
            }
            Err(failed) => bench.lock().assertion(failed.at),
        }
        cycles += 1;
    }
    let lock = bench.lock();
    Ended { cycles, compared: lock.compared(), difference: lock.take_difference() }
}
