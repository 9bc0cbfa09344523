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
pub mod packets;
pub mod pci;
pub mod private;
pub mod run;
pub mod search;
pub mod serve;
mod start;
pub mod timing;
pub mod traffic;
pub mod vhost;
pub mod wall;
pub mod world;
