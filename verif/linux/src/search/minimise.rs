//! Makes a finding of a search small: as few of its last episodes as go wrong alone, then the one
//! that goes wrong with fewer delays and fewer datagrams. Each try boots a kernel.

use super::{search, Episode, Setup, Which};
use crate::boot::BootError;
use crate::timing::{Plan, Point};

/// Boots that are spent.
const TRIES_MAX: u32 = 30;
/// How many of the last episodes are tried alone.
const LAST: [usize; 4] = [1, 2, 4, 16];

/// The smallest list of episodes that goes wrong; none if the last 16 do not without those before.
pub fn minimise(
    setup: &Setup,
    episodes: &[Episode],
    mut tell: impl FnMut(&[Episode]),
) -> Result<Option<Vec<Episode>>, BootError> {
    let mut tries = 0;
    let mut fails = |episodes: &[Episode]| {
        tries += 1;
        if tries > TRIES_MAX {
            return Ok(false);
        }
        tell(episodes);
        Ok(search(setup, Which::These(episodes.to_vec()))?.failure.is_some())
    };
    let mut best = Vec::new();
    for count in LAST {
        let last = episodes.get(episodes.len().saturating_sub(count)..).unwrap_or(episodes);
        if fails(last)? {
            best = last.to_vec();
            break;
        }
    }
    let Some(at) = best.len().checked_sub(1) else { return Ok(None) };
    for delay in delays(&best[at]) {
        let mut candidate = best.clone();
        candidate[at].plan = without(&candidate[at].plan, delay);
        if candidate != best && fails(&candidate)? {
            best = candidate;
        }
    }
    let (mut low, mut high) = (1, best[at].count);
    while low < high {
        let middle = low + (high - low) / 2;
        let mut candidate = best.clone();
        candidate[at].count = middle;
        if fails(&candidate)? {
            (high, best) = (middle, candidate);
        } else {
            low = middle + 1;
        }
    }
    Ok(Some(best))
}

/// A delay that may be taken out.
#[derive(Clone, Copy, Debug)]
enum Delay {
    Fixed(Point),
    Random(Point),
}

fn delays(episode: &Episode) -> Vec<Delay> {
    let fixed = episode.plan.fixed_ns.keys().map(|point| Delay::Fixed(*point));
    let random = episode.plan.random_ns.keys().map(|point| Delay::Random(*point));
    fixed.chain(random).collect()
}

fn without(plan: &Plan, delay: Delay) -> Plan {
    let mut plan = plan.clone();
    match delay {
        Delay::Fixed(point) => plan.fixed_ns.remove(&point),
        Delay::Random(point) => plan.random_ns.remove(&point),
    };
    if plan.random_ns.is_empty() {
        plan.seed = 0;
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_go_one_by_one_and_the_seed_with_the_last_that_was_drawn() {
        let episode: Episode = "3x18/67;msix=5,cpu<7,seed=3".parse().expect("an episode");
        let all = delays(&episode);
        assert_eq!(all.len(), 2);
        assert_eq!(without(&episode.plan, all[0]).to_string(), "cpu<7,seed=3");
        assert_eq!(without(&episode.plan, all[1]).to_string(), "msix=5");
    }
}
