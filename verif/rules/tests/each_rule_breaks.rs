//! Every rule that judges events, on the smallest stream that breaks it; and a whole clean life of
//! a queue that breaks none.

use pollproof_events::{Event, Event::*, List, NapiStep, Owner, PortState, Record, RestCq, SkbEnd};
use pollproof_rules::Judge;
use pollproof_sync::cpu::Context;

fn record(number: usize, thread: usize, event: Event) -> Record {
    record_in(Context { softirq: 1, ..Context::default() }, number, thread, event)
}

fn record_in(context: Context, number: usize, thread: usize, event: Event) -> Record {
    Record { number: number as u64, step: 0, time_ps: 0, thread, context, at: ("here", 1), event }
}

/// Ids of the rules that a stream of one thread breaks.
fn broken(events: &[Event]) -> Vec<&'static str> {
    let threads: Vec<_> = events.iter().map(|e| (1, *e)).collect();
    broken_by(&threads)
}

fn broken_by(events: &[(usize, Event)]) -> Vec<&'static str> {
    let records: Vec<_> = events.iter().enumerate().map(|(i, (t, e))| record(i, *t, *e)).collect();
    broken_in(&records)
}

fn broken_in(records: &[Record]) -> Vec<&'static str> {
    Judge::of(records).findings().iter().map(|f| f.rule).collect()
}

const IN: Event = PollEnter { napi: 0, budget: 4, netpoll: false };
const DONE: Event = NapiComplete { napi: 0, work: 0, done: true };
const ARM: Event = ArmCq { cq: 1, napi: 0, consumer: 0, sn: 1 };

/// A grant, as an interrupt gets it.
const GRANT: Event = NapiPrep { napi: 0, granted: true };

fn step(step: NapiStep) -> Event {
    Napi { napi: 0, step }
}

fn out(work: i32) -> Event {
    PollExit { napi: 0, work, budget: 4 }
}

fn take(index: u32) -> Event {
    CqeConsume { cq: 1, index, napi: 0 }
}

fn write(index: u32) -> Event {
    CqeWrite { cq: 1, index, number: index.into() }
}

fn rx(number: u64, flow: u32) -> Event {
    WireRx { number, flow, len: 60 }
}

fn delivered(index: u64) -> Event {
    Event::SkbEnd { skb: 1 << 32 | index, flow: 0, napi_id: 0, end: SkbEnd::Socket(0) }
}

fn rest(unconsumed: u32, posted: u32, armed: bool) -> Event {
    let (cq, napi, enabled, wakeup) = (1, 0, true, false);
    Rest(RestCq { cq, napi, unconsumed, posted, enabled, armed, wakeup })
}

#[test]
fn a_clean_life_breaks_nothing() {
    let life = [
        NapiAdd { napi: 0 },
        NapiHashed { napi: 0, id: 7 },
        RingStarted { ring: 2, cq: 1 },
        Refill { ring: 2, producer: 4, consumer: 0, size: 4 },
        Doorbell { ring: 2, producer: 4 },
        NapiEnabled { napi: 0 },
        ARM,
        rx(0, 9),
        write(0),
        CqFired { cq: 1, producer: 1 },
        NapiPrep { napi: 0, granted: true },
        ListAdd { napi: 0, list: List::Poll, cpu: 0, lists: 1 },
        ListDel { napi: 0, list: List::Taken, cpu: 0 },
        IN,
        take(0),
        delivered(0),
        CqSetCi { cq: 1, consumer: 1 },
        step(NapiStep::Released),
        NapiComplete { napi: 0, work: 1, done: true },
        ARM,
        out(1),
        rest(0, 4, true),
        RestHeld { device: 0, queued: 0 },
        step(NapiStep::Disabling),
        NapiDisabled { napi: 0 },
        NapiUnhashed { napi: 0, id: 7 },
        step(NapiStep::Deleted),
        NapiFreed { napi: 0 },
    ];
    assert_eq!(broken(&life), [""; 0]);
}

#[test]
fn poll_rules_break() {
    assert_eq!(broken(&[IN, out(5)]), ["NAPI-BUDGET"]);
    assert_eq!(broken(&[IN, out(-1)]), ["NAPI-BUDGET"]);
    assert_eq!(broken(&[IN, out(3)]), ["NAPI-BUDGET"], "not completed");
    assert!(broken(&[IN, DONE, out(4)]).contains(&"NAPI-BUDGET"), "completed and kept");
    let net = PollEnter { napi: 0, budget: 0, netpoll: true };
    let left = PollExit { napi: 0, work: 0, budget: 0 };
    assert_eq!(broken(&[write(0), net, take(0), left]), ["NAPI-BUDGET"]);
    let two = [write(0), write(1), IN, take(0), take(1), DONE, out(0)];
    assert_eq!(broken(&two), ["HONEST-WORK"]);
    assert_eq!(broken(&[IN, ARM]), ["ARM-DISCIPLINE"]);
    assert_eq!(broken(&[IN, DONE, ARM, ARM]), ["ARM-DISCIPLINE"]);
    let fires = [CqFired { cq: 1, producer: 1 }; 9];
    assert_eq!(broken(&fires[..8]), [""; 0]);
    assert_eq!(broken(&fires), ["IRQ-PROGRESS"]);
}

#[test]
fn ownership_rules_break() {
    let add = |lists| ListAdd { napi: 0, list: List::Poll, cpu: 0, lists };
    assert_eq!(broken(&[NapiAdd { napi: 0 }, add(2)]), ["SCHED-ONE-LIST"]);
    assert_eq!(broken(&[add(1)]), ["LISTED-MEANS-OWNED"]);
    assert_eq!(broken(&[NapiCompleteUnowned { napi: 0 }]), ["LISTED-MEANS-OWNED"]);
    assert_eq!(broken_by(&[(1, IN), (2, IN)]), ["SINGLE-CONSUMER"]);
    let on = [NapiAdd { napi: 0 }, NapiEnabled { napi: 0 }];
    assert!(broken(&[on[0], IN]).contains(&"DISABLE-MEANS-DISABLED"));
    assert_eq!(broken(&[on[0], on[1], on[1]]), ["NAPI-LIFECYCLE"]);
    assert_eq!(broken(&[on[0], on[1], NapiFreed { napi: 0 }]), ["NAPI-LIFECYCLE"]);
    let stopped = RingStopped { ring: 2, cq: 1 };
    assert!(broken(&[write(0), stopped, take(0)]).contains(&"DISABLE-MEANS-DISABLED"));
    let hashed = |napi, id| NapiHashed { napi, id };
    assert_eq!(broken(&[hashed(0, 0)]), ["NAPI-ID"]);
    assert_eq!(broken(&[hashed(0, 3), hashed(1, 3)]), ["NAPI-ID"]);
    assert_eq!(broken(&[NapiLookup { id: 3, found: Some(4) }]), ["NAPI-ID"]);
}

#[test]
fn a_context_has_one_holder() {
    use NapiStep::*;
    let on = [NapiAdd { napi: 0 }, NapiEnabled { napi: 0 }];
    let by = |more: &[(usize, Event)]| {
        let begin = on.iter().map(|e| (0, *e));
        broken_by(&begin.chain(more.iter().copied()).collect::<Vec<_>>())
    };
    let owned = ["NAPI-OWNER"];
    assert_eq!(by(&[(1, GRANT), (2, GRANT)]), owned, "granted to two");
    assert_eq!(by(&[(1, GRANT), (2, step(BusyTaken))]), owned);
    assert_eq!(by(&[(1, step(BusyTaken)), (2, GRANT)]), owned);
    assert_eq!(by(&[(1, IN)]), owned, "polled though nobody has it");
    assert_eq!(by(&[(1, GRANT), (2, IN)]), owned, "polled by another");
    assert_eq!(by(&[(1, step(BusyTaken)), (2, IN)]), owned);
    assert_eq!(by(&[(1, GRANT), (1, IN)]), [""; 0]);
    assert_eq!(by(&[(1, step(Released))]), owned, "given up by nobody");
    assert_eq!(by(&[(1, GRANT), (2, step(Released))]), owned);
    assert_eq!(by(&[(1, step(BusyTaken)), (1, step(Released))]), owned, "while busy polling");
    let left = [(1, step(BusyTaken)), (1, step(BusyLeft)), (1, step(Released)), (2, GRANT)];
    assert_eq!(by(&left), [""; 0]);
    let kthread = [(1, GRANT), (1, step(ForKthread)), (2, IN), (2, step(Released))];
    assert_eq!(by(&kthread), [""; 0]);
    assert_eq!(by(&[(1, GRANT), (1, NapiDisabled { napi: 0 })]), owned, "disabled under an owner");
    let rests = |last: Event| by(&[(1, GRANT), (1, last), (0, rest(0, 4, true))]);
    assert_eq!(rests(GRANT), owned);
    assert_eq!(rests(step(ForKthread)), owned, "at rest with its kthread");
    assert_eq!(rests(step(Released)), [""; 0]);
}

#[test]
fn a_context_lives_once() {
    use NapiStep::*;
    let life = |more: &[Event]| {
        let on = [NapiAdd { napi: 0 }, NapiHashed { napi: 0, id: 7 }, NapiEnabled { napi: 0 }];
        broken(&[&on[..], more].concat())
    };
    let cycle = ["NAPI-LIFECYCLE"];
    let off = [step(Disabling), NapiDisabled { napi: 0 }];
    assert_eq!(life(&off), [""; 0]);
    assert_eq!(life(&[off[0], off[1], off[0]]), cycle, "disabled twice: told before it hangs");
    assert_eq!(life(&[off[0], off[0]]), cycle, "by two at once");
    assert_eq!(life(&[step(Deleted)]), cycle, "deleted while enabled");
    let out = NapiUnhashed { napi: 0, id: 7 };
    let dead = [off[0], off[1], out, step(Deleted)];
    assert_eq!(life(&dead), [""; 0]);
    let then = |last: Event| life(&[&dead[..], &[last]].concat());
    assert_eq!(then(NapiEnabled { napi: 0 }), cycle, "enabled after its delete");
    assert_eq!(then(step(Deleted)), cycle);
    assert_eq!(then(NapiHashed { napi: 0, id: 8 }), cycle);
    assert_eq!(then(NapiFreed { napi: 0 }), [""; 0]);
    assert_eq!(life(&[off[0], off[1], NapiFreed { napi: 0 }]), cycle, "freed in the hash");
    let dead_means_disabled = |last| then(last).contains(&"DISABLE-MEANS-DISABLED");
    assert!(dead_means_disabled(GRANT) && dead_means_disabled(IN));
    for late in [GRANT, step(BusyTaken)] {
        assert!(life(&[off[0], late]).contains(&"DISABLE-MEANS-DISABLED"), "{late:?}");
    }
    let inside = life(&[GRANT, IN, off[0], off[1]]);
    assert!(inside.contains(&"DISABLE-MEANS-DISABLED"), "a disable that does not wait");
}

#[test]
fn ids_are_issued_or_none() {
    let ids = |more: &[Event]| broken(&[&[NapiIds { first: 5 }][..], more].concat());
    let hashed = |id| NapiHashed { napi: 0, id };
    let mark = |id| SkMark { sock: 0, id };
    let lookup = |id, found| NapiLookup { id, found };
    let sound = [hashed(5), mark(5), mark(0), mark(4), lookup(5, Some(5)), lookup(6, None)];
    assert_eq!(ids(&sound), [""; 0]);
    let out = NapiUnhashed { napi: 0, id: 5 };
    assert_eq!(ids(&[hashed(5), out, mark(5), lookup(5, None)]), [""; 0], "a stale id is legal");
    for wrong in [hashed(4), mark(6), lookup(4, None), lookup(0, None), lookup(6, Some(5))] {
        assert_eq!(ids(&[hashed(5), wrong]), ["NAPI-ID"], "{wrong:?}");
    }
    let end = SkbEnd::Socket(0);
    let told = Event::SkbEnd { skb: 1 << 32, flow: 0, napi_id: 9, end };
    assert_eq!(ids(&[write(0), take(0), told]), ["NAPI-ID"], "in a packet");
}

#[test]
fn contexts_are_kept_and_softirqs_run() {
    let task = Context::default();
    let bh_off = Context { bh_off: 1, ..task };
    let listed = ListAdd { napi: 0, list: List::Poll, cpu: 0, lists: 1 };
    let in_each = |events: &[(Context, Event)]| {
        let records: Vec<_> =
            events.iter().enumerate().map(|(i, (c, e))| record_in(*c, i, 1, *e)).collect();
        broken_in(&records)
    };
    assert_eq!(in_each(&[(task, IN)]), ["CONTEXT"], "polled with BH on");
    assert_eq!(in_each(&[(bh_off, IN), (bh_off, DONE), (bh_off, out(0))]), [""; 0]);
    for leak in [
        Context { preempt_off: 1, ..bh_off },
        Context { bh_off: 2, ..bh_off },
        Context { spin: 1, ..bh_off },
        Context { rcu: 1, ..bh_off },
        Context { irq_off: 1, ..bh_off },
    ] {
        assert_eq!(in_each(&[(bh_off, IN), (bh_off, DONE), (leak, out(0))]), ["CONTEXT"]);
    }
    let raised = |context| in_each(&[(bh_off, GRANT), (context, listed)]);
    assert_eq!(raised(task), ["SOFTIRQ-RUNS"]);
    for runs in [bh_off, Context { hardirq: 1, ..task }, Context { softirq: 1, ..task }] {
        assert_eq!(raised(runs), [""; 0]);
    }
}

#[test]
fn packet_rules_break() {
    let crossed = [rx(0, 9), rx(1, 9), write(0), write(1), take(0), take(1)];
    let order = |last: [Event; 2]| broken(&[&crossed[..], &last[..]].concat());
    assert_eq!(order([delivered(0), delivered(1)]), [""; 0]);
    assert_eq!(order([delivered(1), delivered(0)]), ["FLOW-ORDER"]);
    assert_eq!(order([delivered(0), delivered(0)]), ["PACKET-CONSERVATION"]);
    let held = RestHeld { device: 0, queued: 0 };
    assert_eq!(broken(&[rx(0, 9), held]), ["PACKET-CONSERVATION"]);
    assert!(broken(&[take(0)]).contains(&"VALID-BEFORE-USE"));
    assert!(broken(&[write(0), write(1), take(1)]).contains(&"VALID-BEFORE-USE"));
    assert_eq!(broken(&[rest(1, 4, true)]), ["NO-LOST-WORK"]);
    assert_eq!(broken(&[rest(0, 0, true)]), ["NO-LOST-WORK"]);
    assert_eq!(broken(&[rest(0, 4, false)]), ["NO-LOST-WORK"]);
}

#[test]
fn ring_and_buffer_rules_break() {
    let refill = |producer| Refill { ring: 2, producer, consumer: 0, size: 4 };
    let ring = |producer| Doorbell { ring: 2, producer };
    assert_eq!(broken(&[refill(5)]), ["RING-ARITHMETIC"]);
    assert_eq!(broken(&[CqSetCi { cq: 1, consumer: 1 }]), ["RING-ARITHMETIC"]);
    assert_eq!(broken(&[write(0), take(0), rest(0, 4, true)]), ["RING-ARITHMETIC"]);
    assert_eq!(broken(&[EqOverrun { eq: 4 }]), ["RING-ARITHMETIC"]);
    assert_eq!(broken(&[refill(2), ring(3)]), ["POST-BEFORE-DOORBELL"]);
    assert_eq!(broken(&[refill(2), rest(0, 4, true)]), ["POST-BEFORE-DOORBELL"]);
    let own = |from, to| Own { buf: 8, from, to };
    assert_eq!(broken(&[own(Owner::Driver, Owner::Device)]), ["BUFFER-OWNERSHIP"]);
    assert_eq!(broken(&[DeviceMisuse { why: "so", at: 0 }]), ["DEVICE-RULES"]);
}

/// A receive ring of four whose tail is register 0x18.
const RING: Event =
    Event::TailRing(pollproof_events::TailRing { bar: 0, tail: 0x18, entries: 4, cq: Some(1) });

fn descriptor(index: u32) -> Event {
    Descriptor { tail: 0x18, index, buf: 8 }
}

fn tail(value: u64) -> Event {
    MmioWrite { bar: 0, offset: 0x18, value }
}

#[test]
fn tail_rules_break() {
    let own = |from, to| Own { buf: 8, from, to };
    let mapped =
        [RING, own(Owner::Free, Owner::Driver), own(Owner::Driver, Owner::Device), descriptor(0)];
    let after = |more: &[Event]| broken(&[&mapped[..], more].concat());
    assert_eq!(after(&[descriptor(1), descriptor(2), tail(3)]), [""; 0]);
    assert_eq!(after(&[tail(4)]), ["RING-TAIL"], "outside the ring");
    assert_eq!(after(&[tail(2)]), ["RING-TAIL"], "1 was never written");
    assert_eq!(after(&[tail(1), descriptor(0)]), ["RING-TAIL"], "the device has 0");
    let all = [descriptor(1), descriptor(2), descriptor(3)];
    assert_eq!(after(&[&all[..], &[tail(0)]].concat()), ["RING-TAIL"], "all is nothing");
    let three = [&all[..2], &[tail(3)]].concat();
    assert_eq!(after(&[&three[..], &[descriptor(3), tail(0)]].concat()), ["RING-TAIL"], "meets");
    let back = own(Owner::Device, Owner::Driver);
    assert_eq!(after(&[back, tail(1)]), ["RING-TAIL"], "the buffer is the driver's");
    assert_eq!(after(&[write(0)]), ["RING-TAIL"], "the device used what it did not have");
    assert_eq!(after(&[tail(1), write(0), descriptor(1), tail(2)]), [""; 0]);
}

#[test]
fn port_rules_break() {
    let port = |state| Port { port: 0, state };
    let started = RingStarted { ring: 1, cq: 1 };
    let stopped = RingStopped { ring: 1, cq: 1 };
    let up = [
        NapiAdd { napi: 0 },
        port(PortState::Probed),
        started,
        NapiEnabled { napi: 0 },
        port(PortState::Up),
    ];
    let after = |more: &[Event]| broken(&[&up[..], more].concat());
    let off = [stopped, NapiDisabled { napi: 0 }];
    let down = [off[0], off[1], port(PortState::Down), port(PortState::Reset)];
    assert_eq!(after(&down), [""; 0]);
    assert_eq!(after(&[port(PortState::Down)]), ["PORT-LIFECYCLE"], "all still runs");
    assert_eq!(after(&[off[1], port(PortState::Down)]), ["PORT-LIFECYCLE"], "a ring runs");
    assert_eq!(after(&[off[0], off[1], port(PortState::Reset)]), ["PORT-LIFECYCLE"], "while up");
    assert_eq!(after(&[&down[..], &[port(PortState::Up)]].concat()), ["PORT-LIFECYCLE"], "bare");
    assert_eq!(broken(&[port(PortState::Up)]), ["PORT-LIFECYCLE"], "never probed");
    let read = MmioRead { bar: 0, offset: 8, value: 0xffff_ffff };
    let gone = [FunctionRemoved, read, port(PortState::Removed)];
    assert_eq!(after(&gone), [""; 0]);
    assert_eq!(after(&[&gone[..], &[read]].concat()), ["REMOVAL-FENCE"]);
    assert_eq!(after(&[&gone[..], &[tail(0)]].concat()), ["REMOVAL-FENCE"]);
    assert_eq!(after(&[&[FunctionRemoved][..], &[read; 9]].concat()), ["REMOVAL-FENCE"]);
    assert_eq!(after(&[port(PortState::Removed)]), ["REMOVAL-FENCE"], "it is there");
}

#[test]
fn packets_of_several_completions_count_once_when_they_end() {
    let part = |index| CqePartial { cq: 1, index, napi: 0 };
    let frame = CqeWrite { cq: 1, index: 1, number: 0 };
    let life = [
        rx(0, 9),
        write(0),
        frame,
        IN,
        take(0),
        part(0),
        take(1),
        delivered(1),
        CqSetCi { cq: 1, consumer: 2 },
        NapiComplete { napi: 0, work: 1, done: true },
        out(1),
        rest(0, 4, true),
        RestHeld { device: 0, queued: 0 },
    ];
    assert_eq!(broken(&life), [""; 0]);
    let many: Vec<_> = (0..6).map(write).chain([IN]).chain((0..6).map(take)).collect();
    assert_eq!(broken(&[&many[..], &[out(4)]].concat()), ["BOUNDED-WORK"]);
}

fn tx_ring() -> Event {
    TailRing(pollproof_events::TailRing { bar: 0, tail: 0x6018, entries: 48, cq: None })
}

#[test]
fn a_hang_is_declared_when_it_is_one_and_only_then() {
    let tail = 0x6018;
    let given = [tx_ring(), Descriptor { tail, index: 0, buf: 0 }];
    let look = HangCheck { tail };
    let hang =
        |between: &[Event]| [&given[..], &[look], between, &[look, TxHang { tail }]].concat();
    assert_eq!(broken(&hang(&[])), [""; 0], "nothing moved between two looks");
    assert_eq!(broken(&hang(&[Paused])), ["HANG-SOUND"]);
    let moved = TxDone { tail, count: 1 };
    assert!(broken(&hang(&[moved])).contains(&"HANG-SOUND"));
    let idle = [tx_ring(), look, look, TxHang { tail }];
    assert_eq!(broken(&idle), ["HANG-SOUND"], "nothing waits");
    assert_eq!(broken(&[&given[..], &[look; 6]].concat()), ["HANG-SOUND"], "never declared");
}

/// Events in an interrupt handler.
fn broken_in_irq(events: &[Event]) -> Vec<&'static str> {
    let context = Context { hardirq: 1, ..Context::default() };
    let records: Vec<_> =
        events.iter().enumerate().map(|(i, e)| Record { context, ..record(i, 1, *e) }).collect();
    Judge::of(&records).findings().iter().map(|f| f.rule).collect()
}

#[test]
fn a_vector_is_quiet_while_what_it_scheduled_is_polled() {
    let prep = |granted| NapiPrep { napi: 0, granted };
    let twice = |vector| [DONE, Irq { vector: 3 }, prep(true), Irq { vector }, prep(false)];
    assert!(broken_in_irq(&twice(3)).contains(&"MASKED-WHILE-OWNED"));
    assert!(!broken_in_irq(&twice(4)).contains(&"MASKED-WHILE-OWNED"), "another vector");
    let line = twice(pollproof_events::INTX).map(|e| match e {
        Irq { .. } => Irq { vector: pollproof_events::INTX },
        e => e,
    });
    assert!(!broken_in_irq(&line).contains(&"MASKED-WHILE-OWNED"), "a shared line");
    let done = [&twice(3)[..3], &[DONE], &twice(3)[3..]].concat();
    assert!(!broken_in_irq(&done).contains(&"MASKED-WHILE-OWNED"));
    let first = &twice(3)[1..];
    assert!(!broken_in_irq(first).contains(&"MASKED-WHILE-OWNED"), "on the way up");
}

#[test]
fn a_device_keeps_nothing_to_itself_at_rest() {
    let rest = |blocked, causes| RestDevice(pollproof_events::RestDevice { blocked, causes });
    assert_eq!(broken(&[rest(0, 0)]), [""; 0]);
    assert_eq!(broken(&[rest(1, 0)]), ["QUEUE-ISOLATION"]);
    assert_eq!(broken(&[rest(0, 4)]), ["CAUSE-LEDGER"]);
    let sent = |uncleaned, enabled, wakeup| {
        RestTx(pollproof_events::RestTx {
            tail: 0x6018,
            uncleaned,
            stopped: false,
            enabled,
            wakeup,
        })
    };
    let Event::RestTx(quiet) = sent(0, true, false) else { return };
    assert_eq!(
        broken(&[RestTx(pollproof_events::RestTx { stopped: true, ..quiet })]),
        ["NO-LOST-WORK"]
    );
    assert_eq!(broken(&[sent(1, true, false)]), ["NO-LOST-WORK"]);
    for fine in [sent(0, true, false), sent(1, false, false), sent(1, true, true)] {
        assert_eq!(broken(&[fine]), [""; 0]);
    }
}

#[test]
fn ones_that_are_taken_for_data_come_to_light_at_rest() {
    let read = MmioRead { bar: 0, offset: 8, value: u32::MAX.into() };
    let rest = RestDevice(pollproof_events::RestDevice { blocked: 0, causes: 0 });
    assert_eq!(broken(&[FunctionRemoved, read, rest]), ["REMOVAL-FENCE"]);
    assert_eq!(broken(&[FunctionRemoved, rest]), [""; 0], "nobody read anything");
}
