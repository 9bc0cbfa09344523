//! netpoll: `net/core/netpoll.c`, `include/linux/netpoll.h` (6.12): reaps transmit completions with
//! budget 0, where interrupts are off. The poll method must not receive, complete or arm.
//!
//! While a device has a netpoll, whoever polls a context is its `poll_owner`: NAPI waits to become
//! it, netpoll passes by. Left out: the messages themselves, their queue, several tries.

use crate::napi::{Napi, NapiState};
use crate::Net;
use pollproof_sync::Ordering::{Acquire, Relaxed, Release};
use pollproof_sync::{bug, cpu};
use std::sync::Arc;

/// How the running CPU is named as an owner.
fn me() -> u32 {
    cpu::smp_processor_id() + 1
}

impl Net {
    /// `poll_one_napi`: false when another netpoll is inside or the context is disabled.
    pub fn netpoll_poll_one(&self, napi: &Arc<Napi>) -> bool {
        let npsvc = NapiState::NPSVC.bits();
        if napi.state.fetch_or(npsvc, Acquire) & npsvc != 0 {
            return false;
        }
        cpu::local_irq_disable();
        self.call_poll(napi, 0, true);
        cpu::local_irq_enable();
        napi.state.fetch_and(!npsvc, Release);
        true
    }

    /// `poll_napi` for one context: polls it unless somebody is inside already.
    pub fn netpoll_poll_napi(&self, napi: &Arc<Napi>) -> bool {
        if !self.become_owner(napi) {
            return false;
        }
        let polled = self.netpoll_poll_one(napi);
        self.netpoll_poll_unlock(napi, true);
        polled
    }

    /// `netpoll_send_skb`, as far as NAPI is concerned: a message that comes from inside a poll of
    /// this CPU is kept for later (false), else the device is polled to make room for it.
    pub fn netpoll_send(&self, napi: &Arc<Napi>) -> bool {
        cpu::local_irq_disable();
        let now = !self.netpoll_owner_active(napi);
        if now {
            self.netpoll_poll_napi(napi);
        }
        cpu::local_irq_enable();
        now
    }

    /// `netpoll_owner_active`: whether this CPU is inside a poll. Others come and go meanwhile.
    fn netpoll_owner_active(&self, napi: &Napi) -> bool {
        if bug("B-16") {
            return napi.poll_owner_word.get() == me();
        }
        napi.poll_owner.load(Relaxed) == me()
    }

    fn become_owner(&self, napi: &Napi) -> bool {
        let is_owner = napi.poll_owner.update(Acquire, |o| (o == 0).then_some(me())).is_ok();
        if is_owner {
            napi.poll_owner_word.set(me());
        }
        is_owner
    }

    /// `netpoll_poll_lock`: NAPI becomes the poll's owner; true when it had to.
    pub(crate) fn netpoll_poll_lock(&self, napi: &Napi) -> bool {
        if !self.options.netpoll {
            return false;
        }
        while !self.become_owner(napi) {
            napi.poll_owner.wait(Relaxed, |o| o == 0);
        }
        true
    }

    /// `netpoll_poll_unlock`.
    pub(crate) fn netpoll_poll_unlock(&self, napi: &Napi, have: bool) {
        if have {
            napi.poll_owner_word.set(0);
            napi.poll_owner.store(0, Release);
        }
    }
}
