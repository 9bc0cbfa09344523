//! `pollproof bench`: what is measured, and our explorer beside its peers, on the same scenarios in
//! one run.

use crate::args::{Bench, BenchArgs, Format};
use crate::bench_timed;
use crate::exit;
use crate::progress::{cpu_seconds, Progress};
use crate::run;
use pollproof_bench::flows::in_turns;
use pollproof_bench::rates::{rate, Rate, HASH, STATE_LOCK};
use pollproof_bench::replay::ns_per_packet;
use pollproof_bench::scenario::{EngineKind, Scenario};
use pollproof_bench::{GroOptions, NetOptions};
use pollproof_bugs::scenarios::{DEL_FREE_2, LOCK_3};
use pollproof_figures::speed;
use pollproof_report::{table, BenchJson, BenchResultJson, SCHEMA_VERSION};
use pollproof_wire::read_file;

/// The lock of three threads and a hash with two RCU readers: bare, and as part of the house.
const SCENARIOS: [&Scenario; 4] = [&STATE_LOCK, &HASH, &LOCK_3, &DEL_FREE_2];

/// Measures and prints.
pub fn bench(args: &BenchArgs, quiet: bool) -> anyhow::Result<u8> {
    let mut progress = Progress::new(quiet);
    let wants = |what| args.what.is_none_or(|only| only == what);
    let (mut results, mut notes) = (Vec::new(), Vec::new());
    if wants(Bench::Explore) {
        let rows = explore(args, &mut progress);
        if args.format == Format::Text {
            print(&rows);
        }
        results.extend(json(&rows));
    }
    if wants(Bench::Timed) {
        let (rows, remarks) = bench_timed::measure(args, &mut progress)?;
        if args.format == Format::Text {
            bench_timed::print(&rows, &remarks);
        }
        results.extend(rows);
        notes.extend(remarks);
    }
    if wants(Bench::Fq) {
        let rows = fq(args, &mut progress);
        if args.format == Format::Text {
            bench_timed::print(&rows, &[]);
        }
        results.extend(rows);
    }
    if wants(Bench::Gro) {
        let rows = gro(args, &mut progress)?;
        if args.format == Format::Text {
            bench_timed::print(&rows, &[]);
        }
        results.extend(rows);
    }
    if args.format == Format::Json {
        let json = BenchJson { schema_version: SCHEMA_VERSION, results, notes };
        outln!("{}", serde_json::to_string_pretty(&json)?);
    }
    Ok(exit::CLEAN)
}

/// Enqueue and dequeue of a paced packet.
fn fq(args: &BenchArgs, progress: &mut Progress) -> Vec<BenchResultJson> {
    let packets = (args.cpu_seconds * 1e6).clamp(1e4, 1e7) as u64;
    let mut rows = Vec::new();
    for flows in speed::FLOWS {
        progress.tell(&format!("fq with {flows} flows"));
        let value = speed::ns_per_packet(flows, packets, &cpu_seconds);
        let (id, unit) = (format!("fq/paced/{flows}-flows"), "CPU-ns/packet");
        rows.push(BenchResultJson { id, value, unit, peer: "", peer_value: 0.0, ratio: 0.0 });
    }
    progress.done();
    rows
}

/// Polls of a full budget.
const BURST: usize = 64;

/// The committed capture, and trains of some flows in turns: with GRO off, packets taken up one by
/// one, and in batches of eight; the peer of a batch is one by one.
fn gro(args: &BenchArgs, progress: &mut Progress) -> anyhow::Result<Vec<BenchResultJson>> {
    let mut rows = Vec::new();
    let mut inputs = Vec::new();
    if let Some(path) = run::committed("tcp_udp.pcap") {
        inputs.push(("capture".to_owned(), read_file(&path)?.packets));
    }
    for flows in [1, 8, 64] {
        inputs.push((format!("{flows}-flows"), in_turns(flows, 2048, 1448)));
    }
    for (name, packets) in inputs {
        let mut measure = |how: &str, gro| {
            progress.tell(&format!("gro, {name}, {how}"));
            let options = NetOptions { gro, ..NetOptions::default() };
            ns_per_packet(&options, &packets, BURST, args.cpu_seconds, &cpu_seconds)
        };
        let off = measure("off", None);
        let one = measure("one by one", Some(GroOptions::new(false, 1)));
        let batch = measure("batched", Some(GroOptions::new(false, 8)));
        let unit = "CPU-ns/packet";
        for (how, value, peer, peer_value) in
            [("off", off, "", 0.0), ("on", one, "off", off), ("batched", batch, "on", one)]
        {
            let ratio = if peer_value > 0.0 { value / peer_value } else { 0.0 };
            let id = format!("gro/{name}/{how}");
            rows.push(BenchResultJson { id, value, unit, peer, peer_value, ratio });
        }
    }
    progress.done();
    Ok(rows)
}

fn explore(args: &BenchArgs, progress: &mut Progress) -> Vec<Row> {
    let mut rows = Vec::new();
    for scenario in SCENARIOS {
        for engine in EngineKind::ALL {
            progress.tell(&format!("{} under {}", scenario.id, engine.name()));
            let rate = rate(scenario, engine, args.cpu_seconds, &cpu_seconds);
            rows.push((scenario, engine, rate));
        }
    }
    progress.done();
    rows
}

type Row = (&'static Scenario, EngineKind, Rate);

fn peer<'a>(rows: &'a [Row], scenario: &Scenario, engine: EngineKind) -> Option<&'a Rate> {
    rows.iter().find(|r| r.0.id == scenario.id && r.1 == engine).map(|r| &r.2)
}

fn print(rows: &[Row]) {
    let cells: Vec<_> = rows
        .iter()
        .map(|(scenario, engine, rate)| {
            let times = |other| match peer(rows, scenario, other) {
                Some(peer) if !matches!(engine, EngineKind::Loom | EngineKind::Shuttle) => {
                    format!("{:.1}", rate.per_second() / peer.per_second())
                }
                _ => "-".into(),
            };
            vec![
                scenario.id.into(),
                engine.name().into(),
                engine.short_model().into(),
                rate.once.to_string(),
                format!("{:.0}", rate.per_second()),
                times(EngineKind::Loom),
                times(EngineKind::Shuttle),
            ]
        })
        .collect();
    let header = ["scenario", "engine", "model", "runs", "a CPU-second", "x loom", "x shuttle"];
    out!("{}", table(&header, &cells));
    outln!("\nruns: executions of one whole search; of loom and shuttle at most 2000 of them");
}

fn json(rows: &[Row]) -> Vec<BenchResultJson> {
    let results = rows.iter().flat_map(|(scenario, engine, rate)| {
        [EngineKind::Loom, EngineKind::Shuttle].map(|other| {
            let value = rate.per_second();
            let peer_value = peer(rows, scenario, other).map_or(0.0, Rate::per_second);
            BenchResultJson {
                id: format!("{}/{}/{}", scenario.id, engine.name(), engine.short_model()),
                value,
                unit: "executions/CPU-second",
                peer: other.name(),
                peer_value,
                ratio: value / peer_value.max(1e-9),
            }
        })
    });
    results.collect()
}
