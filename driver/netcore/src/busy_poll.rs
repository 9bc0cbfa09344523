//! A socket polls the queue that its last packet came from: `sk_poll_ll` as of 3.11, one round.
//!
//! The socket names the context by id only. Left out: the loop over time and the sysctl.

use crate::Net;
use pollproof_sync::bug;
use std::sync::atomic::Ordering::Relaxed;

/// The device can not be polled now (it is down).
pub const LL_FLUSH_FAILED: i32 = -1;
/// Somebody else is polling the queue.
pub const LL_FLUSH_BUSY: i32 = -2;

impl Net {
    /// One busy poll on behalf of a socket that was marked with `napi_id`; `raw` is what the first
    /// versions of the series stored instead, the context itself.
    pub fn sk_poll_ll(&self, napi_id: u32, raw: u32) -> i32 {
        pollproof_sync::cpu::local_bh_disable();
        let work = {
            let _rcu = self.rcu.read_lock();
            let napi = if bug("A-1") { self.napi(raw) } else { self.napi_by_id(napi_id) };
            match napi {
                Some(napi) if napi.lifetime.used() => {
                    napi.driver().cloned().map_or(LL_FLUSH_FAILED, |d| d.ll_poll(&napi))
                }
                _ => LL_FLUSH_FAILED,
            }
        };
        pollproof_sync::cpu::local_bh_enable();
        if let Ok(packets) = u64::try_from(work) {
            self.low_latency_rx_packets.fetch_add(packets, Relaxed);
        }
        work
    }
}
