//! The command line of `pollproof linux`.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use std::path::PathBuf;

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
    /// Linux's own driver on our device through everything that an administrator and the world do.
    Scenarios(LinuxScenariosArgs),
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
    /// NIC and driver: ixgbe (an 82599) or mlx4 (a ConnectX-3).
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
    /// Instead: this episode (as BURST;PLAN, 66x18/67q;), and it again for each point that it
    /// passed with that one delayed.
    #[arg(long, value_name = "EPISODE")]
    pub around: Option<String>,
    /// That delay, nanoseconds.
    #[arg(long, default_value_t = 2000, requires = "around")]
    pub delay: u64,
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

/// `linux scenarios`.
#[derive(ClapArgs)]
pub struct LinuxScenariosArgs {
    /// Names of scenarios; all without it.
    pub scenarios: Vec<String>,
    /// NIC and driver: ixgbe (an 82599) or mlx4 (a ConnectX-3).
    #[arg(long, default_value = "ixgbe")]
    pub nic: String,
    /// Whose clock the kernel has.
    #[arg(long, value_enum, default_value = "simulated")]
    pub time: Time,
    /// Capture to send, instead of the one that is part of this program.
    #[arg(long)]
    pub pcap: Option<PathBuf>,
    /// Each so many times; under simulated time the traces must be the same.
    #[arg(long, default_value_t = 1)]
    pub repeat: u32,
    /// Kernels beside each other; one a core without it.
    #[arg(long)]
    pub jobs: Option<usize>,
    /// Writes what guest and kernel said to files in this folder.
    #[arg(long)]
    pub logs: Option<PathBuf>,
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
