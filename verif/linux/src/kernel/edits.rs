//! Edits to the kernel's source, as scripts: which function, and what is put around it.
//!
//! The bus of User Mode Linux needs four; a driver is never touched, but in the kernel with planted
//! bugs, which is a third one and says so. What ixgbe is told of the number of CPUs is a matter of
//! how it is compiled. No line of the kernel is repeated here: a function that
//! must behave otherwise is kept under another name, and ours of the old name calls it.

mod apply;

pub use apply::{apply, EditError};

/// One change to one function.
#[derive(Clone, Copy, Debug)]
pub struct Edit {
    /// File, from the top of the source.
    pub file: &'static str,
    /// Function whose definition is looked for; there must be exactly one. None for the whole file.
    pub function: &'static str,
    /// What is done with it.
    pub change: Change,
}

/// What is done with a function.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// It is renamed, and this code of ours follows it under its old name.
    Wrap {
        /// Its new name.
        inner: &'static str,
        /// What stands under the old name.
        outer: &'static str,
    },
    /// This follows at the end of the file, which is made if it is not there.
    Append {
        /// What follows.
        text: &'static str,
    },
    /// A word that is in it once becomes another.
    Word {
        /// The word.
        from: &'static str,
        /// What it becomes.
        to: &'static str,
    },
}

const BUS: &str = "arch/um/drivers/virt-pci.c";
const HOST: &str = "arch/um/os-Linux/util.c";
const IXGBE: &str = "drivers/net/ethernet/intel/ixgbe/ixgbe_main.c";

/// For every kernel.
pub const COMMON: &[Edit] = &[
    // A posted write leaves its buffer in the command ring until someone looks; 256 in a row and
    // the next is dropped without a word (ixgbe writes about 380 registers in a row at start). So
    // what is completed is taken out after each command.
    //
    // The buffer of a command is guarded against preemption only. An interrupt whose handler
    // accesses a register meanwhile takes the outer command's completion, and the outer one waits
    // for ever. So no interrupt comes in from the filling of the buffer to the end of the answer.
    Edit {
        file: BUS,
        function: "um_pci_send_cmd",
        change: Change::Wrap {
            inner: "um_pci_send_cmd_unguarded",
            outer: include_str!("edits/send_cmd.c"),
        },
    },
    // These two read the answer out of the same buffer after the command is over.
    Edit {
        file: BUS,
        function: "um_pci_cfgspace_read",
        change: Change::Wrap {
            inner: "um_pci_cfgspace_read_unguarded",
            outer: include_str!("edits/cfgspace_read.c"),
        },
    },
    Edit {
        file: BUS,
        function: "um_pci_bar_read",
        change: Change::Wrap {
            inner: "um_pci_bar_read_unguarded",
            outer: include_str!("edits/bar_read.c"),
        },
    },
    // A memset of a BAR goes out as a write to config space, which it would corrupt.
    Edit {
        file: BUS,
        function: "um_pci_bar_set",
        change: Change::Word {
            from: "VIRTIO_PCIDEV_OP_CFG_WRITE",
            to: "VIRTIO_PCIDEV_OP_MMIO_MEMSET",
        },
    },
    // The host's randomness would make two runs differ.
    Edit {
        file: HOST,
        function: "os_getrandom",
        change: Change::Wrap {
            inner: "os_getrandom_of_host",
            outer: include_str!("edits/getrandom.c"),
        },
    },
    // There is one CPU, and ixgbe has no more queues than CPUs. It is told of as many as the
    // kernel's command line says by `pollproof_cpus`, one without it.
    Edit {
        file: "include/linux/pollproof_cpus.h",
        function: "",
        change: Change::Append { text: include_str!("edits/cpus.h") },
    },
    Edit {
        file: "drivers/net/ethernet/intel/ixgbe/Makefile",
        function: "",
        change: Change::Append { text: include_str!("edits/cpus.mk") },
    },
    Edit { file: BUS, function: "", change: Change::Append { text: include_str!("edits/cpus.c") } },
];

/// Bugs that are put into ixgbe, each behind a bit of the parameter `ixgbe.plant`. For the planted
/// kernel alone, and none is on by itself.
pub const PLANTED: &[Edit] = &[
    // Bit 0, `full-budget`: a poll that used up its budget says that it is done, so the interrupt
    // is enabled while the ring holds frames, and none may come for them.
    Edit {
        file: IXGBE,
        function: "ixgbe_clean_rx_irq",
        change: Change::Wrap {
            inner: "ixgbe_clean_rx_irq_sound",
            outer: include_str!("edits/full_budget.c"),
        },
    },
    // Bit 1, `early-refill`: a page goes back to the ring while a packet still has a part of it.
    Edit {
        file: IXGBE,
        function: "ixgbe_can_reuse_rx_page",
        change: Change::Wrap {
            inner: "ixgbe_can_reuse_rx_page_sound",
            outer: include_str!("edits/early_refill.c"),
        },
    },
];
