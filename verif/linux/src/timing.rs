//! When things happen: delays of the device and of the CPU, each a choice that a token names.
//!
//! A run has points at which something may take longer: a register write on its way, a DMA write,
//! the answer to a DMA read, an interrupt, a frame on the wire, the CPU before it touches a
//! register. Each point has the delay of its kind, drawn anew if the plan says so, and some points
//! have one of their own. Under simulated time the kernel is a function of these choices.

use pollproof_sim::{Stream, Streams};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Kinds of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// A register write travels to the device.
    Posted,
    /// A DMA write travels to memory: descriptors that are written back, and data.
    DmaWrite,
    /// The answer to a DMA read travels to the device.
    DmaRead,
    /// A message travels to the CPU.
    Msix,
    /// A frame travels on the wire.
    Wire,
    /// The CPU computes before it touches a register; what the device does meanwhile is seen.
    Cpu,
}

/// All kinds, with their names in tokens.
pub const POINTS: [(Point, &str); 6] = [
    (Point::Posted, "posted"),
    (Point::DmaWrite, "dma-write"),
    (Point::DmaRead, "dma-read"),
    (Point::Msix, "msix"),
    (Point::Wire, "wire"),
    (Point::Cpu, "cpu"),
];

/// Longest delay: a second.
pub const DELAY_MAX_NS: u64 = 1_000_000_000;
/// Points that may have a delay of their own in a token.
const DEVIATIONS_MAX: usize = 4096;

/// Delays of a run, as they stand in its token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Delay of all points of a kind, nanoseconds.
    pub fixed_ns: BTreeMap<Point, u64>,
    /// Points of a kind wait up to so long, drawn from the seed.
    pub random_ns: BTreeMap<Point, u64>,
    /// Seed of what is drawn.
    pub seed: u64,
    /// Points by number since the plan holds, that wait so much longer.
    pub deviations_ns: BTreeMap<u64, u64>,
}

/// Why a text is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("timing plan: {what:?}: {why}")]
pub struct PlanError {
    what: String,
    why: &'static str,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for (point, name) in POINTS {
            if let Some(ns) = self.fixed_ns.get(&point) {
                parts.push(format!("{name}={ns}"));
            }
            if let Some(ns) = self.random_ns.get(&point) {
                parts.push(format!("{name}<{ns}"));
            }
        }
        if self.seed != 0 {
            parts.push(format!("seed={}", self.seed));
        }
        parts.extend(self.deviations_ns.iter().map(|(at, ns)| format!("at{at}={ns}")));
        f.write_str(&parts.join(","))
    }
}

impl FromStr for Plan {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let mut plan = Self::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let wrong = |why| PlanError { what: part.chars().take(60).collect(), why };
            let Some(cut) = part.find(['=', '<']) else {
                return Err(wrong("must be NAME=NS, NAME<NS, seed=N or atN=NS"));
            };
            let (name, value) = part.split_at(cut);
            let (sign, value) = value.split_at(1);
            let number: u64 = value.parse().map_err(|_| wrong("no number of 64 bits"))?;
            if name == "seed" && sign == "=" {
                plan.seed = number;
                continue;
            }
            if number > DELAY_MAX_NS {
                return Err(wrong("longer than a second"));
            }
            let point = POINTS.iter().find(|(_, known)| *known == name).map(|(point, _)| *point);
            match (point, sign) {
                (Some(point), "=") => plan.fixed_ns.insert(point, number),
                (Some(point), _) => plan.random_ns.insert(point, number),
                (None, "=") if name.starts_with("at") => {
                    let at = name[2..].parse().map_err(|_| wrong("no number of a point"))?;
                    if plan.deviations_ns.len() >= DEVIATIONS_MAX {
                        return Err(wrong("too many points"));
                    }
                    plan.deviations_ns.insert(at, number)
                }
                _ => return Err(wrong("no such point")),
            };
        }
        Ok(plan)
    }
}

/// The plan of a run, as it is used up.
#[derive(Clone, Debug)]
pub struct Timing {
    plan: Plan,
    stream: Stream,
    /// Points since the plan holds, and before.
    next: u64,
    before: u64,
}

impl Timing {
    /// Timing by a plan, from its beginning.
    pub fn new(plan: Plan) -> Self {
        let stream = Streams::new(plan.seed).stream("linux.timing");
        Self { plan, stream, next: 0, before: 0 }
    }

    /// Points that were passed.
    pub fn points(&self) -> u64 {
        self.before + self.next
    }

    /// Points that were passed since this plan holds.
    pub fn points_of_plan(&self) -> u64 {
        self.next
    }

    /// From here on another plan holds, with numbers of its own.
    pub fn switch(&mut self, plan: Plan) {
        let before = self.points();
        *self = Self { before, ..Self::new(plan) };
    }

    /// How much longer this point takes.
    pub fn extra_ps(&mut self, point: Point) -> u64 {
        let at = self.next;
        self.next += 1;
        let plan = &self.plan;
        let fixed_ns = plan.fixed_ns.get(&point).copied().unwrap_or(0);
        let random_ns = match plan.random_ns.get(&point) {
            Some(&most) if most != 0 => self.stream.below(most + 1),
            _ => 0,
        };
        let own_ns = plan.deviations_ns.get(&at).copied().unwrap_or(0);
        1000 * (fixed_ns + random_ns + own_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_its_text() {
        for text in ["", "dma-write=2000,msix<500,seed=7,at12=3000", "cpu<10,wire=1"] {
            let plan: Plan = text.parse().expect(text);
            let again: Plan = plan.to_string().parse().expect("its own text");
            assert_eq!(again, plan, "{text}");
        }
    }

    #[test]
    fn what_is_no_plan_is_told() {
        for (text, why) in [
            ("dma", "must be NAME=NS"),
            ("dma-write=x", "no number"),
            ("bus=3", "no such point"),
            ("at1<3", "no such point"),
            ("msix=1000000001", "longer than a second"),
            ("atx=1", "no number of a point"),
        ] {
            let error = text.parse::<Plan>().expect_err(text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_plan_that_takes_over_counts_its_points_anew() {
        let mut timing = Timing::new("at0=1".parse().expect("a plan"));
        assert_eq!((timing.extra_ps(Point::Cpu), timing.extra_ps(Point::Cpu)), (1000, 0));
        timing.switch("at1=2".parse().expect("a plan"));
        assert_eq!((timing.extra_ps(Point::Cpu), timing.extra_ps(Point::Cpu)), (0, 2000));
        assert_eq!((timing.points_of_plan(), timing.points()), (2, 4));
    }

    #[test]
    fn points_wait_as_the_plan_says() {
        let plan: Plan = "msix=3,dma-write<9,seed=1,at2=7".parse().expect("a plan");
        let mut timing = Timing::new(plan.clone());
        assert_eq!(timing.extra_ps(Point::Msix), 3000);
        assert_eq!(timing.extra_ps(Point::Cpu), 0);
        assert_eq!(timing.extra_ps(Point::Posted), 7000);
        let draw = |timing: &mut Timing| -> Vec<u64> {
            (0..50).map(|_| timing.extra_ps(Point::DmaWrite)).collect()
        };
        let drawn = draw(&mut timing);
        assert!(drawn.iter().all(|&ps| ps <= 9000) && drawn.iter().any(|&ps| ps != drawn[0]));
        let mut again = Timing::new(plan);
        (0..3).for_each(|_| assert_ne!(again.extra_ps(Point::Posted), 1));
        assert_eq!(draw(&mut again), drawn);
    }
}
