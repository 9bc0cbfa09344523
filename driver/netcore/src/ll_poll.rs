//! A socket polls the queue that its last packet came from: `include/net/ll_poll.h` as of 3.11,
//! through a driver's `ndo_ll_poll`.
//!
//! The socket names the context by id only. The end is computed once, with a microsecond of 1000 /
//! 1024 as the shift of the TSC's rate gives it; what the task is asked (reschedule, signal) is
//! looked at before the loop and not in it. BHs are off throughout.

use crate::napi::Napi;
use crate::{Net, Sock};
use pollproof_sync::{bug, cpu};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

/// The device can not be polled now (it is down).
pub const LL_FLUSH_FAILED: i32 = -1;
/// Somebody else is polling the queue.
pub const LL_FLUSH_BUSY: i32 = -2;

impl Net {
    /// `sk_valid_ll`: whether a socket may poll.
    pub fn sk_valid_ll(&self, sk: &Sock) -> bool {
        self.options.busy_poll_us != 0
            && sk.napi_id() != 0
            && !self.need_resched()
            && !self.signal_pending()
    }

    /// `sk_poll_ll`: polls until the socket has a packet or the time is over; exactly once if it
    /// must not wait. True when there is a packet.
    pub fn sk_poll_ll(&self, sk: &Sock, nonblock: bool) -> bool {
        let end_ns = self.below.clock.now_ns() + self.options.busy_poll_us * 1_000_000 / 1_024;
        cpu::local_bh_disable();
        if let Some(id) = self.id_to_poll(sk) {
            let _rcu = self.rcu.read_lock();
            if let Some(napi) = self.napi_by_id(id) {
                while self.ndo_ll_poll(&napi) != LL_FLUSH_FAILED {
                    self.below.clock.spin_round();
                    let is_over = self.below.clock.now_ns() > end_ns;
                    if nonblock || !sk.queue_is_empty() || is_over {
                        break;
                    }
                }
            }
        }
        let found = !sk.queue_is_empty();
        self.local_bh_enable();
        found
    }

    /// One poll of the context with an id, as a socket does it; `raw` is what the first versions
    /// of the series stored instead, the context itself.
    pub fn ll_poll_once(&self, napi_id: u32, raw: u32) -> i32 {
        cpu::local_bh_disable();
        let work = {
            let _rcu = self.rcu.read_lock();
            let napi = if bug("A-1") { self.napi(raw) } else { self.napi_by_id(napi_id) };
            napi.map_or(LL_FLUSH_FAILED, |napi| self.ndo_ll_poll(&napi))
        };
        self.local_bh_enable();
        work
    }

    /// The driver's method, once; what it found is counted.
    fn ndo_ll_poll(&self, napi: &Arc<Napi>) -> i32 {
        if !napi.lifetime.used() {
            return LL_FLUSH_FAILED;
        }
        let Some(driver) = napi.driver() else { return LL_FLUSH_FAILED };
        let work = cpu::balanced("ndo_ll_poll", || driver.ll_poll(napi));
        if let Ok(packets) = u64::try_from(work) {
            self.low_latency_rx_packets.fetch_add(packets, Relaxed);
        }
        work
    }
}
