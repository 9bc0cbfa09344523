//! What `pollproof check` does with Linux's own driver: a short scenario, where a kernel was built.

use pollproof_bugs::check::Status;
use pollproof_linux::boot::Boot;
use pollproof_linux::kernel::{self, Cache, Kind};
use pollproof_linux::run::{board, Device};
use pollproof_linux::scenarios::{select, Setting};
use pollproof_wire::Capture;

const ID: &str = "linux/ixgbe/arp-icmp";

/// What came of it.
pub struct LinuxCheck {
    /// For people and programs.
    pub said: String,
    /// None where nothing was run, which is no fault.
    pub status: Option<Status>,
}

/// Runs it, unless filters exclude it.
pub fn smoke(filters: &[String]) -> Option<LinuxCheck> {
    let is_wanted = |filter: &String| ID.contains(&filter.to_ascii_lowercase());
    (filters.is_empty() || filters.iter().any(is_wanted)).then(|| run(Cache::of_user()))
}

fn run(cache: Option<Cache>) -> LinuxCheck {
    let Some(built) = cache.and_then(|cache| kernel::find(&cache, Kind::Sanitizers)) else {
        let said = "not run: no kernel built; 'pollproof linux build --kernel sanitizers' builds \
                    one, 'pollproof linux scenarios' then runs all";
        return LinuxCheck { said: format!("{ID}: {said}"), status: None };
    };
    let (boot, capture) = (Boot::new(&built, true), Capture::default());
    let device = Device::Ixgbe(board());
    let setting = Setting { boot: &boot, capture: &capture, plan: Default::default(), device };
    let cases =
        select("ixgbe", "arp-icmp").into_iter().flat_map(|scenario| (scenario.cases)(&setting));
    let mut problems = Vec::new();
    for case in cases {
        match case.run(&setting) {
            Ok(outcome) => problems.extend(outcome.problems),
            Err(error) => {
                let said = format!("{ID}: not run: {error}");
                return LinuxCheck { said, status: Some(Status::Inconclusive) };
            }
        }
    }
    let linux = format!("{ID}: Linux {} drives our 82599", built.version);
    match &problems[..] {
        [] => LinuxCheck { said: format!("{linux}: ok"), status: Some(Status::Clean) },
        some => {
            let said = format!("{linux}: {}", some.join("; "));
            LinuxCheck { said, status: Some(Status::Findings) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_pick_it_or_leave_it() {
        assert!(smoke(&["A-1".into()]).is_none());
        let nowhere = Cache::at("/nonexistent");
        let check = run(Some(nowhere));
        assert_eq!(check.status, None);
        assert!(check.said.contains("not run: no kernel built"), "{}", check.said);
    }
}
