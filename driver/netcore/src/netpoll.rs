//! netpoll: `poll_one_napi` of `net/core/netpoll.c` (6.12): reaps transmit completions with budget
//! 0, beside whoever owns the context. The poll method must not receive, complete or arm.

use crate::napi::{Napi, NapiState};
use crate::Net;
use pollproof_sync::Ordering::{Acquire, Release};
use std::sync::Arc;

impl Net {
    /// `poll_one_napi`: false when another netpoll is inside or the context is disabled.
    pub fn netpoll_poll_one(&self, napi: &Arc<Napi>) -> bool {
        let npsvc = NapiState::NPSVC.bits();
        if napi.state.fetch_or(npsvc, Acquire) & npsvc != 0 {
            return false;
        }
        self.call_poll(napi, 0, true);
        napi.state.fetch_and(!npsvc, Release);
        true
    }
}
