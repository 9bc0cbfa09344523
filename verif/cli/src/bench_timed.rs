//! `pollproof bench timed`: packets a CPU-second from wire to socket, beside QEMU's e1000e.

use crate::args::BenchArgs;
use crate::progress::{cpu_seconds, cpu_seconds_of, Progress};
use pollproof_bench::packets::{self, packet_rate, PacketRate};
use pollproof_bench::qtest::{self, E1000e, QtestError};
use pollproof_bench::timed::{Nic, Options};
use pollproof_report::{table, BenchResultJson};
use std::path::{Path, PathBuf};

/// Most packets of one run, which are made before its clock starts.
const PACKETS_MAX: f64 = 250_000.0;
const RATE: &str = "packets/CPU-second";
const QEMU: &str = "qemu-system-x86_64";

/// QEMU's packets a CPU-second, or why there are none.
struct Peer {
    name: &'static str,
    value: f64,
    note: String,
}

/// The rows, and what is to be said of them.
pub fn measure(
    args: &BenchArgs,
    progress: &mut Progress,
) -> anyhow::Result<(Vec<BenchResultJson>, Vec<String>)> {
    progress.tell("e1000e of QEMU");
    let peer = peer(args.cpu_seconds);
    let (ixgbe, mlx4) = (packets::ixgbe(), packets::mlx4());
    let mut rows = Vec::new();
    let mut bench = Bench { args, progress, peer: &peer, rows: &mut rows };
    bench.nic("ixgbe/timed", &ixgbe)?;
    bench.nic("ixgbe/functional", &ixgbe.without_latencies())?;
    bench.nic("mlx4/timed", &mlx4)?;
    bench.nic("mlx4/functional", &mlx4.without_latencies())?;
    progress.done();
    let mut notes = vec![peer.note];
    notes.extend(packets::FEATURES.iter().map(|f| format!("here: {f}")));
    notes.extend(qtest::FEATURES.iter().map(|f| format!("{QEMU}: {f}")));
    Ok((rows, notes))
}

/// Prints what was measured.
pub fn print(rows: &[BenchResultJson], notes: &[String]) {
    let number = |value: f64| match value {
        v if v >= 1000.0 => format!("{v:.0}"),
        v => format!("{v:.2}"),
    };
    let or_dash = |value: f64| if value > 0.0 { number(value) } else { "-".into() };
    let cells: Vec<_> = rows
        .iter()
        .map(|row| {
            let peer = if row.peer.is_empty() { "-" } else { row.peer };
            let value = number(row.value);
            let (peer_value, ratio) = (or_dash(row.peer_value), or_dash(row.ratio));
            vec![row.id.clone(), value, row.unit.into(), peer.into(), peer_value, ratio]
        })
        .collect();
    out!("{}", table(&["id", "value", "unit", "peer", "peer value", "ratio"], &cells));
    outln!();
    notes.iter().for_each(|note| outln!("{note}"));
}

struct Bench<'a> {
    args: &'a BenchArgs,
    progress: &'a mut Progress,
    peer: &'a Peer,
    rows: &'a mut Vec<BenchResultJson>,
}

impl Bench<'_> {
    /// A NIC in one way to run, rules off and on.
    fn nic<N: Nic>(&mut self, id: &str, options: &Options<N>) -> anyhow::Result<()> {
        let mut rate = |rules: bool| -> anyhow::Result<PacketRate> {
            let what = if rules { "all rules" } else { "rules off" };
            self.progress.tell(&format!("{id}, {what}"));
            let seconds = self.args.cpu_seconds;
            let count = (seconds * PACKETS_MAX).clamp(10_000.0, PACKETS_MAX) as usize;
            Ok(packet_rate(options, rules, count, seconds, &cpu_seconds)?)
        };
        let (off, on) = (rate(false)?, rate(true)?);
        anyhow::ensure!(on.broken == 0, "{} rules are broken in {id}", on.broken);
        self.with_peer(&format!("{id}/rules-off"), off.per_second());
        self.with_peer(&format!("{id}/rules-on"), on.per_second());
        let by = on.per_second() / off.per_second().max(1e-9);
        self.alone(&format!("{id}/rules-on by rules-off"), by, "ratio");
        let steps = off.report.per_packet(off.report.steps);
        self.alone(&format!("{id}/steps"), steps, "steps/packet");
        self.alone(&format!("{id}/events"), on.events_per_packet(), "events/packet");
        Ok(())
    }

    fn with_peer(&mut self, id: &str, value: f64) {
        let (id, peer, peer_value) = (id.to_owned(), self.peer.name, self.peer.value);
        let ratio = if peer_value > 0.0 { value / peer_value } else { 0.0 };
        self.rows.push(BenchResultJson { id, value, unit: RATE, peer, peer_value, ratio });
    }

    fn alone(&mut self, id: &str, value: f64, unit: &'static str) {
        let (id, peer, peer_value, ratio) = (id.to_owned(), "", 0.0, 0.0);
        self.rows.push(BenchResultJson { id, value, unit, peer, peer_value, ratio });
    }
}

/// The file of that name that a shell would run.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// The same frames on QEMU's e1000e, if there is one.
fn peer(seconds: f64) -> Peer {
    let Some(program) = find(QEMU) else {
        let note = format!("{QEMU} is not installed: no peer");
        return Peer { name: "qemu e1000e (not installed)", value: 0.0, note };
    };
    match kicks(&program, seconds) {
        Ok(value) => {
            let note = "qemu e1000e: frames in MAC loopback, CPU time of both processes".into();
            Peer { name: "qemu e1000e", value, note }
        }
        Err(error) => {
            let note = format!("{QEMU} could not be measured: {error}");
            Peer { name: "qemu e1000e (failed)", value: 0.0, note }
        }
    }
}

/// Frames a second of the CPU time of QEMU and of this process together.
fn kicks(program: &Path, seconds: f64) -> Result<f64, QtestError> {
    let mut port = E1000e::open(program, &packets::frame())?;
    let pid = port.pid().unwrap_or(0).to_string();
    let both = || cpu_seconds() + cpu_seconds_of(&pid).unwrap_or(0.0);
    let (began, mut frames) = (both(), 0);
    loop {
        for _ in 0..16 {
            let received = port.kick()?;
            if received == 0 {
                return Err(QtestError::Device("receives nothing any more".into()));
            }
            frames += received;
        }
        let took = both() - began;
        if took >= seconds {
            return Ok(frames as f64 / took.max(1e-9));
        }
    }
}
