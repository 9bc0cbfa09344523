//! Every barrier, ordering, grace period and read lock of the drivers is needed: taking it out
//! breaks a rule in some scenario. A new one that nothing misses fails here.

use pollproof_bench::run::Limits;
use pollproof_bugs::barriers::sweep;

#[test]
fn every_barrier_is_missed_by_a_rule() {
    let rows = sweep("driver/", &Limits::default(), &mut |_| {});
    let idle: Vec<_> = rows.iter().filter(|r| r.missed_by.is_none()).map(|r| r.site).collect();
    assert!(idle.is_empty(), "taking these out changes nothing: {idle:?}");
    assert!(rows.len() >= 25, "only {} sites were passed", rows.len());
}
