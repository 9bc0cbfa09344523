//! Link, MDIO and semaphores of the port (8.2.3.22, 8.2.3.4.9, 10.5.4).
//!
//! Not modelled: autonegotiation (the link comes up at 10G or not at all), the analog part, an
//! external PHY: no MDIO device answers.

use crate::params::{Medium, Params};
use crate::Intel82599;
use pollproof_regs::ixgbe::{ctrl, eicr, esdp, link, msca, pci, status, swsm};
use pollproof_regs::ixgbe_map as map;

/// State of the link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// Whether there is a partner at the other end.
    cable: bool,
    /// When the link is ready, if nothing speaks against it.
    ready_ps: u64,
    /// As last seen: a change is a cause.
    pub(crate) up: bool,
    /// A loss that LINKS has not shown yet.
    latched_down: bool,
}

impl Link {
    pub(crate) fn new() -> Self {
        Self { cable: true, ready_ps: 0, up: false, latched_down: false }
    }

    pub(crate) fn ready_ps_from(&mut self, ps: u64) {
        self.ready_ps = ps;
    }
}

/// AUTOC as the EEPROM sets it: 10G without negotiation, CX4 or SFI.
pub(crate) fn autoc(medium: Medium) -> u32 {
    match medium {
        Medium::Cx4 => 1 << link::LMS_SHIFT | 2 << link::PMA_10G_SHIFT,
        Medium::Sfp { .. } => 3 << link::LMS_SHIFT,
    }
}

impl Params {
    /// PCI device id of the port.
    pub fn device_id(&self) -> u16 {
        match self.medium {
            Medium::Cx4 => pci::DEVICE_CX4,
            Medium::Sfp { .. } => pci::DEVICE_SFP,
        }
    }
}

impl Intel82599 {
    /// Plugs the cable in or pulls it out.
    pub fn set_cable(&mut self, present: bool) {
        if present && !self.link.cable {
            self.link.ready_ps = self.now_ps.saturating_add(self.params.link_up_ps);
        }
        self.link.cable = present;
        self.update_link();
        self.pump();
    }

    /// Plugs an SFP+ module in or pulls it out; pin SDP2 follows.
    pub fn set_module(&mut self, present: bool) {
        if !matches!(self.params.medium, Medium::Sfp { .. }) {
            return;
        }
        let changed = present != self.sfp.is_present();
        self.sfp.set_present(present);
        if changed {
            self.link.ready_ps = self.now_ps.saturating_add(self.params.link_up_ps);
            let enabled = self.irq.gpie() & 4 != 0;
            self.irq.raise_other(if enabled { eicr::SDP0 << 2 } else { 0 });
        }
        self.update_link();
        self.pump();
    }

    /// Whether the link is up.
    pub fn link_up(&self) -> bool {
        self.link.up
    }

    /// Whether the driver lets the laser shine (ESDP pin 3 of an SFP+ board).
    pub fn laser_on(&self) -> bool {
        let pins = self.csr.get(map::ESDP);
        pins & esdp::SDP3 << 8 == 0 || pins & esdp::SDP3 == 0
    }

    pub(crate) fn link_restart(&mut self) {
        self.link.ready_ps = self.now_ps.saturating_add(self.params.link_up_ps);
        self.update_link();
    }

    fn link_wanted(&self) -> bool {
        let cage_full = !matches!(self.params.medium, Medium::Sfp { .. }) || self.sfp.is_present();
        let forced = self.csr.get(map::AUTOC) & link::FLU != 0;
        let disabled = self.csr.get(map::AUTOC2) & link::LINK_DISABLE != 0;
        (self.link.cable && cage_full && !disabled) || forced
    }

    /// When the link changes by itself.
    pub(crate) fn link_deadline(&self) -> Option<u64> {
        (!self.link.up && self.link_wanted()).then_some(self.link.ready_ps)
    }

    /// Looks at the link; a change is a cause (LSC).
    pub(crate) fn update_link(&mut self) {
        let up = self.link_wanted() && self.link.ready_ps <= self.now_ps;
        if up != self.link.up {
            self.link.up = up;
            self.link.latched_down |= !up;
            self.irq.raise_other(eicr::LSC);
        }
    }

    /// LINKS: UP falls for one read after a loss.
    pub(crate) fn read_links(&mut self) -> u32 {
        let latched = std::mem::take(&mut self.link.latched_down);
        let now = if self.link.up { link::SIGNAL | link::SPEED_10G } else { 0 };
        now | if self.link.up && !latched { link::UP } else { 0 }
    }

    pub(crate) fn read_status(&self) -> u32 {
        let stopped = self.csr.get(map::CTRL) & ctrl::GIO_DIS != 0;
        let quiet = stopped && !self.transactions_pending() && !self.is_stuck();
        let lu = if self.link.up { status::LU } else { 0 };
        lu | if quiet { 0 } else { status::GIO_MASTER }
    }

    /// ESDP: pins that are inputs show the board, outputs what was written.
    pub(crate) fn read_esdp(&self) -> u32 {
        let value = self.csr.get(map::ESDP);
        let full = self.sfp.is_present() && matches!(self.params.medium, Medium::Sfp { .. });
        let inputs = if full { esdp::SDP2 } else { 0 };
        let outputs = value >> 8 & 0xff;
        value & !0xff | value & outputs | inputs & !outputs
    }

    /// MSCA: the command ends at once; nobody is there, so that a read gives all ones.
    pub(crate) fn write_msca(&mut self, value: u32) {
        self.csr.set(map::MSCA, value & !msca::MDI_COMMAND);
        if value & msca::MDI_COMMAND != 0 && value & msca::READ != 0 {
            let written = self.csr.get(map::MSRWD) & 0xffff;
            self.csr.set(map::MSRWD, 0xffff_0000 | written);
        }
    }

    /// SWSM: the read that finds SMBI clear takes it.
    pub(crate) fn read_swsm(&mut self) -> u32 {
        let value = self.csr.get(map::SWSM);
        self.csr.set(map::SWSM, value | swsm::SMBI);
        value
    }

    /// SWSM: SMBI can only be given back; SWESMBI is granted at once, no firmware competes.
    pub(crate) fn write_swsm(&mut self, value: u32) {
        let smbi = self.csr.get(map::SWSM) & value & swsm::SMBI;
        self.csr.set(map::SWSM, smbi | value & swsm::SWESMBI);
    }
}
