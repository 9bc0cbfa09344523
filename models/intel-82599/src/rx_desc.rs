//! What a receive descriptor says when it is written back (7.1.5, 7.1.6.2).

use crate::rx::Arrived;
use crate::Intel82599;
use pollproof_regs::ixgbe::{queue, rxcsum};
use pollproof_regs::ixgbe_desc::{build, dword, rx};
use pollproof_regs::ixgbe_map as map;

impl Intel82599 {
    /// Status bits, low half, and error bits, high half, of a last descriptor (7.1.6.2).
    #[inline]
    fn rx_status(&self, a: &Arrived) -> u32 {
        let mut status = 0;
        let mut add = |condition: bool, bits: u32| status |= if condition { bits } else { 0 };
        add(a.vlan.is_some(), rx::VP);
        add(a.inexact, rx::PIF);
        add(a.looped, rx::LB);
        add(a.bad, rx::RXE);
        add(a.headers.ip_ok.is_some(), rx::IPCS);
        add(a.headers.ip_ok == Some(false), rx::IPE);
        let checked =
            a.headers.l4_ok.is_some() && (!a.headers.udp_zero || self.params.udp_zero_is_error);
        add(checked, rx::L4CS);
        add(checked && a.headers.l4_ok == Some(false), rx::TCPE);
        status
    }

    /// Dwords 0 and 1 of an advanced write-back.
    #[inline]
    pub(crate) fn rx_identity(&self, a: &Arrived, rsc_count: u32) -> [u32; 2] {
        let control = self.csr.get(map::RXCSUM);
        let first = a.hash.0
            | a.headers.packet_type << rx::TYPE_SHIFT
            | (rsc_count & rx::RSCCNT_MASK) << rx::RSCCNT_SHIFT;
        let second = if control & rxcsum::PCSD != 0 {
            a.hash.1
        } else if control & rxcsum::IPPCSE != 0 && a.headers.fragment {
            u32::from(a.headers.payload_sum) << 16 | u32::from(a.headers.ip_id)
        } else {
            u32::from(a.headers.ip_id)
        };
        [first, second]
    }

    /// Dwords 2 and 3 of the last descriptor of a frame, advanced form.
    #[inline]
    pub(crate) fn rx_last(&self, a: &Arrived, len: u32) -> [u32; 2] {
        let tag = u32::from(a.vlan.unwrap_or(0));
        [self.rx_status(a) | rx::DD | rx::EOP, tag << 16 | len & 0xffff]
    }

    /// A write-back without coalescing, of either form.
    #[inline(always)]
    pub(crate) fn rx_descriptor(
        &self,
        a: &Arrived,
        read: &[u8; 16],
        srrctl: u32,
        len: u32,
        eop: bool,
    ) -> [u8; 16] {
        let [status, length] = if eop { self.rx_last(a, len) } else { [rx::DD, len & 0xffff] };
        if srrctl >> queue::DESCTYPE_SHIFT & 7 != 0 {
            let [first, second] = self.rx_identity(a, 0);
            return build([first, second, status, length]);
        }
        self.rx_legacy(a, read, status, length)
    }

    fn rx_legacy(&self, a: &Arrived, read: &[u8; 16], status: u32, length: u32) -> [u8; 16] {
        // Legacy (7.1.5): status and errors are bytes, the address stays.
        let errors =
            [(rx::RXE, rx::LEGACY_RXE), (rx::TCPE, rx::LEGACY_TCPE), (rx::IPE, rx::LEGACY_IPE)];
        let errors = errors.iter().filter(|e| status & e.0 != 0).fold(0, |all, e| all | e.1);
        let sum = if a.headers.fragment { a.headers.payload_sum } else { 0 };
        build([
            dword(read, 0),
            dword(read, 1),
            length & 0xffff | u32::from(sum) << 16,
            status & 0xff | errors << 8 | length & 0xffff_0000,
        ])
    }
}
