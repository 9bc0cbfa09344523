//! A device and its driver as two threads, with the rules of the bus as orders of their accesses.
//! Each scenario is run under SC, x86 and RC11, which see different mistakes.
//!
//! The rules are those of PCIe 3.0, 2.4.1, table 2-34, by row and column: A2 (a posted write may
//! not pass a posted write, unless it has the relaxed ordering attribute), B2 (a read may not pass
//! a posted write), D2 (a read completion may not pass a posted write, unless it has that
//! attribute).

use pollproof_explore::handles::{fence, start};
use pollproof_explore::rt::{Atomic, Ordering, Ordering::*, Plain};
use pollproof_explore::{explore, Config, End, Execution, Model, Reduction};
use std::ops::ControlFlow::{Break, Continue};

/// What is found in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Nothing, in so many executions, which are all.
    Nothing(u64),
    /// This, in the execution of this number.
    Mistake(&'static str, u64),
}
use Found::{Mistake, Nothing};

/// What an execution came to: words of its panic, its race or its deadlock.
fn mistake(e: &Execution<'_>) -> Option<String> {
    match &e.end {
        End::Complete => e.races().first().map(ToString::to_string),
        End::Panicked { message, .. } => Some(message.clone()),
        End::Deadlock(threads) => Some(format!("waits for ever: {}", threads[0])),
        other => panic!("{other:?}"),
    }
}

/// Runs a scenario under the three models.
fn check(scenario: &dyn Fn(), [sc, tso, rc11]: [Found; 3]) {
    for (model, expected) in [(Model::Sc, sc), (Model::Tso, tso), (Model::Rc11, rc11)] {
        let config = Config { reduction: Reduction::Graphs, model, ..Config::default() };
        let mut first = None;
        let summary = explore(&config, scenario, &mut |e| {
            first = mistake(e);
            if first.is_some() {
                Break(())
            } else {
                Continue(())
            }
        });
        match (expected, first) {
            (Nothing(executions), None) => {
                assert!(summary.is_exhaustive());
                assert_eq!((summary.executions, summary.blocked), (executions, 0), "{model:?}");
            }
            (Mistake(what, at), Some(first)) => {
                assert!(first.contains(what), "{model:?}: {first}");
                assert_eq!(summary.executions, at, "{model:?}: {first}");
            }
            (_, first) => panic!("{model:?}: {expected:?} expected, found {first:?}"),
        }
    }
}

/// How a write of a device goes over the bus.
#[derive(Clone, Copy)]
enum Posted {
    /// Behind all posted writes before it (A2a).
    Ordered,
    /// With the relaxed ordering attribute: it may pass them (A2b).
    Relaxed,
}

impl Posted {
    fn write(self, to: Atomic, value: u64) {
        match self {
            Self::Ordered => to.store(value, Release),
            Self::Relaxed => to.store_unord(value),
        }
    }
}

/// A frame is received: the length is written to the descriptor, then the bit "descriptor done".
/// The driver looks once; `rmb` stands between the two loads.
fn receive(done_goes: Posted, rmb: bool) {
    let (length, done) = (Atomic::new(0), Atomic::new(0));
    let device = start(move || {
        Posted::Ordered.write(length, 60);
        done_goes.write(done, 1);
    });
    if done.load(Relaxed) == 1 {
        if rmb {
            fence(Acquire);
        }
        assert_eq!(length.load(Relaxed), 60, "stale length");
    }
    device.join();
}

#[test]
fn a_descriptor_that_is_done_is_read_behind_a_read_barrier() {
    // The bus keeps both writes in order (A2a) and so does x86 both loads; others do not.
    let stale = Mistake("stale length", 3);
    check(&|| receive(Posted::Ordered, false), [Nothing(2), Nothing(2), stale]);
    check(&|| receive(Posted::Ordered, true), [Nothing(2); 3]);
}

#[test]
fn a_descriptor_is_not_written_with_relaxed_ordering() {
    // "Done" may pass the length (A2b); no barrier of the driver helps.
    let stale = Mistake("stale length", 3);
    check(&|| receive(Posted::Relaxed, true), [Nothing(2), stale, stale]);
}

/// An interrupt handler looks at the descriptor that the interrupt is about.
fn interrupt(signal_goes: Posted) {
    let (done, pending) = (Atomic::new(0), Atomic::new(0));
    let device = start(move || {
        Posted::Ordered.write(done, 1);
        signal_goes.write(pending, 1);
    });
    pending.wait(Acquire, |raised| raised == 1);
    assert_eq!(done.load(Relaxed), 1, "not done");
    device.join();
}

#[test]
fn an_interrupt_by_message_comes_behind_what_it_tells_of() {
    // An MSI is a posted write like others (A2a).
    check(&|| interrupt(Posted::Ordered), [Nothing(1); 3]);
}

#[test]
fn an_interrupt_by_wire_may_come_before_what_it_tells_of() {
    // A wire beside the bus knows nothing of writes under way: the handler must read a register
    // first, whose completion pushes them (D2a).
    let early = Mistake("not done", 2);
    check(&|| interrupt(Posted::Relaxed), [Nothing(1), early, early]);
}

/// A descriptor is filled in, then the tail register written; the device fetches what it names.
fn transmit(wmb: bool) {
    let (descriptor, tail) = (Plain::new("descriptor"), Atomic::new(0));
    let device = start(move || {
        // Whoever was told by the register reads memory after it.
        tail.wait(Acquire, |tail| tail == 1);
        descriptor.read();
    });
    descriptor.write();
    if wmb {
        fence(Release);
    }
    tail.store(1, Relaxed);
    device.join();
}

#[test]
fn a_tail_is_written_behind_a_write_barrier() {
    // The bus cannot help: both writes come from the processor, one to memory, one to the device.
    check(&|| transmit(false), [Mistake("race on descriptor", 1); 3]);
    check(&|| transmit(true), [Nothing(1); 3]);
}

/// The same with a doorbell that is mapped write-combining: such a store waits in a buffer of its
/// own and passes others on x86 too.
fn ring_combined(barrier: Ordering) {
    let (descriptor, doorbell) = (Atomic::new(0), Atomic::new(0));
    let device = start(move || {
        doorbell.wait(Acquire, |rung| rung == 1);
        assert_eq!(descriptor.load(Relaxed), 7, "stale descriptor");
    });
    descriptor.store(7, Relaxed);
    fence(barrier);
    doorbell.store_unord(1);
    device.join();
}

#[test]
fn a_combined_doorbell_needs_more_than_the_barrier_for_memory() {
    // `dma_wmb` is no instruction on x86; `wmb` is `sfence`. RC11 takes a release fence for enough.
    check(&|| ring_combined(Release), [Nothing(1), Mistake("stale descriptor", 2), Nothing(1)]);
    check(&|| ring_combined(SeqCst), [Nothing(1); 3]);
}

/// A completion queue is armed for one interrupt; then the driver looks again, for what came
/// before.
fn arm(between: Option<Ordering>) {
    let (armed, entry, interrupt) = (Atomic::new(0), Atomic::new(0), Atomic::new(0));
    let device = start(move || {
        Posted::Ordered.write(entry, 1);
        // It fetches the state by a read, which does not pass the write (B2).
        fence(SeqCst);
        if armed.load(Relaxed) == 1 {
            Posted::Ordered.write(interrupt, 1);
        }
    });
    armed.store(1, Relaxed);
    between.into_iter().for_each(fence);
    if entry.load(Relaxed) == 0 {
        interrupt.wait(Acquire, |raised| raised == 1);
    }
    device.join();
}

#[test]
fn a_queue_is_looked_at_again_behind_a_full_barrier() {
    let lost = Mistake("waits for ever: T0 in wait", 2);
    check(&|| arm(None), [Nothing(3), lost, lost]);
    check(&|| arm(Some(AcqRel)), [Nothing(3), lost, lost]);
    check(&|| arm(Some(SeqCst)), [Nothing(3); 3]);
}

/// A register is read to be sure that what the device wrote before has arrived.
fn flush(completion_goes: Posted) {
    let (data, completion) = (Atomic::new(0), Atomic::new(0));
    let device = start(move || {
        Posted::Ordered.write(data, 1);
        completion_goes.write(completion, 1);
    });
    completion.wait(Acquire, |arrived| arrived == 1);
    assert_eq!(data.load(Relaxed), 1, "passed an earlier write");
    device.join();
}

#[test]
fn a_read_of_a_register_pushes_what_the_device_wrote_before() {
    // A completion stays behind posted writes (D2a), unless it has relaxed ordering (D2b).
    check(&|| flush(Posted::Ordered), [Nothing(1); 3]);
    let passed = Mistake("passed an earlier write", 2);
    check(&|| flush(Posted::Relaxed), [Nothing(1), passed, passed]);
}
