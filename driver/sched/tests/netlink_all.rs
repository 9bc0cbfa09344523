//! Settings: each attribute alone, both ends of its range and beyond, and a dump that can be sent
//! back.

mod common;

use pollproof_sched::fq::Config;
use pollproof_sched::netlink::{kind, length_of, parse, put, put_u32, ChangeError};
use pollproof_sched::{Fq, WatchdogForm};

fn fq() -> Fq {
    common::cpu(WatchdogForm::V6_12).fq()
}

fn set(fq: &mut Fq, kind: u16, value: u32) -> Result<(), ChangeError> {
    let mut options = Vec::new();
    put_u32(&mut options, kind, value);
    fq.change(&options)
}

/// What a dump says of an attribute.
fn dumped(fq: &Fq, kind: u16) -> Option<u32> {
    let bytes = fq.dump();
    let attrs = parse(&bytes).expect("a dump is right");
    attrs.iter().find(|a| a.kind == kind).map(|a| a.number())
}

#[test]
fn the_slack_is_ten_microseconds_unless_it_is_set() {
    let mut fq = fq();
    assert_eq!(dumped(&fq, kind::TIMER_SLACK), Some(10_000));
    assert_eq!(set(&mut fq, kind::TIMER_SLACK, 0), Ok(()));
    assert_eq!(dumped(&fq, kind::TIMER_SLACK), Some(0));
}

#[test]
fn every_number_in_range_is_dumped_as_it_was_set_and_all_others_are_refused() {
    let ranges = [
        (kind::PLIMIT, 0, u32::MAX),
        (kind::FLOW_PLIMIT, 0, u32::MAX),
        (kind::QUANTUM, 1, 1 << 20),
        (kind::INITIAL_QUANTUM, 0, i32::MAX as u32),
        (kind::RATE_ENABLE, 0, 1),
        (kind::FLOW_MAX_RATE, 0, u32::MAX),
        (kind::BUCKETS_LOG, 1, 18),
        (kind::FLOW_REFILL_DELAY, 0, u32::MAX),
        (kind::ORPHAN_MASK, 0, u32::MAX),
        (kind::LOW_RATE_THRESHOLD, 0, u32::MAX),
        (kind::CE_THRESHOLD, 0, u32::MAX),
        (kind::TIMER_SLACK, 0, u32::MAX),
        (kind::HORIZON, 0, u32::MAX),
    ];
    for (kind, least, most) in ranges {
        let mut fq = fq();
        let untouched = fq.config().clone();
        for value in [least, least + 1, most - 1, most] {
            assert_eq!(set(&mut fq, kind, value), Ok(()), "{kind}");
            assert_eq!(dumped(&fq, kind), Some(value), "{kind}");
        }
        let before = fq.config().clone();
        for value in [least.checked_sub(1), most.checked_add(1), Some(u32::MAX)] {
            if let Some(value) = value.filter(|v| !(least..=most).contains(v)) {
                let error = set(&mut fq, kind, value).expect_err("out of range");
                assert!(error.to_string().starts_with(&format!("attribute {kind} is {value}")));
                assert_eq!(*fq.config(), before);
            }
        }
        // Nothing else has changed: sent back, the first dump restores everything.
        let mut other = self::fq();
        other.change(&fq.dump()).expect("a dump can be sent back");
        assert_eq!(other.config(), fq.config());
        assert_eq!(untouched, Config::new(1_514));
    }
}

#[test]
fn a_payload_of_any_other_length_is_refused() {
    for kind in 1..=kind::MAX {
        let want = length_of(kind).expect("a known attribute");
        for len in (0..40).filter(|len| *len != want) {
            let mut options = Vec::new();
            put(&mut options, kind, &vec![1; len]);
            let error = ChangeError::Length { at: 0, kind, len, want };
            assert_eq!(fq().change(&options), Err(error));
        }
    }
}

#[test]
fn what_is_unknown_cut_off_or_said_twice_is_refused_with_its_place() {
    let mut options = Vec::new();
    put_u32(&mut options, kind::PLIMIT, 7);
    let whole = options.clone();
    put_u32(&mut options, kind::PLIMIT, 8);
    assert_eq!(fq().change(&options), Err(ChangeError::Twice { at: 8, kind: kind::PLIMIT }));
    for cut in 1..8 {
        let left = 8 - cut;
        let told = fq().change(&whole[..left]);
        assert!(matches!(told, Err(ChangeError::Truncated { at: 0, .. })), "{cut}: {told:?}");
    }
    for kind in [0, kind::MAX + 1, kind::PLIMIT | 0x8000, u16::MAX] {
        let mut options = Vec::new();
        put_u32(&mut options, kind, 7);
        assert_eq!(fq().change(&options), Err(ChangeError::Unknown { at: 0, kind }));
    }
    assert_eq!(fq().change(&[]), Ok(()));
}

#[test]
fn a_map_and_weights_are_taken_only_whole_and_in_range() {
    let map = |bands: u8, last: u8| {
        let mut payload = vec![bands, 0, 0, 0];
        payload.extend([0; 15]);
        payload.push(last);
        let mut options = Vec::new();
        put(&mut options, kind::PRIOMAP, &payload);
        fq().change(&options).is_ok()
    };
    assert_eq!([map(3, 2), map(3, 3), map(2, 0), map(4, 0)], [true, false, false, false]);
    let weights = |last: i32| {
        let mut options = Vec::new();
        put(&mut options, kind::WEIGHTS, &[1 << 20, 1 << 14, last].map(i32::to_le_bytes).concat());
        fq().change(&options).is_ok()
    };
    assert_eq!(
        [1 << 14, (1 << 14) - 1, 0, -1, i32::MAX].map(weights),
        [true, false, false, false, true]
    );
}
