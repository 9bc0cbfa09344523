//! Adaptive moderation: `ixgbe_update_itr`, `ixgbe_set_itr`, `ixgbe_write_eitr` (6.12).
//!
//! An interval is kept in microseconds. Few packets an interval mean that somebody waits for each:
//! the interval follows their size. Many mean that a longer one costs nobody anything. Each poll is
//! a step; when the last was more than a jiffy ago (4 ms here) its counts say nothing about now,
//! and the interval begins anew.
//! Left out: the slower link speeds.

use pollproof_regs::ixgbe::eitr;
use pollproof_sync::AtomicU32;
use pollproof_sync::Ordering::Relaxed;

/// How interrupts of the queue vectors are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItrSetting {
    /// `rx-usecs 1`: the driver chooses.
    Adaptive,
    /// A fixed interval, microseconds; 0 is none.
    Usecs(u32),
}

/// Shortest interval that the driver chooses, microseconds.
pub const MIN_US: u32 = 10;
/// Longest.
pub const MAX_US: u32 = 126;
/// Step.
const INC_US: u32 = 2;
/// Beside the microseconds: the traffic is of the kind that waits.
const LATENCY: u32 = 0x80;
/// EITR of a vector begins with (`IXGBE_20K_ITR`): 50 us.
const START: u32 = 200;
const JIFFY_NS: u64 = 4_000_000;

/// What a container saw since its last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Packets.
    pub packets: u32,
    /// Their bytes.
    pub bytes: u32,
}

/// The rings of one direction of a vector (`struct ixgbe_ring_container`).
///
/// A vector whose poll has ended may be polled by a socket while its interval is still being set;
/// as in Linux nothing but the interval depends on these words.
pub struct Container {
    packets: AtomicU32,
    bytes: AtomicU32,
    /// Interval, with `LATENCY`.
    itr: AtomicU32,
    /// Last jiffy in which what was counted still says something.
    next_update: AtomicU32,
}

impl Default for Container {
    fn default() -> Self {
        let word = || AtomicU32::new(0);
        let itr = AtomicU32::new(MIN_US | LATENCY);
        Self { packets: word(), bytes: word(), itr, next_update: word() }
    }
}

impl Container {
    /// A poll handled so much.
    pub fn add(&self, traffic: Traffic) {
        self.packets.store(self.packets.load(Relaxed).saturating_add(traffic.packets), Relaxed);
        self.bytes.store(self.bytes.load(Relaxed).saturating_add(traffic.bytes), Relaxed);
    }

    /// `ixgbe_update_itr`: `eitr` is the interval of the vector as the register has it.
    pub fn update_itr(&self, eitr: u32, now_ns: u64) {
        let jiffy = (now_ns / JIFFY_NS) as u32;
        let next = if jiffy <= self.next_update.load(Relaxed) {
            let seen =
                Traffic { packets: self.packets.load(Relaxed), bytes: self.bytes.load(Relaxed) };
            next_interval(seen, eitr >> 2, self.itr.load(Relaxed))
        } else {
            MIN_US | LATENCY
        };
        self.itr.store(next, Relaxed);
        self.next_update.store(jiffy + 1, Relaxed);
        self.packets.store(0, Relaxed);
        self.bytes.store(0, Relaxed);
    }

    /// The interval, microseconds with the mode bit.
    pub fn itr(&self) -> u32 {
        self.itr.load(Relaxed)
    }
}

/// The next interval of a container after `seen`, when the vector's was `now_us`.
fn next_interval(seen: Traffic, now_us: u32, mode: u32) -> u32 {
    let longer = (now_us + INC_US).min(MAX_US);
    match (seen.packets, seen.bytes) {
        (0, _) => longer | mode & LATENCY,
        (1..4, 0..9000) => LATENCY | by_size(seen, true),
        (1..48, _) => longer,
        (48..96, _) => now_us,
        (96..256, _) => (now_us / 2).max(MIN_US),
        _ => by_size(seen, false),
    }
}

/// Interval by the average size, so that an interrupt brings about as much whatever the size. In
/// latency mode half of it.
fn by_size(seen: Traffic, latency: bool) -> u32 {
    let average = seen.bytes / seen.packets.max(1);
    // Slope and offset by range of sizes, 1/256 us.
    let wait = match average {
        0..=60 => 5120,
        61..=316 => 40 * average + 2720,
        317..=1084 => 15 * average + 11_452,
        1085..1968 => 5 * average + 22_420,
        _ => 32_256,
    };
    let wait = if latency { wait / 2 } else { wait };
    wait.div_ceil(INC_US * 256) * INC_US
}

impl ItrSetting {
    /// EITR at the start, without its control bits.
    pub(crate) fn start(self) -> u32 {
        match self {
            Self::Adaptive => START,
            Self::Usecs(us) => (us << 2).min(eitr::ITR_INT_MASK << eitr::ITR_INT_SHIFT),
        }
    }
}

/// `ixgbe_set_itr`: EITR as both directions of a vector want it.
pub(crate) fn wanted(rx: &Container, tx: &Container) -> u32 {
    (rx.itr().min(tx.itr()) & !LATENCY) << 2
}

/// What is written to EITR: the running count is left alone (`ixgbe_write_eitr`).
pub(crate) fn register(itr: u32) -> u32 {
    itr & (eitr::ITR_INT_MASK << eitr::ITR_INT_SHIFT) | eitr::CNT_WDIS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn step(packets: u32, bytes: u32, now_us: u32) -> u32 {
        next_interval(Traffic { packets, bytes }, now_us, LATENCY)
    }

    #[test]
    fn few_packets_wait_little_and_many_share_an_interrupt() {
        assert_eq!(step(1, 60, 50), LATENCY | 10, "half of 20 us");
        assert_eq!(step(3, 3 * 1500, 50), LATENCY | 60);
        assert_eq!(step(10, 600, 50), 52);
        assert_eq!(step(10, 600, 126), 126, "no longer than the longest");
        assert_eq!(step(60, 3600, 50), 50);
        assert_eq!(step(100, 6000, 50), 25);
        assert_eq!(step(100, 6000, 12), MIN_US, "no shorter than the shortest");
        assert_eq!(step(300, 300 * 60, 50), 20);
        assert_eq!(step(300, 300 * 1500, 50), 118);
        assert_eq!(step(0, 0, 50), LATENCY | 52, "the mode stays");
        assert_eq!(step(300, 300 * 1967, 50), 126);
        assert_eq!(step(300, 300 * 1968, 50), 126, "the slope ends before");
    }

    #[test]
    fn a_container_steps_with_each_poll_and_rests_after_a_pause() {
        let c = Container::default();
        let many = Traffic { packets: 300, bytes: 300 * 1500 };
        c.add(many);
        c.update_itr(200, 0);
        assert_eq!(c.itr(), 118);
        c.update_itr(200, 1_000_000);
        assert_eq!(c.itr(), 52, "the counts began again: nothing was seen");
        c.add(many);
        c.update_itr(200, 5_000_000);
        assert_eq!(c.itr(), 118, "the next jiffy");
        c.update_itr(200, 20_000_000);
        assert_eq!(c.itr(), LATENCY | MIN_US, "after a pause it begins anew");
        c.add(many);
        c.update_itr(200, 20_000_000);
        let idle = Container::default();
        assert_eq!(wanted(&c, &idle), 118 << 2, "what waits yields to what comes in bulk");
        assert_eq!(wanted(&idle, &idle), 40);
        assert_eq!(register(40), 40 | 1 << 31);
    }

    proptest! {
        #[test]
        fn an_interval_stays_within_its_limits(packets: u32, bytes: u32, now in 10..=126u32,
                                               mode in prop_oneof![Just(0u32), Just(LATENCY)]) {
            let next = next_interval(Traffic { packets, bytes }, now, mode);
            prop_assert!((MIN_US..=MAX_US).contains(&(next & !LATENCY)), "{}", next);
        }
    }
}
