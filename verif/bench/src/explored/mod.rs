//! Explored runs: the order of CPUs, device, interrupts and timers is the engine's choice.

mod device;
mod host;
mod scene;

pub use device::ExploredDevice;
pub use host::ExploredHost;
pub use scene::{frame, frames, start_port, Scene, SceneOptions, DEVICE_CPU};
