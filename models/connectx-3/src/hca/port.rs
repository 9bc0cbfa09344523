//! The port: link, addresses, filters.
//!
//! Frames pass if the port is up and they are for one of its addresses, for all, for a group that
//! was added, or if the port takes everything. Not modelled: VLAN filters, pause frames, counters
//! by priority.

use super::bytes::{be32, be64};
use super::hcr::{Answer, Command};
use super::Hca;
use pollproof_regs::mlx4_hca::{event, set_port};
use std::collections::BTreeSet;

/// Entries of the table of addresses (QUERY_PORT).
const ADDRESSES: usize = 128;
/// Group addresses that the filter holds.
pub const MULTICAST_MAX: usize = 1024;
/// An entry of the table is in use.
const VALID: u64 = 1 << 63;
const MAC: u64 = (1 << 48) - 1;
/// RQP_CALC: takes everything, of one address or of groups.
const PROMISCUOUS: u32 = 1 << 31;

/// One Ethernet port.
pub(super) struct Port {
    mac: u64,
    /// INIT_PORT, and no CLOSE_PORT since.
    started: bool,
    /// A cable is in.
    pub cable: bool,
    /// Firmware gave up.
    pub catas: bool,
    addresses: Vec<u64>,
    groups: BTreeSet<u64>,
    filters_groups: bool,
    promiscuous: bool,
    /// Frames for others.
    pub filtered: u64,
}

impl Port {
    pub fn new(mac: [u8; 6]) -> Self {
        let mac = mac.iter().fold(0, |mac, byte| mac << 8 | u64::from(*byte));
        Self {
            mac,
            started: false,
            cable: true,
            catas: false,
            addresses: Vec::new(),
            groups: BTreeSet::new(),
            filters_groups: true,
            promiscuous: false,
            filtered: 0,
        }
    }

    /// Its own address.
    pub fn mac(&self) -> [u8; 6] {
        let [_, _, mac @ ..] = self.mac.to_be_bytes();
        mac
    }

    /// Whether there is a link.
    pub fn link(&self) -> bool {
        self.started && self.cable
    }

    /// Whether frames come in.
    pub fn is_up(&self) -> bool {
        self.link() && !self.catas
    }

    /// Whether a frame passes.
    pub fn takes(&self, frame: &[u8]) -> bool {
        if !self.is_up() {
            return false;
        }
        let to = be64(frame, 0) >> 16;
        let is_group = to >> 40 & 1 != 0;
        self.promiscuous
            || to == MAC
            || (is_group && (!self.filters_groups || self.groups.contains(&to)))
            || self.addresses.contains(&to)
    }
}

impl Hca {
    /// INIT_PORT and CLOSE_PORT.
    pub(super) fn start_port(&mut self, start: bool) -> Answer {
        let before = self.port.link();
        self.port.started = start;
        if start || self.params.close_tells {
            self.link_changed(before);
        }
        Answer::default()
    }

    /// The cable is plugged in or pulled out.
    pub fn set_cable(&mut self, present: bool) {
        let before = self.port.link();
        self.port.cable = present;
        self.link_changed(before);
    }

    fn link_changed(&mut self, before: bool) {
        let link = self.port.link();
        let Some(eqn) = self.event_eqs[event::PORT_CHANGE as usize].filter(|_| link != before)
        else {
            return;
        };
        let subtype = if link { event::PORT_ACTIVE } else { event::PORT_DOWN };
        // The port's number is in the upper bits of the third word.
        let words = [0, 0, 1 << 28, 0, 0, 0];
        self.engine.push_async_eqe(eqn, event::PORT_CHANGE, subtype, words);
    }

    /// SET_PORT for Ethernet.
    pub(super) fn set_port(&mut self, command: &Command, mailbox: &[u8]) -> Answer {
        if command.in_modifier & 0xff != 1 || command.op_modifier != 1 {
            return Answer::status(3);
        }
        match command.in_modifier >> 8 {
            set_port::GENERAL | set_port::PRIO_MAP | set_port::GID_TABLE => {}
            set_port::RQP_CALC => {
                self.port.promiscuous = be32(mailbox, 0x14) & PROMISCUOUS != 0;
                self.port.filters_groups = be32(mailbox, 0x18) & PROMISCUOUS == 0;
                let base = be32(mailbox, 0) & 0xff_ffff;
                return self.set_default_qp(base);
            }
            set_port::MAC_TABLE => {
                let entries = (0..ADDRESSES).map(|n| be64(mailbox, 8 * n));
                let valid = entries.filter(|entry| entry & VALID != 0);
                self.port.addresses = valid.map(|entry| entry & MAC).collect();
            }
            set_port::VLAN_TABLE => {}
            _ => return Answer::status(3),
        }
        Answer::default()
    }

    /// SET_MCAST_FLTR: off, on, or an address more, perhaps as the first.
    pub(super) fn set_multicast_filter(&mut self, command: &Command) -> Answer {
        let address = command.in_param & MAC;
        match command.op_modifier {
            1 => self.port.filters_groups = false,
            2 => self.port.filters_groups = true,
            0 => {
                if command.in_param & VALID != 0 {
                    self.port.groups.clear();
                }
                if address != 0 && self.port.groups.len() < MULTICAST_MAX {
                    self.port.groups.insert(address);
                }
            }
            _ => return Answer::status(3),
        }
        Answer::default()
    }
}
