//! The end of `mlx4_en_poll_rx_cq`, in four forms: the history of one `if`.
//!
//! The thread of November 2014 turned an if/else around; its first version completed also after a
//! full budget, the fix four days later put the early return back. 6.12 reports one less than was
//! done when it leaves for another CPU.

use crate::RxQueue;
use pollproof_netcore::Napi;
use std::sync::Arc;

/// One form of the poll's end.
pub trait PollEnd {
    /// `done` packets were handled of `budget`; gives what the poll returns.
    fn end(&self, queue: &RxQueue, napi: &Arc<Napi>, done: i32, budget: i32) -> i32;
}

/// Which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollEndForm {
    /// Before the thread: `napi_complete`, arm.
    Before,
    /// 1a28817282, the first `napi_complete_done` version.
    FirstCompleteDone,
    /// Its fix, "restore conditional call to napi_complete_done()".
    Restored,
    /// 6.12.
    V6_12,
}

impl PollEnd for PollEndForm {
    fn end(&self, queue: &RxQueue, napi: &Arc<Napi>, done: i32, budget: i32) -> i32 {
        match self {
            Self::Before => before(queue, napi, done, budget),
            Self::FirstCompleteDone => first_complete_done(queue, napi, done, budget),
            Self::Restored => restored(queue, napi, done, budget),
            Self::V6_12 => v6_12(queue, napi, done, budget),
        }
    }
}

fn before(queue: &RxQueue, napi: &Arc<Napi>, done: i32, budget: i32) -> i32 {
    if done == budget {
        if queue.on_right_cpu() {
            return budget;
        }
        queue.complete(napi, 0);
        queue.arm(napi);
        return 0;
    }
    queue.complete(napi, 0);
    queue.arm(napi);
    done
}

fn first_complete_done(queue: &RxQueue, napi: &Arc<Napi>, mut done: i32, budget: i32) -> i32 {
    if done == budget && !queue.on_right_cpu() {
        done = 0;
    }
    queue.complete(napi, done);
    queue.arm(napi);
    done
}

fn restored(queue: &RxQueue, napi: &Arc<Napi>, mut done: i32, budget: i32) -> i32 {
    if done == budget {
        if queue.on_right_cpu() {
            return budget;
        }
        done = 0;
    }
    queue.complete(napi, done);
    queue.arm(napi);
    done
}

fn v6_12(queue: &RxQueue, napi: &Arc<Napi>, mut done: i32, budget: i32) -> i32 {
    if done == budget {
        if queue.on_right_cpu() {
            return budget;
        }
        // Less than the budget, since the context is given up; no less than it must, since the
        // softirq's own budget counts on it.
        done -= 1;
    }
    if queue.complete(napi, done) {
        queue.arm(napi);
    }
    done
}
