//! Takes every barrier and ordering of the drivers out in turn: which rule says that it is needed?
//!
//! A site is the file and line of a barrier, of an access stronger than relaxed, of a grace period
//! or of `rcu_read_lock`. Taking it out leaves a relaxed access, or nothing. A site that no rule
//! misses is either not needed or not covered by any scenario: both are worth knowing.

use crate::scenarios;
use pollproof_bench::run::{run, Change, Limits};
use pollproof_bench::scenario::{EngineKind, Scenario};
use pollproof_sync::switch::{record_sites, Site};
use std::collections::BTreeMap;

/// Result for one site.
pub struct SiteRow {
    /// File and line.
    pub site: Site,
    /// The first rule that missed it, with scenario and engine.
    pub missed_by: Option<(&'static str, &'static str, EngineKind)>,
    /// Scenarios that pass it.
    pub passed_by: usize,
}

/// Executions of a scenario that say which sites it passes.
const FEW: u64 = 500;

/// Engines that can see a missing barrier, the cheaper one first.
const ENGINES: [EngineKind; 2] = [EngineKind::Explore, EngineKind::ExploreRc11];

/// Tries every site whose file has `part` in its path.
pub fn sweep(part: &str, limits: &Limits, progress: &mut dyn FnMut(&str)) -> Vec<SiteRow> {
    let mut passed: BTreeMap<Site, Vec<(u64, &'static Scenario, EngineKind)>> = BTreeMap::new();
    // Most sites are passed in each execution, so a few tell.
    let few = Limits { max_executions: FEW, ..*limits };
    for scenario in scenarios::ALL {
        for engine in ENGINES.into_iter().filter(|e| scenario.engines.contains(e)) {
            progress(&format!("sites of {} under {}", scenario.id, engine.name()));
            let (all, sites) = record_sites(|| run(scenario, engine, Change::default(), &few));
            for site in sites.into_iter().filter(|s| s.0.contains(part)) {
                passed.entry(site).or_default().push((all.executions, scenario, engine));
            }
        }
    }
    passed
        .into_iter()
        .map(|(site, mut runs)| {
            progress(&format!("without {}:{}", site.0, site.1));
            // The smallest first: most sites are missed there.
            runs.sort_by_key(|run| run.0);
            let missed = runs.iter().find_map(|(_, scenario, engine)| {
                let without = Change { site: Some(site), ..Change::default() };
                let found = run(scenario, *engine, without, limits).found?;
                Some((found.rule, scenario.id, *engine))
            });
            SiteRow { site, missed_by: missed, passed_by: runs.len() }
        })
        .collect()
}
