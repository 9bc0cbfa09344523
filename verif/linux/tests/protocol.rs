//! A session from its first message on: PCI configuration, registers, DMA and interrupts.

mod peer;

use peer::{FrontEnd, BASE};
use pollproof_regs::ixgbe::{gpie, pci};
use pollproof_regs::ixgbe_map as map;

/// Enables memory, mastering and MSI-X, and gives vector 0 a message.
fn enable(front: &mut FrontEnd) {
    front.config_write(4, 2, 6);
    front.config_write(0x72, 2, 0x8000);
    for (at, value) in [(0, 0xa_0000), (4, 0), (8, 17), (12, 0)] {
        front.write(pci::BAR_MSIX, at, value);
    }
}

#[test]
fn configuration_space_is_read_and_written() {
    let mut front = FrontEnd::connect();
    assert_eq!(front.config_read(0, 4), 0x10fb_8086);
    assert_eq!(front.config_read(0, 8) >> 32 & 0xffff, 0);
    front.config_write(0x10, 4, 0xffff_ffff);
    assert_eq!(front.config_read(0x10, 4), 0xfffe_0004);
    front.config_write(0x10, 4, 0xf002_0000);
    assert_eq!(front.config_read(0x10, 4), 0xf002_0004);
    assert_eq!(front.read(0, map::STATUS), u32::MAX, "memory is not enabled");
    enable(&mut front);
    assert_ne!(front.read(0, map::STATUS), u32::MAX);
    assert_eq!(front.leave(), Ok(()));
}

#[test]
fn registers_keep_what_is_written_and_strange_accesses_do_no_harm() {
    let mut front = FrontEnd::connect();
    enable(&mut front);
    front.write(0, map::FCTTV, 0x1234_5678);
    assert_eq!(front.read(0, map::FCTTV), 0x1234_5678);
    assert_eq!(front.command(3, 0, 8, map::FCTTV.into(), &[]) as u32, 0x1234_5678);
    for (bar, size, at) in [(0, 2, 2), (0, 3, 1), (5, 4, 0), (0, 4, u64::MAX - 8), (0, 64, 0)] {
        front.command(3, bar, size, at, &[]);
        front.command(4, bar, size, at, &vec![0; size as usize]);
    }
    front.command(5, 4, 64, 0, &[0]);
    assert_eq!(front.read(4, 8), 0, "the fill reached the table");
    assert_eq!(front.leave(), Ok(()));
}

#[test]
fn an_interrupt_comes_with_the_message_of_its_vector() {
    let mut front = FrontEnd::connect();
    enable(&mut front);
    front.write(0, map::GPIE, gpie::MSIX_MODE | gpie::OCD | gpie::EIAME);
    front.write(0, map::IVAR, 0x80);
    front.write(0, map::EIMS_EX, 1);
    front.write(0, map::EICS_EX, 1);
    let message = front.interrupt();
    assert_eq!(message[..8], [7, 0, 0, 0, 4, 0, 0, 0]);
    assert_eq!(message[8..16], 0xa_0000_u64.to_le_bytes());
    assert_eq!(message[16..20], 17_u32.to_le_bytes());
    assert_eq!(front.leave(), Ok(()));
}

#[test]
fn descriptors_are_fetched_from_shared_memory_and_addresses_outside_do_no_harm() {
    let mut front = FrontEnd::connect();
    enable(&mut front);
    // A transmit ring with one descriptor whose buffer lies outside of what is shared.
    let ring = 0x4_0000;
    let mut descriptor = 0xdead_0000_0000_u64.to_le_bytes().to_vec();
    descriptor.extend((60_u32 | 0x2b << 24 | 3 << 20).to_le_bytes());
    descriptor.extend((60_u32 << 14).to_le_bytes());
    front.put(ring, &descriptor);
    front.write(0, map::DMATXCTL, 1);
    front.write(0, map::TDBAL, (BASE + ring) as u32);
    front.write(0, map::TDBAH, 0);
    front.write(0, map::TDLEN, 1024);
    front.write(0, map::TXDCTL, 1 << 25);
    while front.read(0, map::TXDCTL) & 1 << 25 == 0 {}
    front.write(0, map::TDT, 1);
    while front.get(ring + 12, 1)[0] & 1 == 0 {
        front.read(0, map::TDH);
    }
    assert_eq!(front.leave(), Ok(()));
}
