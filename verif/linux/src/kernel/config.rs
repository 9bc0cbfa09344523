//! What is configured into a kernel: a fragment over `allnoconfig`, and whether it was taken.

use super::Kind;

/// For every kernel. What a scenario does not need is left out: it costs build time.
const COMMON: &[&str] = &[
    "64BIT=y",
    "EXPERT=y",
    "PRINTK=y",
    "BUG=y",
    "KALLSYMS=y",
    "MULTIUSER=y",
    "FUTEX=y",
    "EPOLL=y",
    "POSIX_TIMERS=y",
    "BINFMT_ELF=y",
    "BLK_DEV_INITRD=y",
    "PROC_FS=y",
    "PROC_SYSCTL=y",
    "SYSFS=y",
    "TMPFS=y",
    "SHMEM=y",
    "DEVTMPFS=y",
    "TTY=y",
    "STDERR_CONSOLE=y",
    "NULL_CHAN=y",
    "CON_CHAN=\"null\"",
    "CON_ZERO_CHAN=\"fd:0,fd:1\"",
    "HIGH_RES_TIMERS=y",
    "NO_HZ_IDLE=y",
    "STATIC_LINK=y",
    "DEBUG_INFO_NONE=y",
    "UML_TIME_TRAVEL_SUPPORT=y",
    "NET=y",
    "PACKET=y",
    "UNIX=y",
    "INET=y",
    "NET_SCHED=y",
    "NET_SCH_FQ=y",
    "NET_RX_BUSY_POLL=y",
    "BQL=y",
    "NETDEVICES=y",
    "ETHERNET=y",
    "PTP_1588_CLOCK=y",
    "VIRTIO_MENU=y",
    "VIRTIO_UML=y",
    "PCI=y",
    "PCI_MSI=y",
    // Without a device id the bus is there and finds nothing.
    "UML_PCI_OVER_VIRTIO=y",
    "UML_PCI_OVER_VIRTIO_DEVICE_ID=64",
    "NET_VENDOR_INTEL=y",
    "IXGBE=y",
    "NET_VENDOR_MELLANOX=y",
    "MLX4_EN=y",
];

/// What makes a kernel watch itself. User Mode Linux has no KCSAN, KMSAN and KFENCE, and KASAN
/// only out of line.
const SANITIZERS: &[&str] = &[
    "DEBUG_KERNEL=y",
    "KASAN=y",
    "KASAN_GENERIC=y",
    "KASAN_OUTLINE=y",
    // KASAN makes frames larger: in real time a task's stack of 16 KiB ran over into the
    // thread_info at its bottom, and to_irq_stack() panicked, in about one run of forty.
    "KERNEL_STACK_ORDER=4",
    "UBSAN=y",
    "UBSAN_BOUNDS=y",
    "UBSAN_SHIFT=y",
    "PROVE_LOCKING=y",
    "PROVE_RCU=y",
    "DEBUG_OBJECTS=y",
    "DEBUG_OBJECTS_FREE=y",
    "DEBUG_OBJECTS_TIMERS=y",
    "DEBUG_OBJECTS_WORK=y",
    "DEBUG_OBJECTS_RCU_HEAD=y",
    "DEBUG_ATOMIC_SLEEP=y",
    "DMA_API_DEBUG=y",
    "DMA_API_DEBUG_SG=y",
    "DEBUG_LIST=y",
    "DEBUG_NET=y",
    "DETECT_HUNG_TASK=y",
    "WQ_WATCHDOG=y",
    "SOFTLOCKUP_DETECTOR=y",
];

fn wanted(kind: Kind) -> impl Iterator<Item = &'static &'static str> {
    let more = if kind == Kind::Plain { &[] } else { SANITIZERS };
    COMMON.iter().chain(more)
}

/// The fragment for `KCONFIG_ALLCONFIG`.
pub fn fragment(kind: Kind) -> String {
    wanted(kind).map(|line| format!("CONFIG_{line}\n")).collect()
}

/// What was asked for and is not in the `.config` that came of it. Kconfig drops a symbol without
/// a word when something it depends on is missing.
pub fn dropped(kind: Kind, dot_config: &str) -> Vec<String> {
    let has = |line: &str| dot_config.lines().any(|l| l.strip_prefix("CONFIG_") == Some(line));
    wanted(kind).filter(|line| !has(line)).map(|line| format!("CONFIG_{line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_that_was_dropped_is_named() {
        let all = fragment(Kind::Sanitizers);
        assert!(dropped(Kind::Sanitizers, &all).is_empty());
        let without = all.replace("CONFIG_IXGBE=y", "# CONFIG_IXGBE is not set");
        assert_eq!(dropped(Kind::Sanitizers, &without), ["CONFIG_IXGBE=y"]);
        let plain = dropped(Kind::Sanitizers, &fragment(Kind::Plain));
        assert_eq!(plain.len(), SANITIZERS.len());
    }

    #[test]
    fn the_planted_kernel_is_configured_as_the_sanitizers() {
        assert_eq!(fragment(Kind::Planted), fragment(Kind::Sanitizers));
    }
}
