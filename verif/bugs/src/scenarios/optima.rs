//! Executions that suffice: classes of equivalent interleavings, counted by running every single
//! one. `tests/optimum.rs` counts them again.

const OPTIMA: &[(&str, u64)] = &[
    ("hash/add-lookup", 2),
    ("hash/del-lookup", 2),
    ("hash/two-adders", 2),
    ("hash/del-free-1-reader", 3),
    ("hash/del-free-counters", 3),
    ("hash/busy-poll-free", 3),
    ("hash/id-wrap", 1),
    ("napi/enable-schedule", 2),
    ("napi/complete-schedule", 7),
    ("napi/netpoll-twice", 4),
    ("napi/disable-use", 4),
    ("napi/kthread-enable", 5),
    ("napi/watchdog-schedule", 7),
    ("mlx4/lock-disable", 5),
    ("mlx4/lock-3", 24),
    ("napi/budget-sweep", 1),
    ("mlx4/budget-race", 2),
    ("mlx4/arm-doorbell", 2),
    ("hash/add-add-lookup", 6),
    ("hash/add-del-lookup", 10),
    ("hash/del-free-2-readers", 9),
    // The core: busy polling, kthreads, netpoll, sockets.
    ("napi/schedule-3.18", 32),
    ("hash/wrap-lookup", 10),
    ("busy/kthread-disable", 5),
    ("busy/prefer", 6),
    ("busy/two", 14),
    ("busy/disable", 13),
    ("busy/netpoll-busy", 11),
    ("busy/netpoll-owner", 17),
    ("busy/netpoll-disable", 7),
    ("busy/kthread-stop", 33),
    ("sock/loopback", 5),
    ("ixgbe/lock-3-spin", 24),
    ("ixgbe/lock-3-spin-bh", 24),
    ("ixgbe/lock-3-cmpxchg", 24),
    ("ixgbe/lock-disable-spin", 30),
    ("ixgbe/lock-disable-spin-bh", 28),
    ("ixgbe/lock-disable-cmpxchg", 42),
    ("ixgbe/lock-netpoll", 4),
    ("mlx4/stop-twice", 1),
];

/// The optimum of a scenario, where it is small enough to be known.
pub fn optimal(id: &str) -> Option<u64> {
    OPTIMA.iter().find(|(name, _)| *name == id).map(|(_, n)| *n)
}
