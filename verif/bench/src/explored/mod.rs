//! Explored runs: the order of CPUs, device, interrupts and timers is the engine's choice.

mod below;
mod device;
mod host;
mod ixgbe;
mod mlx4;
mod nic;
mod scene;
mod sfc;

pub use device::ExploredDevice;
pub use host::ExploredHost;
pub use ixgbe::IxgbeChoices;
pub use mlx4::Mlx4Choices;
pub use nic::{Nic, Route, Silicon};
pub use scene::{frame, frames, start_port, Scene, SceneOptions, DEVICE_CPU};
pub use sfc::SfcChoices;

/// A scene with mlx4 on a ConnectX-3.
pub type Mlx4Scene = Scene<pollproof_mlx4::Mlx4Port>;
/// A scene with ixgbe on an 82599.
pub type IxgbeScene = Scene<pollproof_ixgbe::Adapter>;
/// A scene with sfc on an EF10.
pub type SfcScene = Scene<pollproof_sfc::Efx>;
