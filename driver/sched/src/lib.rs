//! Sending at the right time in the shape of Linux: `sch_fq`, the qdisc watchdog, hrtimers.
//!
//! Names and behaviour follow `net/sched/sch_fq.c`, `net/sched/sch_api.c` and
//! `kernel/time/hrtimer.c` of Linux 6.12; the watchdog also has the forms of March 2020, before and
//! after each patch of the series "net_sched: allow use of hrtimer slack". See docs/FIDELITY.md.

pub mod fq;
pub mod hrtimer;
pub mod netlink;
mod packet;
mod sch;
pub mod watchdog;

pub use fq::{Fq, FqOptions};
pub use hrtimer::{ClockEvent, Hrtimer, HrtimerBase};
pub use packet::{Packet, Sock, SockKind, GSO_MAX_SIZE, NO_RATE};
pub use sch::{Qdisc, QdiscState};
pub use watchdog::{QdiscWatchdog, WatchdogForm};
