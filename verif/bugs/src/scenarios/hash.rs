//! `napi_hash`: lookups beside additions and removals, and the free that follows a removal.

use super::{bare_net, bare_net_with, ENGINES, EXPLORE};
use pollproof_bench::scenario::Scenario;
use pollproof_netcore::{Napi, NapiPoll, Net, NetOptions};
use pollproof_sync::thread::{self, JoinHandle};
use pollproof_sync::RcuForm;
use std::sync::{Arc, LazyLock};

/// A context that never has work.
struct Idle;

impl NapiPoll for Idle {
    fn poll(&self, _napi: &Arc<Napi>, _budget: i32) -> i32 {
        0
    }

    fn ll_poll(&self, napi: &Arc<Napi>) -> i32 {
        napi.lifetime.used();
        0
    }
}

pub(super) fn add(net: &Net) -> Arc<Napi> {
    // A context does not keep its driver; this one is for ever.
    static IDLE: LazyLock<Arc<Idle>> = LazyLock::new(|| Arc::new(Idle));
    net.netif_napi_add(IDLE.clone(), 64)
}

pub(super) fn on(net: &Arc<Net>, cpu: u32, body: impl FnOnce(&Net) + Send + 'static) -> JoinHandle {
    let net = net.clone();
    thread::spawn(cpu, move || body(&net))
}

pub(super) fn lookup(net: &Net, id: u32) {
    let _rcu = net.rcu.read_lock();
    if let Some(napi) = net.napi_by_id(id) {
        napi.lifetime.used();
    }
}

pub(super) fn join_all(threads: impl IntoIterator<Item = JoinHandle>) {
    for thread in threads {
        thread.join();
    }
}

fn add_lookup() {
    let net = bare_net(2);
    let napi = add(&net);
    let adder = on(&net, 0, move |net| net.napi_hash_add(&napi));
    let reader = on(&net, 1, |net| lookup(net, 1));
    join_all([adder, reader]);
}

fn del_lookup() {
    let net = bare_net(2);
    let napi = add(&net);
    net.napi_hash_add(&napi);
    let remover = on(&net, 0, move |net| {
        net.napi_hash_del(&napi);
    });
    let reader = on(&net, 1, |net| lookup(net, 1));
    join_all([remover, reader]);
}

fn add_add_lookup() {
    let net = bare_net(3);
    let (a, b) = (add(&net), add(&net));
    let first = on(&net, 0, move |net| net.napi_hash_add(&a));
    let second = on(&net, 1, move |net| net.napi_hash_add(&b));
    let reader = on(&net, 2, |net| lookup(net, 1));
    join_all([first, second, reader]);
}

/// The remover takes the newest context off while another CPU's addition lies behind it.
fn add_del_lookup() {
    let net = bare_net(3);
    let (a, b) = (add(&net), add(&net));
    let remove = b.clone();
    let adder = on(&net, 0, move |net| {
        net.napi_hash_add(&a);
        net.napi_hash_add(&b);
    });
    let remover = on(&net, 1, move |net| {
        net.napi_hash_del(&remove);
    });
    let reader = on(&net, 2, |net| lookup(net, 1));
    join_all([adder, remover, reader]);
}

fn two_adders() {
    let net = bare_net(2);
    let (a, b) = (add(&net), add(&net));
    let first = on(&net, 0, move |net| net.napi_hash_add(&a));
    let second = on(&net, 1, move |net| net.napi_hash_add(&b));
    join_all([first, second]);
    lookup(&net, 1);
    lookup(&net, 2);
}

fn del_free(readers: u32, form: RcuForm) {
    let net = bare_net_with(1 + readers, form);
    let napi = add(&net);
    net.napi_hash_add(&napi);
    let remover = on(&net, 0, move |net| {
        net.netif_napi_del(&napi);
        net.napi_free(&napi);
    });
    let readers: Vec<_> = (1..=readers).map(|cpu| on(&net, cpu, |net| lookup(net, 1))).collect();
    join_all(std::iter::once(remover).chain(readers));
}

/// A socket polls through the id that its last packet left, while the context is removed.
fn busy_poll_free() {
    let net = bare_net(2);
    let napi = add(&net);
    net.napi_hash_add(&napi);
    let (id, slot) = (napi.napi_id(), napi.slot);
    let remover = on(&net, 0, move |net| {
        net.netif_napi_del(&napi);
        net.napi_free(&napi);
    });
    let socket = on(&net, 1, move |net| {
        net.ll_poll_once(id, slot);
    });
    join_all([remover, socket]);
}

/// The counter is about to wrap, and few ids are left.
fn id_wrap() {
    let below = bare_net(1).below().clone();
    let options = NetOptions {
        hash_buckets: 4,
        min_napi_id: u32::MAX - 4,
        last_napi_id: u32::MAX - 2,
        ..NetOptions::default()
    };
    let net = Net::new(options, below);
    let contexts: Vec<_> = (0..4).map(|_| add(&net)).collect();
    for napi in &contexts {
        net.napi_hash_add(napi);
        lookup(&net, napi.napi_id());
    }
    // Five ids for four contexts: the next one in turn is taken before long.
    for _ in 0..3 {
        net.napi_hash_del(&contexts[1]);
        net.napi_hash_add(&contexts[1]);
        lookup(&net, contexts[1].napi_id());
    }
}

/// The counter wraps to the first id there is, beside a reader of the last one and of that.
fn wrap_lookup() {
    let below = bare_net(2).below().clone();
    let options = NetOptions {
        cpus: 2,
        hash_buckets: 1,
        min_napi_id: 3,
        last_napi_id: u32::MAX - 1,
        ..NetOptions::default()
    };
    let net = Net::new(options, below);
    let (old, new) = (add(&net), add(&net));
    net.napi_hash_add(&old);
    let admin = on(&net, 0, move |net| {
        net.netif_napi_del(&old);
        net.napi_free(&old);
        net.napi_hash_add(&new);
    });
    let reader = on(&net, 1, |net| {
        lookup(net, u32::MAX);
        lookup(net, 3);
    });
    join_all([admin, reader]);
}

const FOUND: &[(&str, &str)] = &[("NAPI-ID", "hashed"), ("NAPI-ID", "found")];

macro_rules! scenario {
    ($name:ident, $id:literal, $threads:literal, $body:expr, $engines:expr, $bound:expr,
     $about:literal) => {
        #[doc = $about]
        pub const $name: Scenario = Scenario {
            id: $id,
            about: $about,
            threads: $threads,
            body: $body,
            engines: $engines,
            must_reach: FOUND,
            loom_preemptions: $bound,
        };
    };
}

scenario!(
    ADD_LOOKUP,
    "hash/add-lookup",
    3,
    add_lookup,
    ENGINES,
    None,
    "A context is added while another CPU looks its id up."
);
scenario!(
    DEL_LOOKUP,
    "hash/del-lookup",
    3,
    del_lookup,
    ENGINES,
    None,
    "A context is removed while another CPU looks its id up."
);
scenario!(
    ADD_ADD_LOOKUP,
    "hash/add-add-lookup",
    4,
    add_add_lookup,
    ENGINES,
    Some(2),
    "Two CPUs add contexts to one bucket while a third looks one up."
);
scenario!(
    ADD_DEL_LOOKUP,
    "hash/add-del-lookup",
    4,
    add_del_lookup,
    ENGINES,
    Some(2),
    "Two contexts are added and the newer is removed while a third CPU looks the older up."
);
scenario!(
    TWO_ADDERS,
    "hash/two-adders",
    3,
    two_adders,
    ENGINES,
    None,
    "Two CPUs add contexts at once; then both ids are looked up."
);
scenario!(
    DEL_FREE_1,
    "hash/del-free-1-reader",
    3,
    || del_free(1, RcuForm::Locks),
    ENGINES,
    None,
    "A context is removed and freed beside one reader."
);
scenario!(
    DEL_FREE_2,
    "hash/del-free-2-readers",
    4,
    || del_free(2, RcuForm::Locks),
    ENGINES,
    Some(2),
    "A context is removed and freed beside two readers."
);
scenario!(
    DEL_FREE_3,
    "hash/del-free-3-readers",
    5,
    || del_free(3, RcuForm::Locks),
    EXPLORE,
    None,
    "A context is removed and freed beside three readers."
);
scenario!(
    DEL_FREE_4,
    "hash/del-free-4-readers",
    6,
    || del_free(4, RcuForm::Locks),
    EXPLORE,
    None,
    "A context is removed and freed beside four readers."
);
scenario!(
    DEL_FREE_5,
    "hash/del-free-5-readers",
    7,
    || del_free(5, RcuForm::Locks),
    EXPLORE,
    None,
    "A context is removed and freed beside five readers."
);
scenario!(
    DEL_FREE_6,
    "hash/del-free-6-readers",
    8,
    || del_free(6, RcuForm::Locks),
    EXPLORE,
    None,
    "A context is removed and freed beside six readers."
);
scenario!(
    DEL_FREE_COUNTERS,
    "hash/del-free-counters",
    3,
    || del_free(1, RcuForm::Counters),
    ENGINES,
    None,
    "A context is removed and freed beside one reader, with RCU by counters and barriers."
);
scenario!(
    BUSY_POLL_FREE,
    "hash/busy-poll-free",
    3,
    busy_poll_free,
    ENGINES,
    None,
    "A socket busy-polls a context that is removed and freed."
);
scenario!(
    ID_WRAP,
    "hash/id-wrap",
    1,
    id_wrap,
    ENGINES,
    None,
    "The id counter wraps while old contexts hold ids."
);
scenario!(
    WRAP_LOOKUP,
    "hash/wrap-lookup",
    3,
    wrap_lookup,
    ENGINES,
    None,
    "The context with the last id goes and one with the first comes, beside a reader of both."
);
