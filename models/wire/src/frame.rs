//! A frame and the flow that it belongs to.

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use std::sync::Arc;

/// An Ethernet frame without preamble and FCS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Running number on its port.
    pub number: u64,
    /// Hash of its addresses, see [`flow_of`].
    pub flow: u32,
    /// From the destination MAC address on.
    pub bytes: Arc<[u8]>,
}

impl Frame {
    /// A frame of these bytes.
    pub fn new(number: u64, bytes: Arc<[u8]>) -> Self {
        Self { number, flow: flow_of(&bytes), bytes }
    }
}

/// Stable hash of the flow of a frame: FNV-1a (32 bits) over addresses, protocol and ports of
/// TCP or UDP; over addresses and protocol of other IP and of fragments; over MAC addresses and
/// EtherType of anything else. The two directions of a connection are two flows. A frame whose
/// headers are broken is a flow of its own: nobody can say whose order it should keep.
pub fn flow_of(bytes: &[u8]) -> u32 {
    let Ok(packet) = SlicedPacket::from_ethernet(bytes) else {
        return fnv(FNV_OFFSET, bytes);
    };
    let (hash, fragment) = match &packet.net {
        Some(NetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let hash = fnv(fnv(FNV_OFFSET, &header.source()), &header.destination());
            (fnv(hash, &[header.protocol().0]), header.is_fragmenting_payload())
        }
        Some(NetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let hash = fnv(fnv(FNV_OFFSET, &header.source()), &header.destination());
            (fnv(hash, &[ip.payload().ip_number.0]), ip.is_payload_fragmented())
        }
        _ => return fnv(FNV_OFFSET, bytes.get(..14).unwrap_or(bytes)),
    };
    let ports = match &packet.transport {
        _ if fragment => return hash,
        Some(TransportSlice::Tcp(tcp)) => (tcp.source_port(), tcp.destination_port()),
        Some(TransportSlice::Udp(udp)) => (udp.source_port(), udp.destination_port()),
        _ => return hash,
    };
    fnv(fnv(hash, &ports.0.to_be_bytes()), &ports.1.to_be_bytes())
}

const FNV_OFFSET: u32 = 0x811c_9dc5;
const FNV_PRIME: u32 = 0x0100_0193;

fn fnv(hash: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(FNV_PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    fn udp(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        PacketBuilder::ethernet2([2; 6], [4; 6])
            .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            .udp(from, to)
            .write(&mut bytes, payload)
            .expect("a packet");
        bytes
    }

    #[test]
    fn a_flow_is_its_five_tuple_in_one_direction() {
        let one = flow_of(&udp(1000, 2000, b"a"));
        assert_eq!(one, flow_of(&udp(1000, 2000, b"something else")));
        assert_ne!(one, flow_of(&udp(2000, 1000, b"a")));
        assert_ne!(one, flow_of(&udp(1000, 2001, b"a")));
    }

    #[test]
    fn a_frame_without_ip_flows_by_mac_addresses() {
        let mut arp = vec![0xff; 12];
        arp.extend([0x08, 0x06]);
        arp.extend([0; 46]);
        let one = flow_of(&arp);
        arp[20] = 9;
        assert_eq!(one, flow_of(&arp));
        arp[6] = 9;
        assert_ne!(one, flow_of(&arp));
        assert_eq!(flow_of(&[]), FNV_OFFSET);
    }
}
