//! vhost-user: a device outside of the kernel, behind two virtio rings.

pub mod message;
pub mod ring;
pub mod session;
pub mod socket;
