//! Synchronisation for code under test: std's atomics and locks plus the kernel's barriers, RCU and
//! per-CPU context, on whatever engine runs (std, explore, loom, shuttle).
//!
//! One set of types, no `cfg`, no generic parameter: an object is its std value plus, only while an
//! engine runs, that engine's cell behind a trait. With the feature `engines` off the second half
//! does not exist; `cargo bench -p pollproof-sync` shows that nothing is left of it.
//!
//! This crate knows no NIC and no engine. It is one of the floors that models and drivers share.

pub mod alone;
mod atomic;
mod barrier;
pub mod cpu;
pub mod engine;
pub mod irq;
mod local;
mod lock;
mod lockdep;
mod plain;
mod private;
mod rcu;
pub mod switch;
pub mod thread;

pub use atomic::{fence, AtomicU32, AtomicU64};
pub use barrier::{dma_rmb, dma_wmb, smp_mb, smp_rmb, smp_wmb, wmb};
pub use engine::{Ordering, What};
pub use local::LocalCell;
pub use lock::{BhGuard, Guard, Mutex, SpinLock};
pub use plain::{Lifetime, PlainU32, PlainU64};
pub use private::{Counter, Private};
pub use rcu::{Rcu, RcuForm, RcuReadGuard};
pub use switch::bug;
