//! Events as columns: one lane a room of the house, one line an event.

use crate::{packet, sched};
use pollproof_events::{Event, List, NapiStep, Owner, Record};

/// A room of the house, in the order in which a frame meets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Room {
    /// Street: the wire.
    Wire,
    /// Door: the device.
    Device,
    /// Hall: host memory.
    Memory,
    /// Bell: interrupts and registers.
    Bell,
    /// Butler: the driver.
    Driver,
    /// Pass: NAPI.
    Napi,
    /// Guest: the socket.
    Socket,
}

/// Names of the lanes and their columns.
const LANES: [(Room, &str, usize); 7] = [
    (Room::Wire, "wire", 0),
    (Room::Device, "device", 7),
    (Room::Memory, "memory", 16),
    (Room::Bell, "bell", 25),
    (Room::Driver, "driver", 32),
    (Room::Napi, "napi", 42),
    (Room::Socket, "socket", 50),
];

/// The room in which an event happens.
pub fn room(event: &Event) -> Room {
    use Event::*;
    match event {
        WireRx { .. } | WireDrop { .. } | Paused => Room::Wire,
        CqeWrite { .. } | CqOverrun { .. } | CqArmed { .. } | CqFired { .. } => Room::Device,
        EqOverrun { .. } | DeviceMisuse { .. } => Room::Device,
        DmaWrite { .. } | DmaRead { .. } | Own { .. } | IllegalAccess { .. } => Room::Memory,
        Msix { .. } | Irq { .. } | IrqMask { .. } => Room::Bell,
        MmioWrite { .. } | MmioRead { .. } => Room::Bell,
        CqeConsume { .. }
        | CqePartial { .. }
        | CqSetCi { .. }
        | SkbBuilt { .. }
        | Refill { .. }
        | TailRing(_)
        | Descriptor { .. }
        | TxDone { .. }
        | HangCheck { .. }
        | TxHang { .. }
        | Port { .. } => Room::Driver,
        Doorbell { .. } | RefillFailed { .. } | ArmCq { .. } => Room::Driver,
        RingStopped { .. } | RingStarted { .. } => Room::Driver,
        SkbEnd { .. } | SkMark { .. } => Room::Socket,
        Sched(event) if sched::is_timer(event) => Room::Bell,
        Sched(_) => Room::Driver,
        _ => Room::Napi,
    }
}

/// An event in a few words.
pub fn text(event: &Event) -> String {
    use Event::*;
    match *event {
        WireRx { number, len, .. } => format!("frame {number} in, {len} B"),
        WireDrop { number, why } => format!("frame {number} dropped: {why}"),
        DmaWrite { what, len, .. } => format!("{what:?} written, {len} B"),
        DmaRead { what, len, .. } => format!("{what:?} read, {len} B"),
        CqeWrite { index, number, .. } => format!("completion {index} for frame {number}"),
        CqOverrun { cq, .. } => format!("CQ {cq:#x} overruns"),
        CqArmed { consumer, sn, accepted: true, .. } => format!("armed at {consumer}, sn {sn}"),
        CqArmed { sn, .. } => format!("stale arm, sn {sn}"),
        CqFired { producer, .. } => format!("CQ fires at {producer}"),
        EqOverrun { eq } => format!("EQ {eq} overruns"),
        DeviceMisuse { why, .. } => format!("misuse: {why}"),
        Own { from, to, .. } => format!("buffer {} to {}", owner(from), owner(to)),
        IllegalAccess { by, why, .. } => format!("{}: {why}", owner(by)),
        Msix { vector, delivered: true } => format!("MSI-X {vector}"),
        Msix { vector, .. } => format!("MSI-X {vector} pends, masked"),
        Irq { vector } => format!("interrupt {vector}"),
        IrqMask { vector, masked } => {
            format!("vector {vector} {}", if masked { "masked" } else { "unmasked" })
        }
        MmioWrite { bar, offset, .. } => format!("BAR{bar}+{offset:#x} written"),
        MmioRead { bar, offset, .. } => format!("BAR{bar}+{offset:#x} read"),
        NapiIds { first } => format!("ids begin at {first}"),
        Napi { step, .. } => step_name(step).into(),
        NapiAdd { napi } => format!("context {napi} added"),
        NapiHashed { napi, id } => format!("context {napi} gets id {id}"),
        NapiUnhashed { napi, id } => format!("context {napi} leaves the hash, id {id}"),
        NapiLookup { id, found: Some(_) } => format!("id {id} looked up: found"),
        NapiLookup { id, .. } => format!("id {id} looked up: none"),
        NapiFreed { napi } => format!("context {napi} freed"),
        NapiEnabled { .. } => "enabled".into(),
        NapiDisabled { .. } => "disabled".into(),
        NapiPrep { granted: true, .. } => "schedule granted".into(),
        NapiPrep { .. } => "schedule refused".into(),
        ListAdd { cpu, list, .. } => format!("on CPU {cpu}'s {}", name(list)),
        ListDel { cpu, list, .. } => format!("off CPU {cpu}'s {}", name(list)),
        PollEnter { budget, netpoll: true, .. } => format!("netpoll polls, budget {budget}"),
        PollEnter { budget, .. } => format!("poll, budget {budget}"),
        PollExit { work, budget, .. } => format!("poll returns {work} of {budget}"),
        NapiComplete { work, done, .. } => format!("complete({work}) says {done}"),
        NapiCompleteUnowned { .. } => "complete by one that does not own it".into(),
        CqeConsume { index, .. } => format!("takes completion {index}"),
        CqePartial { index, .. } => format!("packet goes on after {index}"),
        CqSetCi { consumer, .. } => format!("consumer index {consumer}"),
        SkbBuilt { len, .. } => format!("packet of {len} B"),
        SkbEnd { skb, end: pollproof_events::SkbEnd::Socket(_), .. } => {
            format!("packet {} in", skb as u32)
        }
        SkbEnd { skb, end: pollproof_events::SkbEnd::Dropped(why), .. } => {
            format!("packet {} dropped: {why}", skb as u32)
        }
        SkMark { sock, id } => format!("socket {sock} marked with id {id}"),
        Refill { producer, consumer, .. } => format!("refilled to {producer}, from {consumer}"),
        Doorbell { producer, .. } => format!("producer {producer} told"),
        RefillFailed { posted, .. } => format!("no memory, {posted} posted"),
        ArmCq { consumer, sn, .. } => format!("arms at {consumer}, sn {sn}"),
        RingStopped { ring, .. } => format!("ring {ring:#x} stopped"),
        RingStarted { ring, .. } => format!("ring {ring:#x} started"),
        TailRing(ring) => format!("ring of {} with its tail at {:#x}", ring.entries, ring.tail),
        Descriptor { tail, index, .. } => format!("descriptor {index} of {tail:#x} written"),
        TxDone { count, .. } => format!("{count} descriptors sent"),
        HangCheck { .. } => "does the ring move?".into(),
        TxHang { tail } => format!("ring {tail:#x} hangs"),
        Paused => "pause frame".into(),
        Port { state, .. } => format!("port is {state:?}"),
        FunctionRemoved => "the function leaves the bus".into(),
        Sched(ref event) => sched::text(event),
        Skb(ref step) => packet::text(step),
        TimerStart { delay_ns, .. } => format!("timer in {delay_ns} ns"),
        TimerFired { .. } => "timer fires".into(),
        TimeSqueeze { cpu } => format!("CPU {cpu} runs out of budget"),
        Rest(rest) => format!(
            "rest: {} waiting, {} posted, {}armed",
            rest.unconsumed,
            rest.posted,
            if rest.armed { "" } else { "not " }
        ),
        RestTx(rest) => format!("rest: {} sent and not cleaned", rest.uncleaned),
        RestDevice(rest) => {
            format!("rest: {} frames blocked, causes {:#x}", rest.blocked, rest.causes)
        }
        GroHeld { skb, merged: true, .. } => format!("{skb:#x} is merged"),
        GroHeld { skb, .. } => format!("{skb:#x} is held"),
        GroUp { packets, .. } => format!("{packets} packets go up"),
        GsoSplit { segs, same, .. } => {
            format!(
                "{segs} packets in one, {}",
                if same { "as they came" } else { "not as they came" }
            )
        }
        RestGro { held, .. } => format!("rest: {held} held by GRO"),
        RestHeld { device, queued } => format!("rest: {device} in device, {queued} in queues"),
    }
}

fn step_name(step: NapiStep) -> &'static str {
    match step {
        NapiStep::Deleted => "deleted",
        NapiStep::Disabling => "to be disabled",
        NapiStep::Released => "given up",
        NapiStep::ForKthread => "left to the kthread",
        NapiStep::BusyTaken => "a busy poller takes it",
        NapiStep::BusyLeft => "the busy poller leaves",
    }
}

fn name(list: List) -> &'static str {
    match list {
        List::Poll => "poll list",
        List::Repoll => "repoll list",
        List::Taken => "list under way",
    }
}

fn owner(owner: Owner) -> &'static str {
    match owner {
        Owner::Free => "free",
        Owner::Driver => "driver",
        Owner::Device => "device",
        Owner::Stack => "stack",
    }
}

/// Events that only repeat what others say.
fn is_noise(event: &Event) -> bool {
    matches!(
        event,
        Event::Own { .. }
            | Event::DmaRead { .. }
            | Event::DmaWrite { .. }
            | Event::ListDel { .. }
            | Event::Refill { .. }
            | Event::SkbBuilt { .. }
            | Event::MmioWrite { .. }
            | Event::NapiAdd { .. }
            | Event::RestHeld { .. }
            | Event::RestTx(_)
            | Event::RestDevice(_)
    )
}

/// The last `count` events up to number `upto` that say something, one line each, under a header
/// that names the lanes.
pub fn lanes(records: &[Record], upto: Option<u64>, count: usize) -> Vec<String> {
    let last = upto.unwrap_or(u64::MAX);
    let told: Vec<_> = records
        .iter()
        .filter(|r| r.number <= last && (!is_noise(&r.event) || Some(r.number) == upto))
        .collect();
    let mut header = String::from("cpu  ");
    for (_, name, column) in LANES {
        while header.len() < 5 + column {
            header.push(' ');
        }
        header.push_str(name);
    }
    let mut lines = vec![header];
    for record in &told[told.len().saturating_sub(count)..] {
        lines.push(line(record));
    }
    lines
}

fn line(record: &Record) -> String {
    let room = room(&record.event);
    let column = LANES.iter().find(|(r, _, _)| *r == room).map_or(0, |(_, _, column)| *column);
    // Threads of the device have no CPU.
    let cpu = match record.context.cpu {
        63 => "dev".to_string(),
        cpu => format!("{cpu}"),
    };
    format!("{cpu:<5}{:column$}{}", "", text(&record.event))
}
