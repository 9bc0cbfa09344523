//! Linux's own drivers on our device models.
//!
//! A User Mode Linux kernel, built by [`kernel`], is an ordinary process: no QEMU, KVM or root.

pub mod kernel;
