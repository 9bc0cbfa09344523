//! Scenarios of questions about `napi_hash` and about the barrier after DD.

use super::hash::{add, join_all, lookup, on};
use super::macros::scenario;
use super::{bare_net_of, GRAPHS};
use pollproof_bench::scenario::Scenario;
use pollproof_netcore::NetOptions;
use pollproof_sync::switch::fault;
use pollproof_sync::thread;
use pollproof_sync::AtomicU32;
use pollproof_sync::Ordering::{Relaxed, Release};
use std::panic::Location;
use std::sync::Arc;

/// A context is added on one CPU and removed on another.
fn hashed_before_lock() {
    let net = bare_net_of(NetOptions { cpus: 2, hashed_before_lock: true, ..Default::default() });
    let napi = add(&net);
    let removed = napi.clone();
    let adder = on(&net, 0, move |net| net.napi_hash_add(&napi));
    let remover = on(&net, 1, move |net| {
        net.napi_hash_del(&removed);
    });
    join_all([adder, remover]);
}

/// Two contexts share a bucket; the one in front leaves and is added again at once, in another
/// bucket, while a reader looks for the one behind it.
fn re_add() {
    let net = bare_net_of(NetOptions { cpus: 2, hash_buckets: 2, ..Default::default() });
    let (wanted, other, moved) = (add(&net), add(&net), add(&net));
    // Ids 1 and 3 are of one bucket, 2 and 4 of the other.
    [&wanted, &other, &moved].iter().for_each(|napi| net.napi_hash_add(napi));
    let mover = on(&net, 0, move |net| {
        net.napi_hash_del(&moved);
        net.napi_hash_add(&moved);
    });
    let reader = on(&net, 1, |net| lookup(net, 1));
    join_all([mover, reader]);
}

/// A device writes a word and then the one with DD; a CPU reads them in that order reversed, with
/// nothing in between.
fn no_barrier() {
    let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
    let device = {
        let words = words.clone();
        thread::spawn(1, move || {
            words[0].store(1, Relaxed);
            words[1].store(1, Release);
        })
    };
    if words[1].load(Relaxed) != 0 && words[0].load(Relaxed) == 0 {
        let why = "a word is read from before the device wrote it, although DD was seen";
        fault("VALID-BEFORE-USE", why.into(), Location::caller());
    }
    device.join();
}

scenario!(
    HASHED_BEFORE_LOCK,
    "hash/hashed-before-lock",
    GRAPHS,
    3,
    hashed_before_lock,
    &[],
    "A context is removed while it is added, marked before the lock is taken."
);
scenario!(
    RE_ADD_WITHOUT_GRACE,
    "hash/re-add",
    GRAPHS,
    3,
    re_add,
    &[],
    "A context moves to another bucket without a grace period while a reader stands on it."
);
scenario!(
    DD_NO_BARRIER,
    "ixgbe/no-barrier",
    GRAPHS,
    2,
    no_barrier,
    &[],
    "Two words of a descriptor are read with no barrier in between."
);
