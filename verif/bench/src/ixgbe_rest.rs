//! How an 82599 and its rings stand when nothing runs any more: the same in timed and explored
//! runs.

use pollproof_events::{RestDevice, RestTx};
use pollproof_intel_82599::Intel82599;
use pollproof_ixgbe::TxRing;
use pollproof_regs::ixgbe::pci::BAR_CSR;
use pollproof_regs::ixgbe_map as map;

/// TDH of a queue.
pub(crate) fn tx_head(device: &mut Intel82599, index: u32) -> u32 {
    device.mmio_read32(BAR_CSR, u64::from(map::TDH + 0x40 * index))
}

/// A transmit ring whose head stands there.
pub(crate) fn tx_ring(ring: &TxRing, head: u32, enabled: bool, wakeup: bool) -> RestTx {
    let unsent = (ring.use_at() + ring.count - head.min(ring.count)) % ring.count;
    let uncleaned = ring.pending().saturating_sub(unsent);
    RestTx { tail: ring.tail(), uncleaned, stopped: ring.is_stalled(), enabled, wakeup }
}

/// The device; of one that is gone, or not at rest, nothing is said.
pub(crate) fn device(device: &Intel82599, gone: bool) -> RestDevice {
    let (other, vectors) = device.irq().enabled_causes();
    let there = |n: u64| if gone { 0 } else { n };
    RestDevice { blocked: there(device.blocked()), causes: there(vectors | u64::from(other)) }
}
