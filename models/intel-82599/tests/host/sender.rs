//! The sending half of the host: descriptors as Linux writes them.

use super::Host;
use pollproof_intel_82599::Params;
use pollproof_regs::ixgbe::queue;
use pollproof_regs::ixgbe_desc::tx;

pub const US: u64 = 1_000_000;
/// PTHRESH 32, HTHRESH 1, as Linux has it.
pub const LINUX: u32 = 32 | 1 << queue::HTHRESH_SHIFT;

pub fn sender(txdctl: u32) -> Host {
    let mut host = Host::new(Params::zero());
    host.interrupts(1);
    host.start_tx(64, txdctl);
    host
}

pub const DATA: u32 = tx::DTYP_DATA << tx::DTYP_SHIFT | tx::DEXT | tx::IFCS;
pub const LAST: u32 = DATA | tx::EOP | tx::RS;

/// A data descriptor for `len` bytes at `at`.
pub fn data(at: u64, len: usize, command: u32, olinfo: u32) -> [u32; 4] {
    [at as u32, 0, command | len as u32, olinfo]
}

/// A whole frame in one descriptor.
pub fn whole(host: &mut Host, at: u64, frame: &[u8]) -> [u32; 4] {
    host.put(at, frame);
    data(at, frame.len(), LAST, (frame.len() as u32) << tx::PAYLEN_SHIFT)
}

/// A context for Ethernet and IP of these lengths.
pub fn context(
    ip_len: u32,
    ipv4: bool,
    l4_type: u32,
    l4_len: u32,
    mss: u32,
    vlan: u32,
) -> [u32; 4] {
    let tucmd = if ipv4 { tx::TUCMD_IPV4 } else { 0 } | l4_type << tx::TUCMD_L4T_SHIFT;
    let kind = tx::DTYP_CONTEXT << tx::DTYP_SHIFT | tx::DEXT;
    let sizes = l4_len << tx::L4LEN_SHIFT | mss << tx::MSS_SHIFT;
    [ip_len | 14 << 9 | vlan << 16, 0, kind | tucmd, sizes]
}
