//! Linux's own drivers on our device models.
//!
//! A User Mode Linux kernel, built by [`kernel`], is an ordinary process: no QEMU, KVM or root. It
//! reaches a device of ours over a socket: [`vhost`] frames the messages, [`serve`] takes and sends
//! them, [`world`] is the device with its PCI function, the bus and the wire. Under simulated time
//! the kernel asks [`calendar`] for it, so that a run is a function of its [`timing::Plan`].

pub mod boot;
pub mod calendar;
pub mod capture;
pub mod command;
pub mod conformance;
pub mod kernel;
pub mod log;
pub mod memory;
pub mod nic;
mod nic_mlx4;
pub mod packets;
pub mod pci;
pub mod private;
pub mod run;
pub mod scenarios;
pub mod search;
pub mod serve;
mod start;
pub mod timing;
pub mod traffic;
pub mod vhost;
pub mod wall;
pub mod world;

/// FNV-1a of 64 bits, as the guest takes it of what it received.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
