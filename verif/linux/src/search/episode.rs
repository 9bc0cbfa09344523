//! An episode of a search: a burst of datagrams, and the delays that hold while it goes on.

use crate::packets;
use crate::timing::{Plan, PlanError, Point, POINTS};
use crate::world::Coming;
use pollproof_sim::Streams;
use std::fmt;
use std::str::FromStr;

/// Port at which the guest echoes.
pub const ECHO_PORT: u16 = 7;
/// Port at which it takes and says nothing.
pub const SINK_PORT: u16 = 9;
/// Most datagrams of a burst.
pub const COUNT_MAX: u32 = 4096;
/// Most bytes of a datagram's payload.
pub const BYTES_MAX: u32 = 1472;

/// Bytes of a payload that say which datagram it is.
const HEAD: usize = 8;

/// A burst and its delays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Episode {
    /// Datagrams.
    pub count: u32,
    /// From the start of one to the start of the next, nanoseconds.
    pub gap_ns: u64,
    /// Bytes of payload, at least 8.
    pub bytes: u32,
    /// Only the last is answered: what is sent interrupts too, and would hide what is forgotten.
    pub quiet: bool,
    /// Delays.
    pub plan: Plan,
}

/// Why a text is no episode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EpisodeError {
    /// The burst.
    #[error("{0:?} is no burst: COUNTxBYTES/GAP, as 130x18/67, and q behind it for a quiet one")]
    Burst(String),
    /// A size.
    #[error("a burst has 1 to {COUNT_MAX} datagrams of 8 to {BYTES_MAX} bytes, a second apart")]
    Size,
    /// The delays.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl fmt::Display for Episode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quiet = if self.quiet { "q" } else { "" };
        write!(f, "{}x{}/{}{quiet};{}", self.count, self.bytes, self.gap_ns, self.plan)
    }
}

impl FromStr for Episode {
    type Err = EpisodeError;

    fn from_str(text: &str) -> Result<Self, EpisodeError> {
        let (burst, plan) = text.split_once(';').unwrap_or((text, ""));
        let wrong = || EpisodeError::Burst(burst.chars().take(60).collect());
        let (count, rest) = burst.split_once('x').ok_or_else(wrong)?;
        let (bytes, gap_ns) = rest.split_once('/').ok_or_else(wrong)?;
        let (gap_ns, quiet) = gap_ns.strip_suffix('q').map_or((gap_ns, false), |gap| (gap, true));
        let count = count.parse().map_err(|_| wrong())?;
        let bytes = bytes.parse().map_err(|_| wrong())?;
        let gap_ns = gap_ns.parse().map_err(|_| wrong())?;
        let fits = (1..=COUNT_MAX).contains(&count)
            && (HEAD as u32..=BYTES_MAX).contains(&bytes)
            && gap_ns <= 1_000_000_000;
        if !fits {
            return Err(EpisodeError::Size);
        }
        Ok(Self { count, gap_ns, bytes, quiet, plan: plan.parse()? })
    }
}

impl Episode {
    /// Payload of a datagram: which episode and datagram it is, and bytes of its own.
    pub fn payload(&self, episode: u32, index: u32) -> Vec<u8> {
        let mut payload = [episode.to_be_bytes(), index.to_be_bytes()].concat();
        let mut state = u64::from(episode) << 32 | u64::from(index);
        while payload.len() < self.bytes as usize {
            // Any sequence will do that differs from datagram to datagram (Knuth's generator).
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            payload.push((state >> 56) as u8);
        }
        payload
    }

    /// The burst on its way, after a pause.
    pub fn frames(&self, guest: [u8; 6], episode: u32, pause_ps: u64) -> Coming {
        let frame = |index: u32| {
            let payload = self.payload(episode, index);
            let at_ps = pause_ps + u64::from(index) * self.gap_ns * 1000;
            let port = if self.is_answered(index) { ECHO_PORT } else { SINK_PORT };
            (at_ps, packets::datagram(guest, (SOURCE_PORT, port), &payload))
        };
        (0..self.count).map(frame).collect()
    }

    /// Whether the guest answers a datagram.
    pub fn is_answered(&self, index: u32) -> bool {
        !self.quiet || index + 1 == self.count
    }

    /// The first datagram from there on that is answered.
    pub fn next_answered(&self, from: u32) -> Option<u32> {
        let next = if self.quiet { self.count - 1 } else { from };
        (from..self.count).contains(&next).then_some(next)
    }

    /// From its first datagram to the last, picoseconds.
    pub fn length_ps(&self) -> u64 {
        u64::from(self.count) * self.gap_ns * 1000
    }
}

/// Port that our datagrams come from.
pub const SOURCE_PORT: u16 = 4000;

/// Bursts of the sweep: one frame, and around what drivers count to: budget, batch, ring.
const SWEEP_COUNTS: [u32; 8] = [1, 16, 64, 65, 75, 130, 200, 390];
/// Gaps of the sweep: line rate, and slower than an interrupt.
const SWEEP_GAPS_NS: [u64; 2] = [67, 20_000];
/// Delays of the sweep.
const SWEEP_DELAYS_NS: [u64; 4] = [0, 500, 5_000, 120_000];

/// Episodes of the sweep: each burst with each delay of one kind at a time.
pub fn sweep() -> Vec<Episode> {
    let mut all = Vec::new();
    for count in SWEEP_COUNTS {
        for (gap_ns, quiet) in SWEEP_GAPS_NS.iter().flat_map(|gap| [(*gap, false), (*gap, true)]) {
            for (point, _) in POINTS.iter().filter(|(point, _)| *point != Point::Wire) {
                for delay_ns in SWEEP_DELAYS_NS {
                    // Without a delay all kinds are the same.
                    if delay_ns == 0 && *point != Point::Posted {
                        continue;
                    }
                    let mut plan = Plan::default();
                    if delay_ns != 0 {
                        plan.fixed_ns.insert(*point, delay_ns);
                    }
                    all.push(Episode { count, gap_ns, bytes: 18, quiet, plan });
                }
            }
        }
    }
    all
}

/// Episode of a search by its number: the sweep first, then what the seed draws.
pub fn episode(sweep: &[Episode], seed: u64, number: u32) -> Episode {
    if let Some(episode) = sweep.get(number as usize) {
        return episode.clone();
    }
    let mut stream = Streams::new(seed).stream(&format!("linux.search.{number}"));
    let mut scale = |most: u64| {
        // Small and large delays alike: a random number of bits.
        let bits = stream.below(u64::from(most.max(1).ilog2()) + 2);
        stream.below((1 << bits).min(most + 1))
    };
    let count = 1 + scale(511) as u32;
    let gap_ns = 67 + scale(50_000);
    let bytes = 18 + scale(1400) as u32;
    let quiet = scale(1) == 0;
    let mut plan = Plan { seed: 1 + scale(u64::from(u32::MAX)), ..Plan::default() };
    for (point, _) in POINTS {
        let most = scale(200_000);
        if most != 0 {
            plan.random_ns.insert(point, most);
        }
    }
    Episode { count, gap_ns, bytes, quiet, plan }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_episode_is_its_text() {
        let sweep = sweep();
        for number in [0, 5, 100, 1000, 5000] {
            let episode = episode(&sweep, 7, number);
            assert_eq!(episode.to_string().parse(), Ok(episode.clone()), "{episode}");
        }
        for text in
            ["", "3", "3x18", "0x18/67", "3x7/67", "3x18/67qq", "3x18/67;bus=1", "5000x18/67"]
        {
            assert!(text.parse::<Episode>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_sweep_holds_each_burst_once_without_delay_and_a_seed_draws_its_own() {
        let all = sweep();
        let calm = all.iter().filter(|e| e.plan == Plan::default()).count();
        assert_eq!(calm, 2 * SWEEP_COUNTS.len() * SWEEP_GAPS_NS.len());
        let first = all.len() as u32;
        assert_eq!(episode(&all, 7, first), episode(&all, 7, first));
        assert_ne!(episode(&all, 7, first), episode(&all, 8, first));
    }

    #[test]
    fn a_quiet_burst_is_answered_at_its_end() {
        let quiet: Episode = "3x18/67q".parse().expect("an episode");
        assert_eq!((quiet.next_answered(0), quiet.next_answered(3)), (Some(2), None));
        let loud: Episode = "3x18/67".parse().expect("an episode");
        assert_eq!((loud.next_answered(1), loud.next_answered(3)), (Some(1), None));
        let ports = |e: &Episode| -> Vec<u16> {
            let frames = e.frames([2; 6], 0, 0);
            frames.iter().filter_map(|(_, f)| packets::datagram_of(f)).map(|d| d.1).collect()
        };
        assert_eq!(ports(&quiet), [SINK_PORT, SINK_PORT, ECHO_PORT]);
        assert_eq!(ports(&loud), [ECHO_PORT; 3]);
    }

    #[test]
    fn payloads_differ_in_every_part() {
        let episode: Episode = "2x100/67".parse().expect("an episode");
        let (one, two) = (episode.payload(1, 0), episode.payload(1, 1));
        assert_eq!((one.len(), one[..4].to_vec()), (100, vec![0, 0, 0, 1]));
        assert!(one[8..16] != two[8..16] && one[60..70] != two[60..70]);
    }
}
