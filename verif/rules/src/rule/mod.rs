//! One file a rule (small ones that look at the same events share one).

mod arm;
mod budget;
mod buffers;
mod conservation;
mod disable;
mod id;
mod lists;
mod order;
mod port;
mod rest;
mod ring;
mod tail;

use crate::judge::Verdicts;
use pollproof_events::Record;

/// A rule sees each event once, in order.
pub(crate) trait Rule {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts<'_>);
}

/// All rules, fresh.
pub(crate) fn all() -> Vec<Box<dyn Rule>> {
    vec![
        Box::<budget::Budget>::default(),
        Box::<arm::Arm>::default(),
        Box::<lists::Lists>::default(),
        Box::<disable::Disable>::default(),
        Box::<id::Ids>::default(),
        Box::<conservation::Conservation>::default(),
        Box::<order::Order>::default(),
        Box::<ring::Ring>::default(),
        Box::<buffers::Buffers>::default(),
        Box::<rest::Rest>::default(),
        Box::<tail::Tail>::default(),
        Box::<port::Port>::default(),
    ]
}
