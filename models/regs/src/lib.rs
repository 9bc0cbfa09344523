//! Layout facts of the modelled devices: offsets, bits and encodings, each with its source.
//!
//! Models and drivers share this crate, so it holds layouts and no behaviour: nothing here decides
//! when an entry is valid or what a device does. A test compares the offsets with a second source.

pub mod ef10;
pub mod ixgbe;
pub mod ixgbe_desc;
pub mod ixgbe_map;
pub mod ixgbe_stat;
pub mod mlx4;
pub mod mlx4_hca;
