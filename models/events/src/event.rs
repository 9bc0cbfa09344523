//! The events, in the order a frame meets them; the corridors refill, rearm, complete follow.

use crate::packet::SkbStep;
use crate::sched::Sched;
use crate::state::{
    List, NapiStep, Owner, PortState, RestCq, RestDevice, RestTx, SkbEnd, TailRing, What,
};

/// Number of a completion queue.
pub type CqId = u32;
/// Number of a receive or send ring.
pub type RingId = u32;
/// Slot of a NAPI context: its identity as memory, not its `napi_id`.
pub type NapiId = u32;

/// Vector of the legacy interrupt: a line that devices share.
pub const INTX: u32 = u32::MAX;

/// One thing that happened, as seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    // Street.
    /// A frame reached the port; `flow` is the hash of its addresses, `number` counts frames.
    WireRx {
        /// Running number of the frame on this port.
        number: u64,
        /// Flow that it belongs to.
        flow: u32,
        /// Length in bytes.
        len: u32,
    },
    /// The device dropped a frame and counted why.
    WireDrop {
        /// Running number of the frame.
        number: u64,
        /// Name of the counter.
        why: &'static str,
    },
    // Door.
    /// The device wrote host memory.
    DmaWrite {
        /// Bus address.
        addr: u64,
        /// Bytes.
        len: u32,
        /// What it wrote.
        what: What,
    },
    /// The device read host memory.
    DmaRead {
        /// Bus address.
        addr: u64,
        /// Bytes.
        len: u32,
        /// What it read.
        what: What,
    },
    /// The device completed a frame into a CQ.
    CqeWrite {
        /// Queue.
        cq: CqId,
        /// Free-running producer index.
        index: u32,
        /// Frame that it tells of.
        number: u64,
    },
    /// The device had a completion and no free entry.
    CqOverrun {
        /// Queue.
        cq: CqId,
        /// Producer index.
        producer: u32,
        /// Consumer index as the device knows it.
        consumer: u32,
        /// Entries.
        size: u32,
    },
    /// The device took an arm request.
    CqArmed {
        /// Queue.
        cq: CqId,
        /// Consumer index of the request.
        consumer: u32,
        /// Sequence number of the request.
        sn: u32,
        /// False when an old sequence number made it stale.
        accepted: bool,
    },
    /// The device signalled a CQ through its EQ.
    CqFired {
        /// Queue.
        cq: CqId,
        /// Producer index at that time.
        producer: u32,
    },
    /// The device had an event and no free entry.
    EqOverrun {
        /// Event queue.
        eq: u32,
    },
    /// The driver did what the device's manual forbids, or what is not modelled.
    DeviceMisuse {
        /// What, in words.
        why: &'static str,
        /// Register offset, queue or address that it is about.
        at: u64,
    },
    // Hall.
    /// A buffer changed hands.
    Own {
        /// Bus address of the buffer.
        buf: u64,
        /// Before.
        from: Owner,
        /// After.
        to: Owner,
    },
    /// Somebody touched memory that was not theirs.
    IllegalAccess {
        /// Bus address.
        addr: u64,
        /// Who did it.
        by: Owner,
        /// Whose it was.
        owner: Owner,
        /// What they did.
        why: &'static str,
    },
    // Bell.
    /// The device sent an MSI-X message.
    Msix {
        /// Vector.
        vector: u32,
        /// False when the vector was masked and the message became pending.
        delivered: bool,
    },
    /// A hard interrupt handler ran.
    Irq {
        /// Vector.
        vector: u32,
    },
    /// The driver masked or unmasked a vector.
    IrqMask {
        /// Vector.
        vector: u32,
        /// New state.
        masked: bool,
    },
    /// The driver wrote a device register.
    MmioWrite {
        /// BAR.
        bar: u8,
        /// Offset.
        offset: u64,
        /// Value.
        value: u64,
    },
    /// The driver read a device register.
    MmioRead {
        /// BAR.
        bar: u8,
        /// Offset.
        offset: u64,
        /// Value.
        value: u64,
    },
    // Butler and pass.
    /// The first `napi_id` that may be issued, 1 if nobody says; smaller ones mean none.
    NapiIds {
        /// It.
        first: u32,
    },
    /// A step in a context's life.
    Napi {
        /// Context.
        napi: NapiId,
        /// Step.
        step: NapiStep,
    },
    /// `netif_napi_add`.
    NapiAdd {
        /// Context.
        napi: NapiId,
    },
    /// The context got an id and is visible in `napi_hash`.
    NapiHashed {
        /// Context.
        napi: NapiId,
        /// `napi_id`.
        id: u32,
    },
    /// The context left `napi_hash`.
    NapiUnhashed {
        /// Context.
        napi: NapiId,
        /// `napi_id`.
        id: u32,
    },
    /// `napi_by_id` answered.
    NapiLookup {
        /// Wanted id.
        id: u32,
        /// Id of the context found, if any.
        found: Option<u32>,
    },
    /// The memory of the context was freed.
    NapiFreed {
        /// Context.
        napi: NapiId,
    },
    /// `napi_enable` finished.
    NapiEnabled {
        /// Context.
        napi: NapiId,
    },
    /// `napi_disable` returned.
    NapiDisabled {
        /// Context.
        napi: NapiId,
    },
    /// `napi_schedule_prep` answered.
    NapiPrep {
        /// Context.
        napi: NapiId,
        /// Whether the caller now owns it.
        granted: bool,
    },
    /// The context was put on a list.
    ListAdd {
        /// Context.
        napi: NapiId,
        /// Which list.
        list: List,
        /// CPU of the list.
        cpu: u32,
        /// On how many lists it is now.
        lists: u32,
    },
    /// The context left a list.
    ListDel {
        /// Context.
        napi: NapiId,
        /// Which list.
        list: List,
        /// CPU of the list.
        cpu: u32,
    },
    /// The poll method was entered.
    PollEnter {
        /// Context.
        napi: NapiId,
        /// Budget given.
        budget: i32,
        /// Whether the caller is netpoll (ownership not held).
        netpoll: bool,
    },
    /// The poll method returned.
    PollExit {
        /// Context.
        napi: NapiId,
        /// Value returned.
        work: i32,
        /// Budget given.
        budget: i32,
    },
    /// `napi_complete_done` returned.
    NapiComplete {
        /// Context.
        napi: NapiId,
        /// Work reported to it.
        work: i32,
        /// Whether the caller may arm the interrupt.
        done: bool,
    },
    /// `napi_complete_done` was called by one that does not own the context.
    NapiCompleteUnowned {
        /// Context.
        napi: NapiId,
    },
    /// The driver consumed a completion.
    CqeConsume {
        /// Queue.
        cq: CqId,
        /// Free-running consumer index.
        index: u32,
        /// NAPI on whose behalf.
        napi: NapiId,
    },
    /// The completion consumed last did not end its packet: the next one goes on with it, and the
    /// packet will have the identity of the one that ends it.
    CqePartial {
        /// Queue.
        cq: CqId,
        /// Free-running consumer index.
        index: u32,
        /// NAPI on whose behalf.
        napi: NapiId,
    },
    /// The driver published its consumer index.
    CqSetCi {
        /// Queue.
        cq: CqId,
        /// Consumer index.
        consumer: u32,
    },
    /// A packet was built from a completion.
    SkbBuilt {
        /// Identity of the packet.
        skb: u64,
        /// Flow it belongs to.
        flow: u32,
        /// Length in bytes.
        len: u32,
    },
    /// A packet reached its end.
    SkbEnd {
        /// Identity of the packet.
        skb: u64,
        /// Flow it belongs to.
        flow: u32,
        /// `skb->napi_id`.
        napi_id: u32,
        /// Where it ended.
        end: SkbEnd,
    },
    /// `sk_mark_ll`: a socket was marked with the id of a packet.
    SkMark {
        /// Number of the socket.
        sock: u32,
        /// `sk_napi_id`.
        id: u32,
    },
    // Corridors.
    /// Refill: buffers were posted and the producer index is about to be published.
    Refill {
        /// Ring.
        ring: RingId,
        /// Free-running producer index after the refill.
        producer: u32,
        /// Free-running consumer index.
        consumer: u32,
        /// Entries.
        size: u32,
    },
    /// Refill: the producer index was published to the device.
    Doorbell {
        /// Ring.
        ring: RingId,
        /// Producer index.
        producer: u32,
    },
    /// Refill failed for want of memory.
    RefillFailed {
        /// Ring.
        ring: RingId,
        /// Entries still posted.
        posted: u32,
    },
    /// Rearm: the driver asked for the next completion's interrupt.
    ArmCq {
        /// Queue.
        cq: CqId,
        /// NAPI that serves it.
        napi: NapiId,
        /// Consumer index.
        consumer: u32,
        /// Sequence number.
        sn: u32,
    },
    /// A queue was stopped: from here on nothing of it may be used.
    RingStopped {
        /// Ring.
        ring: RingId,
        /// Its CQ.
        cq: CqId,
    },
    /// A queue was started.
    RingStarted {
        /// Ring.
        ring: RingId,
        /// Its CQ.
        cq: CqId,
    },
    // Rings whose tail is a register.
    /// A ring was set up: its tail is this register. It is empty, its indexes are 0.
    TailRing(TailRing),
    /// A descriptor of such a ring was written with the address of this buffer; 0 is none.
    Descriptor {
        /// Register of the ring's tail.
        tail: u64,
        /// Index in the ring.
        index: u32,
        /// Buffer.
        buf: u64,
    },
    /// The driver found so many more descriptors of a transmit ring to be done.
    TxDone {
        /// Register of the ring's tail.
        tail: u64,
        /// Descriptors.
        count: u32,
    },
    /// The watchdog's turn came to a transmit ring: has it moved since the last time?
    HangCheck {
        /// Register of the ring's tail.
        tail: u64,
    },
    /// The driver declares the ring hung.
    TxHang {
        /// Register of the ring's tail.
        tail: u64,
    },
    /// A pause frame stopped the transmitter of the port.
    Paused,
    // The life of a port.
    /// A port is in this state from here on.
    Port {
        /// Port.
        port: u32,
        /// State.
        state: PortState,
    },
    /// The function left the bus: its registers read all ones.
    FunctionRemoved,
    // Time.
    /// A NAPI timer was started.
    TimerStart {
        /// Context.
        napi: NapiId,
        /// Nanoseconds from now.
        delay_ns: u64,
    },
    /// A NAPI timer fired.
    TimerFired {
        /// Context.
        napi: NapiId,
    },
    /// `net_rx_action` stopped with work left.
    TimeSqueeze {
        /// CPU.
        cpu: u32,
    },
    /// A packet scheduler or one of its timers did something.
    Sched(Sched),
    /// Something happened to a packet on its way up.
    Skb(SkbStep),
    // Rest.
    /// GRO holds a packet: by itself, or merged into one that it holds.
    GroHeld {
        /// Context.
        napi: NapiId,
        /// Identity of the packet.
        skb: u64,
        /// Merged.
        merged: bool,
    },
    /// Packets that waited for a full batch go up.
    GroUp {
        /// Context.
        napi: NapiId,
        /// Packets, merged ones counted.
        packets: u32,
        /// The same without the one that came last.
        before_last: u32,
        /// `gro_normal_batch`.
        batch: u32,
    },
    /// A merged packet was taken apart.
    GsoSplit {
        /// Identity of its first packet.
        skb: u64,
        /// Packets that it stands for.
        segs: u32,
        /// They are what came, byte for byte.
        same: bool,
    },
    /// Nothing runs any more: what GRO holds in a context.
    RestGro {
        /// Context.
        napi: NapiId,
        /// Packets.
        held: u64,
        /// Somebody is still coming for them.
        wakeup: bool,
    },
    /// Nothing runs any more: the state of one queue.
    Rest(RestCq),
    /// Nothing runs any more: packets that a place still holds.
    RestHeld {
        /// Frames inside the device.
        device: u64,
        /// Completed frames that were not consumed, over all queues.
        queued: u64,
    },
    /// Nothing runs any more: the state of a transmit ring.
    RestTx(RestTx),
    /// Nothing runs any more: what the device keeps to itself.
    RestDevice(RestDevice),
}
