//! What the bridge asks of a device model, and the models that it knows.

use pollproof_intel_82599::{Intel82599, Misuse, Touch};
use pollproof_pcie::Outbound;
use pollproof_regs::ixgbe::{self, pci};
use pollproof_regs::ixgbe_map as map;
use pollproof_wire::Frame;
use std::collections::BTreeMap;

/// A BAR of memory.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// Number.
    pub index: u8,
    /// Bytes.
    pub bytes: u32,
}

/// What a function says of itself in configuration space.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// Vendor.
    pub vendor: u16,
    /// Device.
    pub device: u16,
    /// Subsystem, of the same vendor.
    pub subsystem: u16,
    /// Class code.
    pub class: u32,
    /// Revision.
    pub revision: u8,
    /// BARs.
    pub bars: &'static [Bar],
    /// Place of the power management capability.
    pub cap_pm: u16,
    /// Place of the MSI-X capability.
    pub cap_msix: u16,
    /// Place of the PCI Express capability.
    pub cap_exp: u16,
    /// MSI-X vectors.
    pub vectors: u32,
    /// BAR of the MSI-X table.
    pub msix_bar: u8,
    /// Where the table begins in it.
    pub msix_table: u32,
    /// Where the pending bits begin in it.
    pub msix_pba: u32,
}

/// A ring whose tail is a register, as it stands.
#[derive(Clone, Copy, Debug)]
pub struct RingView {
    /// Offset of the tail.
    pub tail: u64,
    /// Entries.
    pub entries: u32,
    /// Bus address.
    pub base: u64,
    /// Index of the descriptor that the device is at.
    pub head: u32,
    /// Its queue, if the device fills the ring.
    pub receive_queue: Option<u32>,
}

/// A device model behind the bridge. Like the models themselves it does no input and output.
pub trait Nic {
    /// What its function says of itself.
    fn identity(&self) -> Identity;
    /// Tells the time.
    fn set_time(&mut self, now_ps: u64);
    /// When it next does something by itself.
    fn next_deadline(&self) -> Option<u64>;
    /// Does what is due.
    fn expire(&mut self);
    /// Its next request to the bus.
    fn pop(&mut self) -> Option<Outbound>;
    /// A read of memory is answered.
    fn dma_complete(&mut self, tag: u32, bytes: &[u8]);
    /// A frame reaches its port.
    fn rx_frame(&mut self, frame: Frame);
    /// The next frame that it sent.
    fn pop_frame(&mut self) -> Option<Vec<u8>>;
    /// A BAR is read: 1, 2, 4 or 8 bytes.
    fn mmio_read(&mut self, bar: u8, offset: u64, bytes: u32) -> u64;
    /// A BAR is written: 1, 2, 4 or 8 bytes.
    fn mmio_write(&mut self, bar: u8, offset: u64, value: u64, bytes: u32);
    /// Whether the answer to a read of this register waits for something that the device does.
    fn stalls_read(&self, _bar: u8, _offset: u64) -> bool {
        false
    }
    /// Message control of MSI-X.
    fn set_msix_control(&mut self, enabled: bool, function_mask: bool);
    /// Address and data of a vector's message.
    fn msix_message(&self, vector: u32) -> Option<(u64, u32)>;
    /// The function is reset.
    fn reset(&mut self);
    /// Requests to the bus are open.
    fn transactions_pending(&self) -> bool;
    /// The cable is plugged in or pulled out.
    fn set_cable(&mut self, present: bool);
    /// Transmit stops until the device is reset, as one that hangs does.
    fn hold_transmit(&mut self);
    /// Firmware gives up, in a device that has any.
    fn fail(&mut self) {}
    /// The answer to the next command is lost, in a device that has any.
    fn lose_answer(&mut self) {}
    /// Whether frames that come now would be received.
    fn is_receiving(&self) -> bool;
    /// The ring whose tail this register is.
    fn ring_of_tail(&self, bar: u8, offset: u64) -> Option<RingView>;
    /// The ring that this write of a register switches on.
    fn ring_enabled_by(&self, bar: u8, offset: u64, value: u32) -> Option<RingView>;
    /// The ring that this write of a register switches off.
    fn ring_disabled_by(&self, bar: u8, offset: u64, value: u32) -> Option<RingView>;
    /// Whether this write resets the function, and with it all rings.
    fn is_reset_by(&self, bar: u8, offset: u64, value: u32) -> bool;
    /// Frames inside it.
    fn held(&self) -> u64;
    /// What the driver did wrong, in words, and how often.
    fn misuses(&self) -> Vec<(&'static str, u64)>;
    /// Registers that were asked for what is not modelled: offset, and name if known.
    fn not_modelled(&self) -> Vec<(u32, Option<&'static str>)>;
    /// Frames by what became of them: name of the counter and count, none of them 0.
    fn counts(&self) -> BTreeMap<&'static str, u64>;
}

impl Nic for Intel82599 {
    fn identity(&self) -> Identity {
        Identity {
            vendor: pci::VENDOR,
            device: self.params().device_id(),
            subsystem: 0x0003,
            class: pci::CLASS,
            revision: pci::REVISION,
            bars: &[
                Bar { index: pci::BAR_CSR, bytes: ixgbe::CSR_BYTES },
                Bar { index: pci::BAR_MSIX, bytes: pci::MSIX_BYTES },
            ],
            cap_pm: pci::CAP_PM,
            cap_msix: pci::CAP_MSIX,
            cap_exp: pci::CAP_PCIE,
            vectors: ixgbe::VECTORS,
            msix_bar: pci::BAR_MSIX,
            msix_table: pci::MSIX_TABLE,
            msix_pba: pci::MSIX_PBA,
        }
    }

    fn set_time(&mut self, now_ps: u64) {
        self.set_time(now_ps);
    }
    fn next_deadline(&self) -> Option<u64> {
        self.next_deadline()
    }
    fn expire(&mut self) {
        self.expire();
    }
    fn pop(&mut self) -> Option<Outbound> {
        self.pop()
    }
    fn dma_complete(&mut self, tag: u32, bytes: &[u8]) {
        self.dma_complete(tag, bytes);
    }
    fn rx_frame(&mut self, frame: Frame) {
        self.rx_frame(frame);
    }
    fn pop_frame(&mut self) -> Option<Vec<u8>> {
        self.pop_frame().map(|sent| sent.frame.bytes.to_vec())
    }
    fn mmio_read(&mut self, bar: u8, offset: u64, bytes: u32) -> u64 {
        self.mmio_read(bar, offset, bytes)
    }
    fn mmio_write(&mut self, bar: u8, offset: u64, value: u64, bytes: u32) {
        self.mmio_write(bar, offset, value, bytes);
    }
    fn set_msix_control(&mut self, enabled: bool, function_mask: bool) {
        self.set_msix_control(enabled, function_mask);
    }
    fn msix_message(&self, vector: u32) -> Option<(u64, u32)> {
        self.msix_message(vector)
    }
    fn reset(&mut self) {
        self.hard_reset();
        // The capability says that MSI-X is off after a reset.
        self.set_msix_control(false, false);
    }
    fn transactions_pending(&self) -> bool {
        self.transactions_pending()
    }
    fn set_cable(&mut self, present: bool) {
        self.set_cable(present);
    }
    fn hold_transmit(&mut self) {
        self.hold_transmit();
    }
    fn is_receiving(&self) -> bool {
        self.link_up() && self.peek(map::RXCTRL) & ixgbe::rdma::RXEN != 0
    }
    fn ring_of_tail(&self, bar: u8, offset: u64) -> Option<RingView> {
        let (queue, register, receives) = queue_register(bar, offset)?;
        (register == map::RDT - map::RDBAL).then(|| ring_view(self, queue, receives))
    }
    fn ring_enabled_by(&self, bar: u8, offset: u64, value: u32) -> Option<RingView> {
        let (queue, register, receives) = queue_register(bar, offset)?;
        let is_control = register == map::RXDCTL - map::RDBAL;
        let was_on = self.peek(offset as u32) & ixgbe::queue::ENABLE != 0;
        let goes_on = is_control && !was_on && value & ixgbe::queue::ENABLE != 0;
        goes_on.then(|| ring_view(self, queue, receives))
    }
    fn ring_disabled_by(&self, bar: u8, offset: u64, value: u32) -> Option<RingView> {
        let (queue, register, receives) = queue_register(bar, offset)?;
        let is_control = register == map::RXDCTL - map::RDBAL;
        let goes_off = is_control && value & ixgbe::queue::ENABLE == 0;
        goes_off.then(|| ring_view(self, queue, receives))
    }
    fn is_reset_by(&self, bar: u8, offset: u64, value: u32) -> bool {
        let resets = ixgbe::ctrl::RST | ixgbe::ctrl::LNK_RST;
        bar == pci::BAR_CSR && offset == u64::from(map::CTRL) && value & resets != 0
    }
    fn held(&self) -> u64 {
        self.held()
    }
    fn misuses(&self) -> Vec<(&'static str, u64)> {
        self.misuses().iter().map(|(kind, count): (&Misuse, &u64)| (kind.why(), *count)).collect()
    }
    fn not_modelled(&self) -> Vec<(u32, Option<&'static str>)> {
        self.not_modelled().iter().map(|(at, touch): (&u32, &Touch)| (*at, touch.name)).collect()
    }

    fn counts(&self) -> BTreeMap<&'static str, u64> {
        let stats = self.stats();
        let all = [
            ("port_frames", stats.port_frames),
            ("rx_packets", stats.rx_packets),
            ("tx_packets", stats.tx_packets),
            ("msix", stats.msix),
            ("rx_bad", stats.rx_bad),
            ("rx_off", stats.rx_off),
            ("rx_pause", stats.rx_pause),
            ("rx_filtered", stats.rx_filtered),
            ("rx_missed", stats.rx_missed),
            ("rx_queue_off", stats.rx_queue_off),
            ("rx_no_descriptor", stats.rx_no_descriptor),
            ("rx_lost", stats.rx_lost),
            ("tx_bad", stats.tx_bad),
        ];
        all.into_iter().filter(|(_, count)| *count != 0).collect()
    }
}

/// Queue, place in its block and direction of a queue's register: blocks of both directions are
/// laid out alike (8.2.3.8, 8.2.3.9).
fn queue_register(bar: u8, offset: u64) -> Option<(u32, u32, bool)> {
    let offset = u32::try_from(offset).ok().filter(|_| bar == pci::BAR_CSR)?;
    let (first, base, receives) = match offset {
        0x1000..=0x1fff => (0, map::RDBAL, true),
        0xd000..=0xdfff => (64, map::RDBAL_HI, true),
        0x6000..=0x7fff => (0, map::TDBAL, false),
        _ => return None,
    };
    Some((first + (offset - base) / 64, offset % 64, receives))
}

fn ring_view(nic: &Intel82599, queue: u32, receives: bool) -> RingView {
    let block = match (receives, queue) {
        (true, 0..64) => map::RDBAL + 64 * queue,
        (true, _) => map::RDBAL_HI + 64 * (queue - 64),
        (false, _) => map::TDBAL + 64 * queue,
    };
    let at = |register: u32| nic.peek(block + register - map::RDBAL);
    RingView {
        tail: u64::from(block + map::RDT - map::RDBAL),
        entries: (at(map::RDLEN) & ixgbe::queue::LEN_MASK) / 16,
        base: u64::from(at(map::RDBAH)) << 32 | u64::from(at(map::RDBAL)),
        head: at(map::RDH) & ixgbe::queue::INDEX_MASK,
        receive_queue: receives.then_some(queue),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pollproof_intel_82599::Params;

    #[test]
    fn registers_of_queues_are_found_in_both_directions() {
        let device = Intel82599::new(Params::zero());
        for (offset, tail, queue) in [
            (0x1018, 0x1018, Some(0)),
            (0x1018 + 64 * 63, 0x1018 + 64 * 63, Some(63)),
            (0xd018, 0xd018, Some(64)),
            (0x6018 + 64, 0x6058, None),
        ] {
            let view = device.ring_of_tail(0, offset).expect("a ring");
            assert_eq!((view.tail, view.receive_queue), (tail, queue));
        }
        assert!(device.ring_of_tail(0, 0x1010).is_none());
        assert!(device.ring_of_tail(4, 0x1018).is_none());
    }

    #[test]
    fn a_ring_begins_when_its_queue_is_enabled() {
        let mut device = Intel82599::new(Params::zero());
        let enable = ixgbe::queue::ENABLE;
        device.mmio_write32(0, u64::from(map::RDLEN), 1024);
        let view = device.ring_enabled_by(0, 0x1028, enable).expect("a ring");
        assert_eq!((view.entries, view.tail), (64, 0x1018));
        assert!(device.ring_enabled_by(0, 0x1028, 0).is_none());
        device.mmio_write32(0, 0x1028, enable);
        assert!(device.ring_enabled_by(0, 0x1028, enable).is_none(), "it is on");
    }
}
