//! What can be seen at the seams of a run: one event type, one stream.
//!
//! Rules read this stream and nothing else, so that they run on a Rust model, on RTL and on a
//! recorded Linux alike. That is why the vocabulary belongs to neither models nor drivers: it is a
//! floor that both stand on. It holds data and the recorder, no behaviour.

mod event;
mod packet;
mod recorder;
mod sched;
mod state;

pub use event::{CqId, Event, NapiId, RingId, INTX};
pub use packet::{sum_of, Link, SkbStep};
pub use recorder::{emit, is_recording, record, set_time_ps, with_visitor, Record, Visitor};
pub use sched::{
    HrtimerId, QdiscCounts, QdiscId, QdiscPacket, QdiscPromise, Sched, NEVER, NO_FLOW_WAITS,
};
pub use state::{
    List, NapiStep, Owner, PortState, RestCq, RestDevice, RestTx, SkbEnd, TailRing, What,
};
