//! The command line.

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
    /// Unmodified Linux drivers on our devices, in a kernel that is an ordinary process.
    #[command(subcommand)]
    Linux(LinuxCommand),
    /// Measures our explorer and our timed runs beside their peers, in work a CPU-second.
    Bench(BenchArgs),
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
    /// NIC and driver: mlx4 (a ConnectX-3) or ixgbe (an 82599).
    #[arg(long)]
    pub nic: String,
    /// Capture to send in (pcap or pcapng, Ethernet).
    #[arg(long)]
    pub pcap: PathBuf,
    /// Writes what the sockets got, in order of arrival.
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Receive queues: for mlx4 a power of two up to 64, for ixgbe 1 to 16.
    #[arg(long, default_value_t = 1)]
    pub queues: u32,
    /// Sockets poll their queue for so many microseconds before they sleep.
    #[arg(long, default_value_t = 0, value_name = "USEC")]
    pub busy_poll: u64,
    /// Seed of everything random.
    #[arg(long, default_value_t = 7)]
    pub seed: u64,
}

/// `linux`.
#[derive(Subcommand)]
pub enum LinuxCommand {
    /// Builds kernels from Debian's source package and keeps them in the user's cache.
    Build(LinuxBuildArgs),
    /// Boots a kernel whose own driver drives our device, and sends it frames.
    Run(LinuxRunArgs),
    /// Searches for delays of device, bus and CPU under which the driver goes wrong.
    Explore(LinuxExploreArgs),
    /// Compares our driver's data path with that of Linux, step by step.
    Conformance(LinuxConformanceArgs),
}

/// Which kernel, and where it is.
#[derive(ClapArgs)]
pub struct LinuxKernelArgs {
    /// Kernel: plain, sanitizers or planted.
    #[arg(long, default_value = "sanitizers")]
    pub kernel: String,
    /// Folder that kernels are kept in, instead of pollproof in the user's cache directory.
    #[arg(long)]
    pub cache: Option<PathBuf>,
    /// Bugs that are switched on in the planted kernel: full-budget, early-refill.
    #[arg(long, value_delimiter = ',')]
    pub plant: Vec<String>,
}

/// Whose time a kernel lives in.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Time {
    /// The machine's.
    Real,
    /// Ours: a run is repeatable bit for bit.
    Simulated,
}

/// `linux run`.
#[derive(ClapArgs)]
pub struct LinuxRunArgs {
    /// NIC and driver: ixgbe (an 82599).
    pub nic: String,
    /// Capture to send in (pcap or pcapng, Ethernet); without it ARP and ICMP.
    #[arg(long)]
    pub pcap: Option<PathBuf>,
    /// Whose time.
    #[arg(long, value_enum, default_value = "simulated")]
    pub time: Time,
    /// Seed of the faults on the wire.
    #[arg(long, default_value_t = 7)]
    pub seed: u64,
    /// What goes wrong: loss, duplicate, corrupt, reorder, truncate (=PPM), remove-at (=ACCESS).
    #[arg(long, default_value = "", value_name = "PLAN")]
    pub faults: String,
    /// Delays under simulated time: posted, dma-write, dma-read, msix, wire, cpu (=NS or <NS).
    #[arg(long, default_value = "", value_name = "PLAN")]
    pub timing: String,
    /// Prints what guest and kernel said.
    #[arg(long)]
    pub show_log: bool,
    /// Kernel.
    #[command(flatten)]
    pub kernel: LinuxKernelArgs,
}

/// `linux explore`.
#[derive(ClapArgs)]
pub struct LinuxExploreArgs {
    /// NIC and driver: ixgbe (an 82599).
    pub nic: String,
    /// Episodes: first a sweep of bursts and delays, then what the seed draws.
    #[arg(long, default_value_t = 1000)]
    pub episodes: u32,
    /// Seed of the episodes behind the sweep.
    #[arg(long, default_value_t = 7)]
    pub seed: u64,
    /// Receive descriptors: more than a budget of 64, and few, so that they go round often.
    #[arg(long, default_value_t = 80)]
    pub ring: u32,
    /// Interval of moderation, microseconds; 0 is none, 1 is adaptive.
    #[arg(long, default_value_t = 100)]
    pub rx_usecs: u32,
    /// Kernel.
    #[command(flatten)]
    pub kernel: LinuxKernelArgs,
}

/// `linux conformance`.
#[derive(ClapArgs)]
pub struct LinuxConformanceArgs {
    /// Writes what Linux did to this folder.
    #[arg(long, value_name = "DIR")]
    pub bless: Option<PathBuf>,
    /// Kernel.
    #[command(flatten)]
    pub kernel: LinuxKernelArgs,
}

/// `linux build`.
#[derive(ClapArgs)]
pub struct LinuxBuildArgs {
    /// Which: plain, sanitizers, planted (with bugs that can be switched on) or all.
    #[arg(long, default_value = "all", value_delimiter = ',')]
    pub kernel: Vec<String>,
    /// Folder to keep kernels in, instead of pollproof in the user's cache directory.
    #[arg(long)]
    pub cache: Option<PathBuf>,
    /// Compilers beside each other; one a core without it.
    #[arg(long)]
    pub jobs: Option<usize>,
    /// Keeps source and objects, about 1 GB, so that the next build is faster.
    #[arg(long)]
    pub keep_source: bool,
}
