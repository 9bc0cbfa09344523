//! Packets that a CPU second carries from wire to socket: `cargo bench -p pollproof-bench`.
//!
//! mlx4 and ixgbe, one queue, 60-byte frames, made before the clock starts. CPU time of the process
//! is read from `/proc/self/stat`, so that other load on the machine counts less; it has 10 ms
//! steps. `-- ixgbe` and `-- mlx4` take one of them, `-- timed` and `-- zero` one way to run,
//! `--rules-off` leaves the rules out, `--packets=N` and `--repeat=N` say how many and how often.

use pollproof_bench::timed::{House, IxgbeTimedOptions, Nic, Options, TimedOptions, TimedReport};
use pollproof_events::with_visitor;
use pollproof_rules::Judge;
use pollproof_wire::Packet;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// CPU seconds of this process so far (`utime` + `stime`, in ticks of 1/100 s).
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |n: usize| fields.get(n).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// One UDP frame of 60 bytes.
fn packet() -> Packet {
    let mut bytes = Vec::with_capacity(60);
    let builder = etherparse::PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
        .ipv4([10, 0, 0, 1], [10, 0, 1, 1], 64)
        .udp(1000, 9);
    let _ = builder.write(&mut bytes, &[0; 18]);
    Packet { time_ns: 0, bytes: Arc::from(bytes) }
}

/// Report and CPU seconds of a run of `count` packets.
fn run<N: Nic>(count: usize, options: &Options<N>) -> Option<(TimedReport, f64)> {
    let mut house = House::open(options).ok()?;
    house.send(std::iter::repeat_n(packet(), count));
    let began = cpu_s();
    let report = house.finish().ok()?;
    Some((report, cpu_s() - began))
}

fn show(name: &str, result: Option<(TimedReport, f64)>) {
    let Some((report, seconds)) = result else { return println!("{name:<36} failed") };
    println!(
        "{name:<36} {:>6.2} M packets/CPU-s ({} delivered, {} dropped, {:.2} steps, {:.3} polls \
         and {:.4} interrupts a packet)",
        report.delivered as f64 / seconds / 1e6,
        report.delivered,
        report.dropped(),
        report.per_packet(report.steps),
        report.per_packet(report.polls),
        report.per_packet(report.interrupts),
    );
}

/// The number in `--name=number`.
fn number(name: &str) -> Option<usize> {
    let of =
        |arg: String| arg.strip_prefix("--")?.strip_prefix(name)?.strip_prefix('=')?.parse().ok();
    std::env::args().find_map(of)
}

/// Rules off and on; gives how many rules were broken.
fn measure<N: Nic>(nic: &str, name: &str, options: &Options<N>, rules: bool) -> usize {
    let count = number("packets").unwrap_or(2_000_000);
    for _ in 0..number("repeat").unwrap_or(1) {
        show(&format!("{nic}, {name}, rules off"), run(count, options));
    }
    if !rules {
        return 0;
    }
    let judge = Rc::new(RefCell::new(Judge::new()));
    let judged = with_visitor(judge.clone(), || run(count / 4, options));
    show(&format!("{nic}, {name}, all rules"), judged);
    let broken = judge.borrow().findings().len();
    broken
}

fn main() {
    let rules = !std::env::args().any(|a| a == "--rules-off");
    let wanted = |this: &str, all: [&str; 2]| {
        !all.iter().any(|n| *n != this && std::env::args().any(|a| a == *n))
    };
    let nic = |name| wanted(name, ["mlx4", "ixgbe"]);
    let way = |name| wanted(name, ["timed", "zero"]);
    // Slow enough that nothing is dropped: 4 million frames a second of simulated time.
    let pacing = pollproof_wire::Pacing::Fixed { gap_ps: 250_000 };
    let mut broken = 0;
    if nic("mlx4") {
        let options = TimedOptions { pacing, ..TimedOptions::default() };
        if way("timed") {
            broken += measure("mlx4", "timed", &options, rules);
        }
        if way("zero") {
            broken += measure("mlx4", "no latencies", &options.without_latencies(), rules);
        }
    }
    if nic("ixgbe") {
        let options = IxgbeTimedOptions { pacing, ..IxgbeTimedOptions::default() };
        if way("timed") {
            broken += measure("ixgbe", "timed", &options, rules);
        }
        if way("zero") {
            broken += measure("ixgbe", "no latencies", &options.without_latencies(), rules);
        }
    }
    println!("rules broken: {broken}");
}
