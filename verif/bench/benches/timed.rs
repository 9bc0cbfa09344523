//! Packets that a CPU second carries from wire to socket: `cargo bench -p pollproof-bench`.
//!
//! mlx4 and ixgbe, one queue, 60-byte frames, made before the clock starts. CPU time of the process
//! is read from `/proc/self/stat`, so that other load on the machine counts less; it has 10 ms
//! steps. `-- ixgbe` and `-- mlx4` take one of them, `-- timed` and `-- zero` one way to run,
//! `--rules-off` leaves the rules out, `--packets=N` and `--repeat=N` say how many and how often.
//! `pollproof bench timed` shows the same beside a peer.

use pollproof_bench::packets::{ixgbe, mlx4, packet_rate};
use pollproof_bench::timed::{Nic, Options};

/// CPU seconds of this process so far (`utime` + `stime`, in ticks of 1/100 s).
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |n: usize| fields.get(n).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// The number in `--name=number`.
fn number(name: &str) -> Option<usize> {
    let of =
        |arg: String| arg.strip_prefix("--")?.strip_prefix(name)?.strip_prefix('=')?.parse().ok();
    std::env::args().find_map(of)
}

/// One run, shown; gives how many rules were broken.
fn show<N: Nic>(name: &str, options: &Options<N>, rules: bool, count: usize) -> usize {
    let Ok(rate) = packet_rate(options, rules, count, 0.0, &cpu_s) else {
        println!("{name:<36} failed");
        return 0;
    };
    let report = &rate.report;
    println!(
        "{name:<36} {:>6.2} M packets/CPU-s ({} delivered, {} dropped, {:.2} steps, {:.3} polls \
         and {:.4} interrupts a packet)",
        rate.per_second() / 1e6,
        report.delivered,
        report.dropped(),
        report.per_packet(report.steps),
        report.per_packet(report.polls),
        report.per_packet(report.interrupts),
    );
    rate.broken
}

/// Rules off and on; gives how many rules were broken.
fn measure<N: Nic>(nic: &str, name: &str, options: &Options<N>, rules: bool) -> usize {
    let count = number("packets").unwrap_or(2_000_000);
    for _ in 0..number("repeat").unwrap_or(1) {
        show(&format!("{nic}, {name}, rules off"), options, false, count);
    }
    if !rules {
        return 0;
    }
    show(&format!("{nic}, {name}, all rules"), options, true, count / 4)
}

fn main() {
    let rules = !std::env::args().any(|a| a == "--rules-off");
    let wanted = |this: &str, all: [&str; 2]| {
        !all.iter().any(|n| *n != this && std::env::args().any(|a| a == *n))
    };
    let nic = |name| wanted(name, ["mlx4", "ixgbe"]);
    let way = |name| wanted(name, ["timed", "zero"]);
    let mut broken = 0;
    if nic("mlx4") && way("timed") {
        broken += measure("mlx4", "timed", &mlx4(), rules);
    }
    if nic("mlx4") && way("zero") {
        broken += measure("mlx4", "no latencies", &mlx4().without_latencies(), rules);
    }
    if nic("ixgbe") && way("timed") {
        broken += measure("ixgbe", "timed", &ixgbe(), rules);
    }
    if nic("ixgbe") && way("zero") {
        broken += measure("ixgbe", "no latencies", &ixgbe().without_latencies(), rules);
    }
    println!("rules broken: {broken}");
}
