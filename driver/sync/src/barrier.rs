//! The kernel's barriers as C11 fences.
//!
//! `smp_mb` is a sequentially consistent fence; read and write barriers are acquire and release
//! fences, also the `dma_` forms: whether a device needs the stronger machine barrier is a matter
//! of the device's ordering, which the model's own accesses express.

use crate::atomic::fence_at;
use crate::engine::Ordering::{Acquire, Release, SeqCst};
use std::panic::Location;

macro_rules! barrier {
    ($name:ident, $order:expr, $doc:literal) => {
        #[doc = $doc]
        #[inline]
        #[track_caller]
        pub fn $name() {
            fence_at($order, Location::caller());
        }
    };
}

barrier!(smp_mb, SeqCst, "Full barrier between CPUs.");
barrier!(smp_rmb, Acquire, "Orders earlier loads before later loads.");
barrier!(smp_wmb, Release, "Orders earlier stores before later stores.");
barrier!(dma_rmb, Acquire, "Orders loads of memory that a device writes.");
barrier!(dma_wmb, Release, "Orders stores to memory that a device reads.");
barrier!(wmb, Release, "Orders stores to memory before a doorbell.");
