//! Frames that the street sends to a guest, and what a guest answers.

use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Who sits at the other end of the cable.
pub const PEER_MAC: [u8; 6] = [0x02, 0, 0, 0, 0, 0x02];
/// Its address.
pub const PEER_IP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// The guest's address.
pub const GUEST_IP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// Identity of our echo requests.
const ECHO_ID: u16 = 0x5050;
const ARP: [u8; 2] = [8, 6];

/// "Who has the guest's address?"
pub fn arp_request() -> Arc<[u8]> {
    let mut bytes = vec![0xff; 6];
    bytes.extend(PEER_MAC);
    bytes.extend(ARP);
    bytes.extend([0, 1, 8, 0, 6, 4, 0, 1]);
    bytes.extend(PEER_MAC);
    bytes.extend(PEER_IP.octets());
    bytes.extend([0; 6]);
    bytes.extend(GUEST_IP.octets());
    bytes.resize(60, 0);
    bytes.into()
}

/// The MAC address by which an ARP reply answers for the guest.
pub fn arp_reply(frame: &[u8]) -> Option<[u8; 6]> {
    let is_reply = frame.get(12..14) == Some(&ARP) && frame.get(20..22) == Some(&[0, 2]);
    let is_guests = frame.get(28..32) == Some(&GUEST_IP.octets());
    let mac = frame.get(22..28)?.first_chunk::<6>()?;
    (is_reply && is_guests).then_some(*mac)
}

/// An echo request to the guest.
pub fn echo_request(guest: [u8; 6], number: u16, payload: &[u8]) -> Arc<[u8]> {
    let builder = PacketBuilder::ethernet2(PEER_MAC, guest)
        .ipv4(PEER_IP.octets(), GUEST_IP.octets(), 64)
        .icmpv4_echo_request(ECHO_ID, number);
    let mut bytes = Vec::with_capacity(builder.size(payload.len()));
    // Writing to a vector can not fail.
    let _ = builder.write(&mut bytes, payload);
    bytes.into()
}

/// Number and payload of an echo reply to us whose checksums are right.
pub fn echo_reply(frame: &[u8]) -> Option<(u16, Vec<u8>)> {
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let Some(TransportSlice::Icmpv4(icmp)) = packet.transport else { return None };
    let etherparse::Icmpv4Type::EchoReply(echo) = icmp.icmp_type() else { return None };
    let whole = icmp.slice();
    let good = etherparse::checksum::Sum16BitWords::new().add_slice(whole).ones_complement() == 0;
    let is_ours = good && echo.id == ECHO_ID;
    is_ours.then(|| (echo.seq, icmp.payload().to_vec()))
}

/// A datagram to the guest.
pub fn datagram(guest: [u8; 6], ports: (u16, u16), payload: &[u8]) -> Arc<[u8]> {
    let builder = PacketBuilder::ethernet2(PEER_MAC, guest)
        .ipv4(PEER_IP.octets(), GUEST_IP.octets(), 64)
        .udp(ports.0, ports.1);
    let mut bytes = Vec::with_capacity(builder.size(payload.len()));
    let _ = builder.write(&mut bytes, payload);
    bytes.into()
}

/// A TCP segment to the guest from somebody behind the other end, in the middle of a stream.
pub fn tcp_segment(
    guest: [u8; 6],
    from: Ipv4Addr,
    ports: (u16, u16),
    sequence: u32,
    payload: &[u8],
) -> Arc<[u8]> {
    let builder = PacketBuilder::ethernet2(PEER_MAC, guest)
        .ipv4(from.octets(), GUEST_IP.octets(), 64)
        .tcp(ports.0, ports.1, sequence, 4096)
        .ack(1);
    let mut bytes = Vec::with_capacity(builder.size(payload.len()));
    let _ = builder.write(&mut bytes, payload);
    bytes.into()
}

/// Ports, sequence number and payload of a TCP segment, or of several that were put together.
pub fn tcp_of(frame: &[u8]) -> Option<(u16, u16, u32, Vec<u8>)> {
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let Some(TransportSlice::Tcp(tcp)) = &packet.transport else { return None };
    let ports = (tcp.source_port(), tcp.destination_port());
    Some((ports.0, ports.1, tcp.sequence_number(), tcp.payload().to_vec()))
}

/// Source port, destination port and payload of a datagram whose UDP checksum is right.
pub fn datagram_of(frame: &[u8]) -> Option<(u16, u16, Vec<u8>)> {
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let Some(NetSlice::Ipv4(ip)) = &packet.net else { return None };
    let Some(TransportSlice::Udp(udp)) = &packet.transport else { return None };
    let header = udp.to_header();
    let sum = header.calc_checksum_ipv4(&ip.header().to_header(), udp.payload()).ok()?;
    let good = sum == header.checksum;
    good.then(|| (udp.source_port(), udp.destination_port(), udp.payload().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer of a guest, made from the question: what it changes, and its checksum.
    fn answer(request: &[u8]) -> Vec<u8> {
        let mut bytes = request.to_vec();
        bytes[34] = 0;
        let sum = u16::from_be_bytes([bytes[36], bytes[37]]).wrapping_add(0x0800);
        let sum = if sum < 0x0800 { sum + 1 } else { sum };
        bytes[36..38].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    #[test]
    fn an_echo_is_known_by_its_number_and_checksum() {
        let request = echo_request([2, 0, 0, 0, 0, 1], 7, b"some payload");
        assert_eq!(echo_reply(&request), None, "it is no reply");
        let reply = answer(&request);
        assert_eq!(echo_reply(&reply), Some((7, b"some payload".to_vec())));
        let mut bad = reply;
        bad[50] ^= 1;
        assert_eq!(echo_reply(&bad), None);
    }

    #[test]
    fn a_datagram_is_known_by_its_ports_and_checksum() {
        let frame = datagram([2, 0, 0, 0, 0, 1], (1000, 7), b"payload");
        assert_eq!(datagram_of(&frame), Some((1000, 7, b"payload".to_vec())));
        let mut bad = frame.to_vec();
        bad[45] ^= 1;
        assert_eq!(datagram_of(&bad), None);
    }

    #[test]
    fn a_segment_is_known_by_its_ports_and_place_in_the_stream() {
        let guest = [2, 0, 0, 0, 0, 1];
        let frame = tcp_segment(guest, PEER_IP, (1000, 80), 77, b"part");
        assert_eq!(tcp_of(&frame), Some((1000, 80, 77, b"part".to_vec())));
        assert_eq!(tcp_of(&datagram(guest, (1000, 80), b"part")), None);
    }

    #[test]
    fn an_arp_reply_names_the_guest() {
        let mut reply = arp_request().to_vec();
        assert_eq!(arp_reply(&reply), None);
        reply[21] = 2;
        reply[22..28].copy_from_slice(&[2, 9, 9, 9, 9, 9]);
        reply[28..32].copy_from_slice(&GUEST_IP.octets());
        assert_eq!(arp_reply(&reply), Some([2, 9, 9, 9, 9, 9]));
    }
}
