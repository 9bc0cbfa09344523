//! What a kernel's log says that it should not: reports of sanitizers, lockdep, RCU, hangs.
//!
//! A report is many lines; the one that names it is given.

/// Words of lines that name a report, as Linux 6.12 prints them.
const REPORTS: &[&str] = &[
    "BUG:",
    "WARNING:",
    "UBSAN:",
    "KASAN:",
    "DMA-API:",
    "ODEBUG:",
    "kernel BUG at",
    "Kernel panic",
    "list_add corruption",
    "list_del corruption",
    "INFO: task",
    "INFO: possible",
    "INFO: inconsistent",
    "INFO: trying to register non-static key",
    "rcu: INFO",
    "rcu_sched",
    "suspicious RCU usage",
    "scheduling while atomic",
    "sleeping function called from invalid context",
    "unregister_netdevice: waiting",
    "Detected Tx Unit Hang",
    "NETDEV WATCHDOG",
    "Budget exhausted after napi rescheduled",
    "refcount_t:",
    "um virt-pci delay",
    "Segfault with no mm",
    "Oops",
];

/// Lines that one of those words is in although nothing is wrong: lockdep and others say at boot
/// what they are.
const HARMLESS: &[&str] = &["DMA-API: preallocated", "DMA-API: debugging enabled"];

/// Reports that are kept.
const REPORTS_MAX: usize = 32;

/// The lines that name a report, at most 32, without time stamps.
pub fn reports(log: &str) -> Vec<String> {
    let is_report = |line: &&str| {
        REPORTS.iter().any(|word| line.contains(word))
            && !HARMLESS.iter().any(|word| line.contains(word))
    };
    let all = log.lines().filter(is_report).take(REPORTS_MAX);
    all.map(|line| without_stamp(line).to_owned()).collect()
}

/// The line behind `[    1.234567] `.
fn without_stamp(line: &str) -> &str {
    let stamped = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let is_time = |text: &str| text.trim().chars().all(|c| c.is_ascii_digit() || c == '.');
    stamped.filter(|(time, _)| is_time(time)).map_or(line, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_found_without_their_times() {
        let log = "[    0.000000] Linux version 6.12.117\n\
                   [    0.100000] DMA-API: preallocated 65536 debug entries\n\
                   [    1.234567] BUG: KASAN: slab-use-after-free in ixgbe_poll+0x1/0x2\n\
                   WARNING: CPU: 0 PID: 1 at net/core/dev.c:6543\n\
                   [    1.300000] eth0: NIC Link is Up 10 Gbps\n";
        let found = reports(log);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("BUG: KASAN"));
        assert!(found[1].starts_with("WARNING: CPU"));
    }

    #[test]
    fn a_log_without_end_gives_few_reports() {
        assert_eq!(reports(&"BUG: x\n".repeat(1000)).len(), REPORTS_MAX);
    }
}
