//! The ConnectX-3 behind the bridge.
//!
//! Its rings have no tail registers: a receive queue is posted to by a record in memory, and a send
//! doorbell names no index. So rules on tails do not see it; the model itself tells what a driver
//! does wrong.

use crate::nic::{Bar, Identity, Nic, RingView};
use pollproof_connectx_3::Hca;
use pollproof_pcie::Outbound;
use pollproof_regs::mlx4::BAR_UAR;
use pollproof_regs::mlx4_hca::{control, pci};
use pollproof_wire::Frame;
use std::collections::BTreeMap;

impl Nic for Hca {
    fn identity(&self) -> Identity {
        Identity {
            vendor: pci::VENDOR,
            device: pci::DEVICE,
            subsystem: 0x0055,
            class: pci::CLASS,
            revision: 0,
            bars: &[
                Bar { index: pci::BAR_CONTROL, bytes: pci::CONTROL_BYTES },
                Bar { index: BAR_UAR, bytes: pci::UAR_BYTES },
            ],
            cap_pm: pci::CAP_PM,
            cap_msix: pci::CAP_MSIX,
            cap_exp: pci::CAP_PCIE,
            vectors: pci::VECTORS,
            msix_bar: pci::BAR_CONTROL,
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
        self.pop_frame()
    }
    fn mmio_read(&mut self, bar: u8, offset: u64, bytes: u32) -> u64 {
        let word = u64::from(self.mmio_read32(bar, offset & !3));
        match bytes {
            8 => word | u64::from(self.mmio_read32(bar, (offset & !3) + 4)) << 32,
            4 => word,
            _ => (word >> (8 * (offset & 3))) & ((1 << (8 * bytes)) - 1),
        }
    }
    fn mmio_write(&mut self, bar: u8, offset: u64, value: u64, bytes: u32) {
        match bytes {
            8 => self.mmio_write64(bar, offset, value),
            _ => self.mmio_write32(bar, offset, value as u32),
        }
    }
    fn stalls_read(&self, bar: u8, offset: u64) -> bool {
        self.stalls_read(bar, offset)
    }
    fn set_msix_control(&mut self, enabled: bool, function_mask: bool) {
        self.set_msix_control(enabled, function_mask);
    }
    fn msix_message(&self, vector: u32) -> Option<(u64, u32)> {
        self.msix_message(vector)
    }
    fn reset(&mut self) {
        self.reset();
    }
    fn transactions_pending(&self) -> bool {
        self.has_output()
    }
    fn set_cable(&mut self, present: bool) {
        self.set_cable(present);
    }
    fn hold_transmit(&mut self) {
        self.hold_transmit();
    }
    fn fail(&mut self) {
        self.fail();
    }
    fn lose_answer(&mut self) {
        self.lose_answer();
    }
    fn is_receiving(&self) -> bool {
        self.is_receiving()
    }
    fn ring_of_tail(&self, _bar: u8, _offset: u64) -> Option<RingView> {
        None
    }
    fn ring_enabled_by(&self, _bar: u8, _offset: u64, _value: u32) -> Option<RingView> {
        None
    }
    fn ring_disabled_by(&self, _bar: u8, _offset: u64, _value: u32) -> Option<RingView> {
        None
    }
    fn is_reset_by(&self, bar: u8, offset: u64, value: u32) -> bool {
        bar == pci::BAR_CONTROL && offset == control::RESET && value != 0
    }
    fn held(&self) -> u64 {
        self.held()
    }
    fn misuses(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
    fn not_modelled(&self) -> Vec<(u32, Option<&'static str>)> {
        self.not_modelled().iter().map(|(at, name)| (*at, *name)).collect()
    }

    fn counts(&self) -> BTreeMap<&'static str, u64> {
        let stats = self.stats();
        let (filtered, sent) = self.port_counts();
        let all = [
            ("port_frames", stats.port_frames + filtered),
            ("rx_packets", stats.rx_packets),
            ("tx_packets", sent),
            ("msix", stats.msix),
            ("arms", stats.arms),
            ("stale_arms", stats.stale_arms),
            ("eqes", stats.eqes),
            ("eq_overruns", stats.eq_overruns),
            ("resets", self.resets()),
            ("rx_filtered", filtered),
            ("rx_bad", stats.rx_runt + stats.rx_jabber + stats.rx_length_errors),
            ("rx_missed", stats.rx_fifo_overflow),
            ("rx_queue_off", stats.rx_no_ring),
            ("rx_no_descriptor", stats.rx_out_of_buffer),
            ("rx_lost", stats.rx_cq_overrun + stats.rx_cq_error),
        ];
        all.into_iter().filter(|(_, count)| *count != 0).collect()
    }
}
