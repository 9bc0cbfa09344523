//! Switches of a run and what they leave behind; the lifetime token.

use pollproof_sync::switch::{
    bug, current_bug, fault, record_sites, take_faults, with_bug, without_site,
};
use pollproof_sync::{thread, Lifetime, Rcu, RcuForm};
use std::panic::{catch_unwind, AssertUnwindSafe, Location};

/// Without the feature no bug is ever on.
const ENGINES: bool = cfg!(feature = "engines");

#[test]
fn a_bug_is_on_inside_only_and_nests() {
    with_bug("A", || {
        assert_eq!((bug("A"), bug("B")), (ENGINES, false));
        with_bug("B", || assert_eq!((bug("A"), bug("B")), (false, ENGINES)));
        assert_eq!(current_bug(), "A");
    });
    assert_eq!(current_bug(), "");
}

/// Faults of a reader on a CPU that the domain does not know: one, unless its site is out.
fn faults_of_a_strange_reader() -> usize {
    let rcu = Rcu::new(0, RcuForm::Locks);
    drop(rcu.read_lock());
    take_faults().len()
}

#[test]
fn switches_are_restored_after_a_panic() {
    let (faults, sites) = record_sites(faults_of_a_strange_reader);
    assert_eq!((faults, sites.len()), (1, usize::from(ENGINES)));
    let site = sites.first().copied();
    let panics = || {
        with_bug("A", || {
            without_site(site, || {
                assert_eq!(faults_of_a_strange_reader(), usize::from(!ENGINES));
                panic!("inside");
            });
        });
    };
    with_bug("B", || {
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!(current_bug(), "B");
    });
    assert_eq!(current_bug(), "");
    assert_eq!(faults_of_a_strange_reader(), 1);
}

#[test]
fn switches_nest_and_come_back_as_they_were() {
    let (_, sites) = record_sites(faults_of_a_strange_reader);
    let site = sites.first().copied();
    without_site(site, || {
        without_site(None, || assert_eq!(faults_of_a_strange_reader(), 1));
        assert_eq!(faults_of_a_strange_reader(), usize::from(!ENGINES));
    });
    assert_eq!(faults_of_a_strange_reader(), 1);
}

#[test]
fn a_bug_goes_along_to_threads() {
    with_bug("A", || thread::spawn(3, || assert_eq!(current_bug(), "A")).join());
}

#[test]
fn a_panic_of_a_thread_comes_to_whoever_joins_it() {
    let joined = catch_unwind(|| thread::spawn(0, || panic!("inside")).join());
    assert!(joined.is_err());
}

#[test]
fn faults_are_taken_once_and_bounded() {
    let _ = take_faults();
    (0..2_000).for_each(|i| fault("CONTEXT", format!("{i}"), Location::caller()));
    let faults = take_faults();
    assert_eq!((faults.len(), faults[0].what.as_str()), (1_000, "0"));
    assert_eq!(take_faults(), []);
}

#[test]
fn a_free_ends_a_lifetime_and_a_second_is_a_fault() {
    let object = Lifetime::new("napi");
    assert!(object.used());
    object.free();
    assert_eq!(take_faults(), []);
    assert!(!object.used());
    object.free();
    let faults: Vec<_> = take_faults().into_iter().map(|f| (f.rule, f.what)).collect();
    assert_eq!(
        faults,
        [
            ("LIFETIME", "napi is used after its free".to_owned()),
            ("LIFETIME", "napi is freed twice".to_owned())
        ]
    );
}
