//! The command line.

pub use crate::args_linux::*;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Co-verifies network-driver logic and the hardware it drives.
#[derive(Parser)]
#[command(name = "pollproof", version, about, after_help = EXIT_CODES)]
pub struct Args {
    /// No progress on standard error.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 something was checked and nothing found; 1 findings; \
                          2 usage; 3 inconclusive; 4 nothing selected; \
                          5 the machine lacks what was asked for; 70 internal";

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// The main job: documented bugs both ways, scenarios, questions, the capture.
    Check(CheckArgs),
    /// Shows bugs, scenarios, questions and rules.
    List,
    /// Tells more of a rule, bug, scenario or question.
    Explain {
        /// Its id.
        id: String,
    },
    /// Replays a finding from its token.
    Replay {
        /// The token, as printed with the finding.
        token: String,
    },
    /// Explores one scenario.
    Explore(ExploreArgs),
    /// Takes every barrier of the drivers out in turn and tells which rule misses it.
    Barriers(BarrierArgs),
    /// Sends a capture through a NIC, its driver and the network core.
    Run(RunArgs),
    /// Runs the RTL beside the models, cycle by cycle, and explains the first difference.
    Lockstep(LockstepArgs),
    /// Unmodified Linux drivers on our devices, in a kernel that is an ordinary process.
    #[command(subcommand)]
    Linux(LinuxCommand),
    /// Measures our explorer and our timed runs beside their peers, in work a CPU-second.
    Bench(BenchArgs),
    /// Puts published figures beside what the models give.
    Figures(FiguresArgs),
    /// Tells what this machine has and what is missing.
    Doctor,
    /// Prints shell completions.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// Output format.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs; see `schema_version`.
    Json,
}

/// How packets go up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum GroMode {
    /// Each as it came.
    Off,
    /// Merged, and taken up one by one.
    On,
    /// Merged, and taken up as lists of eight.
    Batched,
}

/// Engine to use.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// Our explorer: execution graphs under SC, TSO and RC11.
    Explore,
    /// Our explorer's other search: SC interleavings by source sets.
    Schedules,
    /// loom.
    Loom,
    /// shuttle.
    Shuttle,
    /// All of them, each for what it can run.
    All,
}

/// How much to do.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// The default: under a minute.
    Smoke,
    /// Ten times the limits.
    Pr,
    /// A hundred times the limits.
    Nightly,
}

/// Limits shared by several commands.
#[derive(ClapArgs, Clone, Copy)]
pub struct LimitArgs {
    /// How much to do before a run is cut and called UNKNOWN.
    #[arg(long, value_enum, default_value = "smoke")]
    pub profile: Profile,
    /// Seed of everything random.
    #[arg(long, default_value_t = 7)]
    pub seed: u64,
    /// Executions before a run is cut, instead of the profile's.
    #[arg(long)]
    pub max_executions: Option<u64>,
}

/// `check`.
#[derive(ClapArgs)]
pub struct CheckArgs {
    /// Only what has one of these in its id.
    pub filters: Vec<String>,
    /// Engine; the default is our explorer and loom, and for each bug the engine that sees it.
    #[arg(long, value_enum)]
    pub engine: Option<Engine>,
    /// Runs at a time; as many as there are processors if it is not given.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: Option<u16>,
    /// Output on standard output.
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// Limits.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// `explore`.
#[derive(ClapArgs)]
pub struct ExploreArgs {
    /// Id of the scenario.
    pub scenario: String,
    /// Switches a documented bug on.
    #[arg(long)]
    pub bug: Option<String>,
    /// Engine.
    #[arg(long, value_enum, default_value = "explore")]
    pub engine: Engine,
    /// Memory model of our explorer; without it each of SC, TSO and RC11.
    #[arg(long, value_enum)]
    pub model: Option<Model>,
    /// Workers that share the search of our explorer.
    #[arg(long, default_value_t = 1)]
    pub jobs: usize,
    /// Writes what is left to this file every few seconds, and when the time is over (one model).
    #[arg(long, requires = "model")]
    pub checkpoint: Option<PathBuf>,
    /// Processor seconds between two checkpoints.
    #[arg(long, default_value_t = 5.0, requires = "checkpoint")]
    pub checkpoint_every: f64,
    /// Goes on from this file.
    #[arg(long, requires = "model")]
    pub resume: Option<PathBuf>,
    /// Processor seconds before the search is cut and called UNKNOWN.
    #[arg(long)]
    pub cpu_seconds: Option<f64>,
    /// Limits.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// Memory model.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Model {
    /// Sequential consistency.
    Sc,
    /// x86.
    Tso,
    /// C11 as repaired (RC11).
    Rc11,
}

/// `bench`.
#[derive(ClapArgs)]
pub struct BenchArgs {
    /// What to measure; all without it.
    #[arg(value_enum)]
    pub what: Option<Bench>,
    /// Processor seconds for each figure.
    #[arg(long, default_value_t = 1.0)]
    pub cpu_seconds: f64,
    /// Output on standard output.
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

/// What can be measured.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Bench {
    /// The engines that choose the order, beside loom and shuttle.
    Explore,
    /// Packets from wire to socket, beside QEMU's e1000e where QEMU is installed.
    Timed,
    /// A paced packet through fq, with up to a million flows.
    Fq,
    /// A packet in memory through GRO to its socket, with batches and without.
    Gro,
}

/// `figures`.
#[derive(ClapArgs)]
pub struct FiguresArgs {
    /// Which; all without it.
    #[arg(value_enum)]
    pub what: Option<Figure>,
    /// Simulated time of each run.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub milliseconds: u32,
    /// Seed of everything random.
    #[arg(long, default_value_t = 7)]
    pub seed: u64,
    /// Writes plots into this folder.
    #[arg(long, value_name = "FOLDER")]
    pub svg: Option<PathBuf>,
    /// Output on standard output.
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

/// Figures that were published.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Figure {
    /// Interrupts with and without the timer slack of fq.
    Fq,
}

/// `lockstep`.
#[derive(ClapArgs)]
pub struct LockstepArgs {
    /// Only blocks that have this in their name.
    pub block: Option<String>,
    /// Cases of a block, of 2,000 cycles each.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(..=10_000_000))]
    pub cases: u64,
    /// Seed of everything random.
    #[arg(long, default_value_t = 7)]
    pub seed: u64,
    /// Writes the waveform of the first difference (VCD), with both sides on one time base.
    #[arg(long, value_name = "FILE")]
    pub wave: Option<PathBuf>,
    /// Switches a planted fault on.
    #[arg(long, value_name = "ID")]
    pub plant: Option<String>,
    /// Runs every planted fault in turn; each must be found.
    #[arg(long, conflicts_with_all = ["plant", "wave"])]
    pub planted: bool,
    /// Shows blocks, what is compared, and planted faults; runs nothing.
    #[arg(long)]
    pub list: bool,
}

/// `barriers`.
#[derive(ClapArgs)]
pub struct BarrierArgs {
    /// Only sites whose path has this in it.
    #[arg(default_value = "driver/")]
    pub path: String,
    /// Limits.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// `run`.
#[derive(ClapArgs)]
pub struct RunArgs {
    /// NIC and driver: mlx4 (a ConnectX-3), ixgbe (an 82599) or sfc (an EF10).
    #[arg(long)]
    pub nic: String,
    /// Capture to send in (pcap or pcapng, Ethernet).
    #[arg(long)]
    pub pcap: PathBuf,
    /// Writes what the sockets got, in order of arrival.
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Receive queues: for mlx4 a power of two up to 64, for ixgbe 1 to 16, for sfc 1 to 32.
    #[arg(long, default_value_t = 1)]
    pub queues: u32,
    /// Whether packets are merged on their way up: not at all, merged and each taken up by itself,
    /// or taken up in batches of eight. All three are run and shown side by side.
    #[arg(long, value_name = "MODE")]
    pub gro: Option<GroMode>,
    /// Sockets poll their queue for so many microseconds before they sleep.
    #[arg(long, default_value_t = 0, value_name = "USEC")]
    pub busy_poll: u64,
    /// Seed of everything random.
    #[arg(long, default_value_t = 7)]
    pub seed: u64,
}
