//! Owners, limits and layouts, on both memories at once.

#[allow(dead_code)]
mod both;

use both::{Both, Op};
use pollproof_events::{Event, Owner};
use pollproof_hostmem::{AllocError, Config, FailPlan, HostMem};

fn whys(events: &[Event]) -> Vec<&'static str> {
    let why = |e: &Event| match e {
        Event::IllegalAccess { why, .. } | Event::DeviceMisuse { why, .. } => Some(*why),
        _ => None,
    };
    events.iter().filter_map(why).collect()
}

#[test]
fn a_buffer_goes_from_hand_to_hand_and_back() {
    let mut both = Both::new(Config::small());
    let events = both.run(&[
        Op::AllocBuf,
        Op::Map(0),
        Op::DeviceWrite(0, 2, 5),
        Op::Unmap(0),
        Op::ReadBuf(0, 2, 5),
        Op::HandUp(0),
        Op::ReadBuf(0, 0, 8),
        Op::FreeBuf(0),
    ]);
    assert_eq!(whys(&events), [] as [&str; 0]);
    let owners: Vec<_> = events
        .iter()
        .filter_map(|e| match e {
            Event::Own { to, .. } => Some(*to),
            _ => None,
        })
        .collect();
    use Owner::{Device, Driver, Free, Stack};
    assert_eq!(owners, [Driver, Device, Driver, Stack, Free]);
    assert_eq!(both.host.counters().frees, 1);
}

#[test]
fn each_wrong_move_is_told_by_its_name() {
    let mut both = Both::new(Config::small());
    let events = both.run(&[
        Op::AllocBuf,
        Op::DeviceWrite(0, 0, 4),
        Op::Map(0),
        Op::Map(0),
        Op::FreeBuf(0),
        Op::HandUp(0),
        Op::ReadBuf(0, 0, 4),
        Op::DeviceWrite(0, 2040, 16),
        Op::Unmap(0),
        Op::Unmap(0),
        Op::FreeBuf(0),
        Op::FreeBuf(0),
        Op::ReadBuf(0, 0, 4),
        Op::Map(0),
    ]);
    assert_eq!(
        whys(&events),
        [
            "device write to a buffer that is not its own",
            "double map of a buffer",
            "free of a buffer that the device owns",
            "hand up of a buffer that the device owns",
            "read of a buffer that the device owns",
            "device access past the end of a buffer",
            "unmap of a buffer that is not mapped",
            "double free of a buffer",
            "read after free of a buffer",
            "map after free of a buffer",
        ]
    );
    assert_eq!(both.host.counters().illegal, 10);
}

#[test]
fn a_word_of_an_area_is_found_while_the_area_lives() {
    let mut both = Both::new(Config::small());
    let events = both.run(&[
        Op::AllocArea(64),
        Op::Store(0, 28, 7),
        Op::Load(0, 28),
        Op::Load(0, 0),
        Op::Load(0, 64),
        Op::Load(0, 2),
        Op::Read(0, 28),
        Op::DmaWrite(0, 32, 32),
        Op::DmaRead(0, 32, 32),
        Op::DmaRead(0, 48, 32),
        Op::FreeArea(0),
        Op::FreeArea(0),
        Op::Read(0, 28),
    ]);
    assert_eq!(
        whys(&events),
        [
            "marked access to a plain word",
            "access past the end of an area",
            "access that is not aligned to words",
            "access past the end of an area",
            "double free of a coherent area",
            "access after free of the area",
        ]
    );
}

#[test]
fn limits_are_errors() {
    let mut mem = HostMem::new(Config { max_bufs: 2, max_coherent_bytes: 8192, buf_bytes: 2048 });
    let layout = both::layout();
    assert_eq!(mem.alloc_coherent(0, layout), Err(AllocError::BadLayout));
    assert_eq!(mem.alloc_coherent(usize::MAX - 4096, layout), Err(AllocError::OutOfBytes));
    let area = mem.alloc_coherent(4097, layout).expect("two pages fit");
    assert_eq!(mem.alloc_coherent(1, layout), Err(AllocError::OutOfBytes));
    mem.free_coherent(area);
    assert!(mem.alloc_coherent(1, layout).is_ok());
    assert!(mem.alloc_buf().is_ok() && mem.alloc_buf().is_ok());
    assert_eq!(mem.alloc_buf(), Err(AllocError::OutOfBuffers));
    assert_eq!(mem.counters().failed, 1);
}

#[test]
fn the_planned_allocations_fail_and_no_others() {
    let mut mem = HostMem::new(Config::small());
    mem.set_fail_allocs(Some(FailPlan { first: 2, last: 3 }));
    let got: Vec<_> = (0..5).map(|_| mem.alloc_buf().is_ok()).collect();
    assert_eq!(got, [true, false, false, true, true]);
}

#[test]
fn a_freed_buffer_rests_before_it_is_used_again() {
    let mut mem = HostMem::new(Config::small());
    let first = mem.alloc_buf().expect("room");
    mem.free_buf(first);
    for _ in 0..16 {
        let buf = mem.alloc_buf().expect("room");
        assert_ne!(buf, first);
        mem.free_buf(buf);
    }
    assert_eq!(mem.alloc_buf(), Ok(first));
}
