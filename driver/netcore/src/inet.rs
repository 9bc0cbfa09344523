//! From a packet to its socket: `ip_rcv`, `udp_rcv`, `tcp_v4_rcv` and their IPv6 twins of Linux
//! 3.11 and 6.12, as far as a socket is found, marked and given the packet.
//!
//! Left out: everything that may be wrong with a packet, fragments, options and extension headers;
//! a packet with any of it is for no socket here and goes to the ledger alone.

use crate::sock::{Endpoint, Family, Flow, Protocol};
use crate::{Net, SkBuff, Sock, SockState};
use pollproof_kapi::Dma;
use std::sync::Arc;

const ETH_HLEN: usize = 14;
const ETH_P_IP: u16 = 0x0800;
const ETH_P_IPV6: u16 = 0x86dd;
const IPPROTO_TCP: u8 = 6;
const IPPROTO_UDP: u8 = 17;
/// Ethernet, IPv6, ports.
const HEADERS: usize = ETH_HLEN + 40 + 4;

/// A packet that no socket took, or why it was dropped.
pub(crate) enum Refused {
    /// It is for nobody here.
    NoSocket(SkBuff),
    /// It is dropped and counted.
    Dropped(SkBuff, &'static str),
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..at + 2)?;
    Some(u16::from(two[0]) << 8 | u16::from(two[1]))
}

/// Source or destination, with the address at `addr` and the port at `port`.
fn endpoint(bytes: &[u8], addr: std::ops::Range<usize>, port: usize) -> Option<Endpoint> {
    let mut whole = [0; 16];
    whole.get_mut(..addr.len())?.copy_from_slice(bytes.get(addr)?);
    Some(Endpoint { addr: whole, port: be16(bytes, port)? })
}

/// Where a packet comes from and goes to.
fn flow_of(bytes: &[u8]) -> Option<Flow> {
    let ip = bytes.get(ETH_HLEN..)?;
    let (family, next, header, addr, src) = match be16(bytes, 12)? {
        // No options, no fragment.
        ETH_P_IP if ip.first() == Some(&0x45) && be16(ip, 6)? & 0x3fff == 0 => {
            (Family::Inet, *ip.get(9)?, 20, 4, 12)
        }
        ETH_P_IPV6 if ip.first()? >> 4 == 6 => (Family::Inet6, *ip.get(6)?, 40, 16, 8),
        _ => return None,
    };
    let protocol = match next {
        IPPROTO_TCP => Protocol::Tcp,
        IPPROTO_UDP => Protocol::Udp,
        _ => return None,
    };
    Some(Flow {
        family,
        protocol,
        local: endpoint(ip, src + addr..src + 2 * addr, header + 2)?,
        remote: Some(endpoint(ip, src..src + addr, header)?),
    })
}

impl Flow {
    /// Whether a packet goes to a group.
    fn is_multicast(&self) -> bool {
        match self.family {
            Family::Inet => self.local.addr[0] >> 4 == 0xe,
            Family::Inet6 => self.local.addr[0] == 0xff,
        }
    }
}

fn headers(skb: &SkBuff, dma: &dyn Dma) -> Vec<u8> {
    let mut bytes = vec![0; HEADERS.min(skb.len)];
    skb.read_start(dma, &mut bytes);
    bytes
}

impl Net {
    /// The packet goes to its socket, if there is one.
    pub(crate) fn inet_rcv(&self, skb: SkBuff) -> Result<(), Refused> {
        let Some(flow) = flow_of(&headers(&skb, &*self.below.dma)) else {
            return Err(Refused::NoSocket(skb));
        };
        let mut socks = self.socks_for(&flow);
        if socks.is_empty() {
            return Err(Refused::NoSocket(skb));
        }
        match flow.protocol {
            Protocol::Tcp => tcp_rcv(&socks.swap_remove(0), skb),
            Protocol::Udp if flow.is_multicast() => self.udp_mcast_deliver(&socks, skb),
            Protocol::Udp => udp_unicast_rcv(&socks.swap_remove(0), skb),
        }
    }

    /// `__udp4_lib_mcast_deliver`: a copy for each member. None of them is marked: its next packet
    /// may come through any queue.
    fn udp_mcast_deliver(&self, socks: &[Arc<Sock>], skb: SkBuff) -> Result<(), Refused> {
        let Some((last, others)) = socks.split_last() else {
            return Err(Refused::NoSocket(skb));
        };
        let dma = &*self.below.dma;
        for sk in others {
            if let Ok(copy) = skb.skb_copy(dma) {
                if let Err(copy) = sk.queue(copy) {
                    copy.release(dma);
                }
            }
        }
        queue(last, skb)
    }
}

fn queue(sk: &Sock, skb: SkBuff) -> Result<(), Refused> {
    sk.queue(skb).map_err(|skb| Refused::Dropped(skb, "rcvbuf"))
}

/// `udp_rcv`, `udpv6_rcv`: one socket.
fn udp_unicast_rcv(sk: &Sock, skb: SkBuff) -> Result<(), Refused> {
    sk.mark(&skb);
    queue(sk, skb)
}

/// `tcp_v4_rcv`, `tcp_v6_rcv`: marked before anything else, also a socket that listens. Only a
/// connection takes data.
fn tcp_rcv(sk: &Sock, skb: SkBuff) -> Result<(), Refused> {
    sk.mark(&skb);
    if !sk.is(SockState::Established) {
        return Err(Refused::Dropped(skb, "tcp_not_established"));
    }
    queue(sk, skb)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(next: u8, dst: [u8; 4]) -> Vec<u8> {
        let mut bytes = vec![0; ETH_HLEN + 28];
        bytes[12..14].copy_from_slice(&[0x08, 0x00]);
        bytes[14] = 0x45;
        bytes[23] = next;
        bytes[26..30].copy_from_slice(&[10, 0, 0, 1]);
        bytes[30..34].copy_from_slice(&dst);
        bytes[34..38].copy_from_slice(&[0, 7, 0, 9]);
        bytes
    }

    #[test]
    fn a_flow_is_read_from_both_families() {
        let flow = flow_of(&ipv4(IPPROTO_UDP, [10, 0, 1, 1])).expect("UDP over IPv4");
        assert_eq!((flow.family, flow.protocol), (Family::Inet, Protocol::Udp));
        assert_eq!(flow.local, Endpoint::v4([10, 0, 1, 1], 9));
        assert_eq!(flow.remote, Some(Endpoint::v4([10, 0, 0, 1], 7)));
        let mut six = vec![0; HEADERS];
        six[12..14].copy_from_slice(&[0x86, 0xdd]);
        (six[14], six[20]) = (0x60, IPPROTO_TCP);
        (six[22..38]).fill(1);
        (six[38..54]).fill(2);
        six[54..58].copy_from_slice(&[0, 7, 0, 9]);
        let flow = flow_of(&six).expect("TCP over IPv6");
        assert_eq!((flow.family, flow.protocol), (Family::Inet6, Protocol::Tcp));
        assert_eq!(flow.local, Endpoint { addr: [2; 16], port: 9 });
        assert_eq!(flow.remote, Some(Endpoint { addr: [1; 16], port: 7 }));
    }

    #[test]
    fn what_is_short_or_something_else_is_no_flow() {
        let udp = ipv4(IPPROTO_UDP, [10, 0, 1, 1]);
        assert!((0..38).all(|len| flow_of(&udp[..len]).is_none()));
        assert_eq!(flow_of(&ipv4(1, [10, 0, 1, 1])), None, "ICMP");
        let mut fragment = udp.clone();
        fragment[20] = 0x20;
        assert_eq!(flow_of(&fragment), None);
    }

    #[test]
    fn groups_are_told_from_hosts() {
        let is_group = |dst| flow_of(&ipv4(IPPROTO_UDP, dst)).is_some_and(|f| f.is_multicast());
        assert!(is_group([224, 0, 0, 1]) && is_group([239, 1, 2, 3]));
        assert!(!is_group([10, 0, 1, 1]) && !is_group([240, 0, 0, 1]));
    }
}
