//! What the Linux driver does at probe and when the interface comes up, access by access, and the
//! answers that it needs (Linux 6.12 `ixgbe_main.c`, `ixgbe_common.c`, `ixgbe_82599.c`).

#[allow(dead_code)]
mod host;

use host::{udp, Host, RX_RING, TX_BUF, TX_RING};
use pollproof_intel_82599::{Medium, Misuse, Params};
use pollproof_regs::ixgbe::{
    ctrl, eec, eerd, eicr, eitr, esdp, gpie, i2cctl, link, nvm, pci, queue, status,
};
use pollproof_regs::ixgbe_desc::{rx, tx};
use pollproof_regs::ixgbe_map::{self as map, Access};
use pollproof_regs::ixgbe_stat as stat;

const MS: u64 = 1_000_000_000;

/// A host whose device has its real times.
fn board(medium: Medium) -> Host {
    Host::new(Params { medium, pad_short: true, ..Params::default() })
}

/// Time that the driver sleeps.
fn sleep(host: &mut Host, ps: u64) {
    CLOCK.with(|c| c.set(c.get() + ps));
    host.run_until(CLOCK.with(std::cell::Cell::get));
}

thread_local! {
    static CLOCK: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

fn eeprom(host: &mut Host, word: u16) -> u16 {
    host.set(map::EERD, u32::from(word) << eerd::ADDR_SHIFT | eerd::START);
    let value = host.get(map::EERD);
    assert_ne!(value & eerd::DONE, 0, "word {word:#x}");
    (value >> eerd::DATA_SHIFT) as u16
}

/// Takes both semaphores, as before each use of the EEPROM, and gives them back.
fn with_semaphore<R>(host: &mut Host, body: impl FnOnce(&mut Host) -> R) -> R {
    assert_eq!(host.get(map::SWSM) & 1, 0, "SMBI was free");
    assert_eq!(host.get(map::SWSM) & 1, 1, "and is taken by the read");
    let value = host.get(map::SWSM) | 2;
    host.set(map::SWSM, value);
    assert_eq!(host.get(map::SWSM) & 2, 2);
    let held = host.get(map::SW_FW_SYNC);
    assert_eq!(held & (1 | 1 << 5), 0);
    host.set(map::SW_FW_SYNC, held | 1);
    let value = host.get(map::SWSM) & !3;
    host.set(map::SWSM, value);
    let result = body(host);
    let held = host.get(map::SW_FW_SYNC) & !1;
    host.set(map::SW_FW_SYNC, held);
    result
}

/// Stops the adapter and resets it (steps 4 to 15).
fn reset_hw(host: &mut Host) {
    host.set(map::WUS, u32::MAX);
    host.set(map::RXCTRL, 0);
    host.set(map::EIMC, 0x7fff_ffff);
    host.get(map::EICR);
    for n in 0..128 {
        host.set(map::TXDCTL + 0x40 * n, queue::SWFLSH);
        assert_eq!(host.get(map::TXDCTL + 0x40 * n), 0, "SWFLSH clears itself");
    }
    for n in 0..128 {
        let at = if n < 64 { 0x1028 + 0x40 * n } else { 0xd028 + 0x40 * (n - 64) };
        let value = host.get(at) & !queue::ENABLE;
        host.set(at, value | queue::SWFLSH);
        assert_eq!(host.get(at) & queue::ENABLE, 0);
    }
    host.set(map::CTRL, ctrl::GIO_DIS);
    assert_eq!(host.get(map::CTRL) & ctrl::GIO_DIS, ctrl::GIO_DIS);
    assert_eq!(host.get(map::STATUS) & status::GIO_MASTER, 0);
    let value = host.get(map::CTRL) | ctrl::RST;
    host.set(map::CTRL, value);
    host.get(map::STATUS);
    sleep(host, MS);
    assert_eq!(host.get(map::CTRL) & (ctrl::RST | ctrl::LNK_RST), 0, "the reset is over");
    sleep(host, 50 * MS);
}

fn probe(host: &mut Host) {
    let value = host.get(map::EEC);
    assert_eq!(value & (eec::PRES | eec::ARD), eec::PRES | eec::ARD);
    assert_eq!(1 << ((value >> eec::SIZE_SHIFT & 15) + 6), 2048, "words");
    let firmware = host.get(map::FWSM);
    assert_eq!((firmware >> 15 & 1, firmware & 0x01f8_0000, firmware & 0xe), (1, 0, 0));
    reset_hw(host);
    assert_ne!(host.get(map::STATUS), u32::MAX);
    // No PHY answers at any of the addresses.
    for phy in 0..32 {
        host.set(map::MSCA, 3 | 1 << 16 | phy << 21 | 1 << 30);
        assert_eq!(host.get(map::MSCA) >> 30 & 1, 0);
        host.set(map::MSCA, 3 | 1 << 16 | phy << 21 | 3 << 26 | 1 << 30);
        assert_eq!(host.get(map::MSCA) >> 30 & 1, 0);
        assert_eq!(host.get(map::MSRWD) >> 16, 0xffff);
    }
    let autoc = host.get(map::AUTOC);
    assert_eq!(host.get(map::AUTOC2) & link::LINK_DISABLE, 0);
    let [low, high] = [host.get(0x5400), host.get(0x5404)];
    let mac = [low.to_le_bytes(), high.to_le_bytes()].concat();
    assert_eq!(mac[..6], Params::default().mac);
    assert_eq!(high >> 31, 1);
    match host.dev.params().medium {
        Medium::Cx4 => assert_eq!((autoc >> 13 & 7, autoc >> 7 & 3), (1, 2)),
        Medium::Sfp { .. } => assert_eq!(autoc >> 13 & 7, 3),
    }
    for n in 1..128 {
        let at = if n < 16 { 0x5400 + 8 * n } else { 0xa200 + 8 * n };
        host.set(at, 0);
        host.set(at + 4, 0);
        host.set(0xa600 + 8 * n, 0);
        host.set(0xa604 + 8 * n, 0);
    }
    host.set(map::MCSTCTRL, 0);
    (0..128).for_each(|n| host.set(map::MTA + 4 * n, 0));
    (0..128).for_each(|n| host.set(map::PFUTA + 4 * n, 0));
    let sum = with_semaphore(host, |host| {
        let mut sum = (0..0x3f).fold(0u16, |sum, n| sum.wrapping_add(eeprom(host, n)));
        for pointer in (3..0xf).map(|n| eeprom(host, n)).collect::<Vec<_>>() {
            if pointer == 0 || pointer == nvm::NONE {
                continue;
            }
            let len = eeprom(host, pointer);
            sum = (1..=len).fold(sum, |sum, n| sum.wrapping_add(eeprom(host, pointer + n)));
        }
        nvm::SUM.wrapping_sub(sum)
    });
    assert_eq!(eeprom(host, nvm::CHECKSUM), sum);
    assert_eq!(eeprom(host, nvm::DEVICE_CAPS), 0x83);
    assert_eq!(host.get(map::FACTPS) >> 30 & 1, 0);
    (0..128).for_each(|n| host.set(map::VFTA + 4 * n, 0));
    for register in stat::MAP.iter().filter(|r| r.access != Access::Rw) {
        for n in 0..register.count {
            assert_eq!(host.get(register.offset + n * register.stride), 0, "{}", register.name);
        }
    }
    let value = host.get(map::CTRL_EXT) | 1 << 16;
    host.set(map::CTRL_EXT, value);
    assert_eq!(host.get(map::CTRL_EXT), value);
    for n in 0..128 {
        host.set(map::RTTDQSEL, n);
        host.set(map::RTTBCNRC, 0);
    }
    let value = host.get(map::LEDCTL);
    host.set(map::LEDCTL, value);
    host.get(map::ESDP);
}

/// `ixgbe_open` with one queue pair (table of accesses of the way up).
fn ifup(host: &mut Host) {
    host.set(map::RXPBSIZE, 448 << 10);
    (1..8).for_each(|n| host.set(map::RXPBSIZE + 4 * n, 0));
    host.set(map::TXPBSIZE, 160 << 10);
    host.set(map::TXPBTHRESH, 150);
    host.set(map::FCTRL, 1 << 10);
    host.set(map::VLNCTRL, 0x8100);
    host.set(map::SECRXCTRL, 2);
    assert_eq!(host.get(map::SECRXSTAT) & 1, 1);
    host.set(map::FDIRCTRL, 1 | 10 << 28);
    assert_eq!(host.get(map::FDIRCTRL) >> 3 & 1, 1);
    host.set(map::SECRXCTRL, 0);
    host.set(map::RTTDCS, 1 << 6);
    host.set(map::MTQC, 0);
    host.set(map::RTTDCS, 0);
    host.set(map::DMATXCTL, 1 | 0x8100 << 16);
    host.set(map::TXDCTL, 0);
    host.set(map::TDBAL, TX_RING as u32);
    host.set(map::TDBAH, 0);
    host.set(map::TDLEN, 512 * 16);
    host.set(map::TDH, 0);
    host.set(map::TDT, 0);
    host.set(map::TXDCTL, 32 | 1 << 8 | 8 << 16 | queue::ENABLE);
    sleep(host, MS);
    assert_ne!(host.get(map::TXDCTL) & queue::ENABLE, 0);
    host.set(0x5480, 0x1330);
    host.set(map::RSCDBU, 0x80);
    assert_eq!(host.get(map::RDRXCTL) >> 3 & 1, 1, "DMAIDONE");
    let value = host.get(map::RDRXCTL) & !(31 << 17) | 2 | 1 << 25 | 1 << 26;
    host.set(map::RDRXCTL, value);
    host.set(map::RXCSUM, 1 << 13);
    (0..10).for_each(|n| host.set(0x5c80 + 4 * n, 0x6d5a_56da ^ n));
    (0..32).for_each(|n| host.set(0x5c00 + 4 * n, 0));
    host.set(0x5818, 0);
    host.set(map::MAXFRS, 1518 << 16);
    host.set(map::RXDCTL, 0);
    assert_eq!(host.get(map::RXDCTL) & queue::ENABLE, 0);
    host.set(map::RDBAL, RX_RING as u32);
    host.set(map::RDBAH, 0);
    host.set(map::RDLEN, 512 * 16);
    host.put(RX_RING, &[0; 512 * 16]);
    host.set(map::RDH, 0);
    host.set(map::RDT, 0);
    host.set(0x2100, 2 | 4 << 8 | 1 << 25);
    host.set(map::RXDCTL, queue::ENABLE);
    sleep(host, MS);
    assert_ne!(host.get(map::RXDCTL) & queue::ENABLE, 0);
    host.post(0, 511);
    host.set(map::RXCTRL, 1);
    let value = host.get(map::CTRL_EXT) | 1 << 28;
    host.set(map::CTRL_EXT, value);
    host.set(map::EIAM_EX, u32::MAX);
    host.set(map::EIAM_EX + 4, u32::MAX);
    host.set(map::GPIE, gpie::MSIX_MODE | gpie::OCD | gpie::EIAME | gpie::PBA_SUPPORT);
    host.set(map::IVAR, 0x8080);
    host.set(map::IVAR_MISC, 0x8100);
    host.set(map::EITR, 336 | eitr::CNT_WDIS);
    host.set(map::EITR + 4, 1950 | eitr::CNT_WDIS);
    host.set(map::EIAC, 0xffff);
    host.get(map::EICR);
    for vector in 0..2u64 {
        host.dev.mmio_write32(pci::BAR_MSIX, 16 * vector, 0xfee0_0000);
        host.dev.mmio_write32(pci::BAR_MSIX, 16 * vector + 8, 0x40 + vector as u32);
        host.dev.mmio_write32(pci::BAR_MSIX, 16 * vector + 12, 0);
    }
    host.set(map::EIMS, 0x7fff_0000 & !(1 << 30));
    host.set(map::EIMS_EX, u32::MAX);
    host.set(map::EIMS_EX + 4, u32::MAX);
    sleep(host, 1000 * MS);
    host.get(map::LINKS);
    assert_eq!(host.get(map::LINKS) & 0x7000_0000, 0x7000_0000, "up at 10G");
}

/// A frame each way and the handler's accesses.
fn traffic(host: &mut Host) {
    host.msix.clear();
    let frame = {
        let mut frame = udp(1, b"hello");
        frame[..6].copy_from_slice(&Params::default().mac);
        frame.resize(60, 0);
        frame
    };
    host.frame(&frame);
    sleep(host, MS);
    assert_eq!(host.msix, [0]);
    let got = host.poll(0).expect("a frame");
    assert_eq!((got.data, got.status & rx::EOP), (frame.clone(), rx::EOP));
    host.set(map::EIMS_EX, 1);
    let command = tx::DTYP_DATA << 20 | tx::DEXT | tx::IFCS | tx::EOP | tx::RS;
    host.put(TX_BUF, &frame);
    host.queue_tx(&[[TX_BUF as u32, 0, command | 60, 60 << tx::PAYLEN_SHIFT]]);
    host.kick();
    sleep(host, MS);
    assert_eq!((&host.sent[..], host.tx_done(0)), (&[frame][..], true));
    assert_eq!(host.msix, [0, 0]);
}

#[test]
fn a_cx4_board_probes_links_and_passes_traffic() {
    let mut host = board(Medium::Cx4);
    assert_eq!(host.dev.params().device_id(), 0x10f9);
    probe(&mut host);
    ifup(&mut host);
    traffic(&mut host);
    assert!(host.dev.misuses().is_empty(), "{:?}", host.dev.misuses());
    let told: Vec<_> = host.dev.not_modelled().iter().collect();
    assert!(told.is_empty(), "{told:?}");
}

#[test]
fn a_link_change_is_told_by_the_other_vector_and_shows_once_in_links() {
    let mut host = board(Medium::Cx4);
    probe(&mut host);
    ifup(&mut host);
    host.msix.clear();
    host.dev.set_cable(false);
    sleep(&mut host, MS);
    assert_eq!(host.msix, [1]);
    let causes = host.get(map::EICS) & !0xffff;
    assert_eq!(causes, eicr::LSC);
    host.set(map::EICR, causes);
    assert_eq!(host.get(map::EICS), 0);
    host.dev.set_cable(true);
    sleep(&mut host, 1000 * MS);
    assert_eq!(host.msix, [1, 1]);
    assert_eq!(host.get(map::LINKS) & link::UP, 0, "the loss is latched");
    assert_eq!(host.get(map::LINKS) & link::UP, link::UP);
    assert_ne!(host.get(map::STATUS) & status::LU, 0);
}

/// One byte of the module's EEPROM, line by line as `ixgbe_phy.c` moves them.
fn module_byte(host: &mut Host, at: u8) -> Option<u8> {
    let mut line = Lines { host };
    line.start();
    let ok = line.send(0xa0) && line.send(at);
    line.start();
    let ok = ok && line.send(0xa1);
    let byte = line.receive();
    line.stop();
    ok.then_some(byte)
}

struct Lines<'a> {
    host: &'a mut Host,
}

impl Lines<'_> {
    fn set(&mut self, clock: bool, data: bool) -> bool {
        let value = if clock { i2cctl::CLK_OUT } else { 0 };
        self.host.set(map::I2CCTL, value | if data { i2cctl::DATA_OUT } else { 0 });
        self.host.get(map::I2CCTL) & i2cctl::DATA_IN != 0
    }

    fn bit(&mut self, data: bool) -> bool {
        self.set(false, data);
        let level = self.set(true, data);
        self.set(false, data);
        level
    }

    fn start(&mut self) {
        self.set(true, true);
        self.set(true, false);
        self.set(false, false);
    }

    fn stop(&mut self) {
        self.set(false, false);
        self.set(true, false);
        self.set(true, true);
    }

    fn send(&mut self, byte: u8) -> bool {
        (0..8).rev().for_each(|n| {
            self.bit(byte >> n & 1 != 0);
        });
        !self.bit(true)
    }

    fn receive(&mut self) -> u8 {
        let byte = (0..8).fold(0, |byte, _| byte << 1 | u8::from(self.bit(true)));
        self.bit(true);
        byte
    }
}

#[test]
fn an_sfp_board_names_its_module_and_comes_up_with_it() {
    let mut host = board(Medium::Sfp { module: false });
    assert_eq!(host.dev.params().device_id(), 0x10fb);
    probe(&mut host);
    assert_eq!(module_byte(&mut host, 0), None);
    assert_eq!(host.get(map::ESDP) & esdp::SDP2, 0);
    host.set(map::GPIE, 4);
    host.dev.set_module(true);
    assert_eq!(host.get(map::EICS) & (eicr::SDP0 << 2), eicr::SDP0 << 2);
    assert_eq!(module_byte(&mut host, 0), Some(3), "SFP");
    assert_eq!(module_byte(&mut host, 3), Some(0x10), "10GBASE-SR");
    assert_eq!(host.get(map::ESDP) & esdp::SDP2, esdp::SDP2);
    // The sequence for a short range module in the first port ends as the driver expects.
    let list = eeprom(&mut host, nvm::PHY_INIT);
    let pairs: Vec<(u16, u16)> = (0..4)
        .map(|n| (eeprom(&mut host, list + 1 + 2 * n), eeprom(&mut host, list + 2 + 2 * n)))
        .collect();
    let sequence = pairs.iter().find(|p| p.0 == 5).expect("a sequence").1;
    let mut at = sequence + 1;
    while eeprom(&mut host, at) != nvm::NONE {
        let value = u32::from(eeprom(&mut host, at));
        host.set(map::CORECTL, value);
        at += 1;
    }
    let firmware = eeprom(&mut host, nvm::FW_PTR);
    let patch = eeprom(&mut host, firmware + 4);
    assert!(eeprom(&mut host, patch + 7) > 5, "the driver wants a newer version");
    // The pin is an output by the EEPROM; the driver reads, changes and writes.
    let pins = host.get(map::ESDP);
    host.set(map::ESDP, pins | esdp::SDP3);
    assert!(!host.dev.laser_on());
    let pins = host.get(map::ESDP);
    host.set(map::ESDP, pins & !esdp::SDP3);
    assert!(host.dev.laser_on());
    ifup(&mut host);
    traffic(&mut host);
    assert!(host.dev.misuses().is_empty(), "{:?}", host.dev.misuses());
}

#[test]
fn a_bad_eeprom_address_and_a_board_of_ones_own() {
    let mut host = board(Medium::Cx4);
    host.set(map::EERD, 0x3000 << eerd::ADDR_SHIFT | eerd::START);
    assert_eq!(host.misused(Misuse::NvmAddress), 1);
    host.dev.set_nvm_word(0, 0x3412);
    host.dev.hard_reset();
    assert_eq!(host.get(map::RAL) & 0xffff, 0x3412);
    host.dev.set_nvm_word(0xffff, 0);
    assert_eq!(host.misused(Misuse::NvmAddress), 2);
}
