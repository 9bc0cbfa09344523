//! Cycles a CPU-second: lock-step beside the RTL alone with the same stimulus, and completions of
//! the model beside those of the RTL. `cargo bench -p pollproof-lockstep --features rtl`.

use pollproof_connectx_3::{Completion, ConnectX3, Params};
use pollproof_lockstep::equivalence::BLOCKS;
use pollproof_lockstep::run::speed;
use pollproof_regs::mlx4::{be, db, CqContext, EqContext, BAR_UAR};
use pollproof_verilated::rtl::pins::mlx4_completion::{Block, In};
use pollproof_verilated::rtl::Rtl;
use std::hint::black_box;

const CASES: u64 = 300;
const COMPLETIONS: u32 = 2_000_000;
const ENTRIES: u32 = 64;
/// Completions between two arms.
const BATCH: u32 = 16;

/// Processor seconds of this thread (proc(5), schedstat: nanoseconds on a processor come first).
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds: Option<f64> = text.split(' ').next().and_then(|ns| ns.parse().ok());
    nanoseconds.unwrap_or(f64::NAN) / 1e9
}

/// What is done in a CPU-second: the best of three.
fn rate(mut work: impl FnMut() -> u64) -> f64 {
    let once = |_| {
        let begun = cpu_seconds();
        let done = work();
        done as f64 / (cpu_seconds() - begun)
    };
    (0..3).map(once).fold(0.0, f64::max)
}

/// The model alone: completions, an arm and an EQ doorbell a batch, and all requests taken.
fn model_completions() -> u64 {
    let mut dev = ConnectX3::new(Params::zero());
    let eq = EqContext { buf: 0x1000, log_size: 6, vector: 1, period_us: 0, max_count: 0 };
    dev.sw2hw_eq(0, eq).expect("an EQ");
    let cq = CqContext {
        buf: 0x2000,
        log_size: ENTRIES.ilog2(),
        stride_bytes: 32,
        eqn: 0,
        period_us: 0,
        max_count: 0,
        db_record: 0x3000,
        sw_init: true,
    };
    dev.sw2hw_cq(0, cq).expect("a CQ");
    for n in 0..COMPLETIONS {
        if n % BATCH == 0 {
            let sn = dev.cq_view(0).and_then(|cq| cq.next_sn).unwrap_or(1);
            let first = u64::from(be(sn << db::SN_SHIFT | db::CMD_NEXT));
            let ci = u64::from(be(n & db::INDEX_MASK));
            dev.mmio_write64(BAR_UAR, db::CQ_DOORBELL, first | ci << 32);
            let events = dev.eq_view(0).map_or(0, |eq| eq.producer);
            dev.mmio_write32(BAR_UAR, db::eq_offset(0), be(events & db::INDEX_MASK | db::EQ_ARM));
        }
        let what = Completion { number: u64::from(n), byte_count: 60, ..Completion::default() };
        black_box(dev.complete_alone(0, u64::from(n), &what));
        while let Some(out) = dev.pop() {
            black_box(out);
        }
    }
    u64::from(COMPLETIONS)
}

/// The RTL with a completion in every cycle that takes one, and the same doorbells.
fn rtl_completions() -> u64 {
    let mut rtl = Rtl::<Block>::new(1);
    let mut pins = In { wr_ready: 1, rd_ready: 1, ..In::default() };
    let mut commands = vec![];
    pins.cmd_buf = 0x1000;
    pins.cmd_log_size = ENTRIES.ilog2() as u8;
    pins.cmd_sw_init = 1;
    pins.cmd_record = 0x3000;
    commands.extend([2_u8, 0]);
    let (mut written, mut armed_at, mut sn, mut events) = (0, u32::MAX, 1, 0);
    // A queue that stands still would stay so: it is no rate.
    for _ in 0..2 * COMPLETIONS {
        if written == COMPLETIONS / 4 {
            break;
        }
        if pins.cmd_valid == 0 {
            if let Some(op) = commands.pop() {
                (pins.cmd_op, pins.cmd_valid) = (op, 1);
                if op == 6 {
                    (pins.cmd_ci, pins.cmd_arm) = (events & 0x00ff_ffff, 1);
                }
            } else if written % BATCH == 0 && armed_at != written {
                armed_at = written;
                pins.cmd_ci = written & 0x00ff_ffff;
                (pins.cmd_op, pins.cmd_valid, pins.cmd_arm) = (5, 1, 2);
                pins.cmd_sn = sn;
                commands.push(6);
            }
        }
        pins.cpl_valid = u8::from(commands.is_empty() && pins.cmd_valid == 0);
        pins.cpl_arrival = written;
        let Ok(output) = rtl.cycle(&pins) else { break };
        if output.cmd_ready != 0 {
            pins.cmd_valid = 0;
        }
        // A new number for each event, as a driver has it.
        if output.fired != 0 {
            (sn, events) = ((sn + 1) & 3, events + 1);
        }
        written += u32::from(output.cpl_step != 0 && output.cpl_result == 1);
    }
    assert_eq!(written, COMPLETIONS / 4, "the queue stands still");
    u64::from(written)
}

fn main() {
    println!("block, million cycles a CPU-second: lock-step, RTL alone, ratio");
    for block in BLOCKS {
        let mut both = speed(block, CASES, 7);
        let together = rate(|| (both.together)()) / 1e6;
        let alone = rate(|| (both.alone)()) / 1e6;
        println!("{:<10} {together:6.2} {alone:6.2} {:5.2}", block.id, together / alone);
    }
    let (model, rtl) = (rate(model_completions) / 1e6, rate(rtl_completions) / 1e6);
    println!("mlx4-cq, million completions a CPU-second: model, RTL, ratio");
    println!("{:<10} {model:6.2} {rtl:6.2} {:5.2}", "mlx4-cq", model / rtl);
}
