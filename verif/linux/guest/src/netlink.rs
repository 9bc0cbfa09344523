//! Queueing disciplines by rtnetlink: fq with its parameters, or back to the default.

use crate::sys;
use std::io;
use std::os::fd::AsFd;

const NETLINK_ROUTE: i32 = 0;
const NLMSG_ERROR: u16 = 2;
const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_REPLACE: u16 = 0x100;
const NLM_F_CREATE: u16 = 0x400;
const TC_H_ROOT: u32 = 0xffff_ffff;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const ACK_MS: u64 = 1000;

/// Parameters of fq: name and attribute.
const FQ: &[(&str, u16)] = &[
    ("limit", 1),
    ("flow-limit", 2),
    ("quantum", 3),
    ("initial-quantum", 4),
    ("pacing", 5),
    ("max-rate", 7),
    ("buckets-log", 8),
    ("refill-delay-us", 9),
    ("low-rate-threshold", 11),
    ("slack-ns", 13),
    ("horizon-us", 14),
];

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let len = (4 + value.len()) as u16;
    let mut bytes = [len.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn message(kind: u16, flags: u16, iface_index: i32, attributes: &[u8]) -> Vec<u8> {
    // struct tcmsg: family and padding, interface, handle, parent, info.
    let mut body = vec![0; 4];
    body.extend(iface_index.to_ne_bytes());
    body.extend(0u32.to_ne_bytes());
    body.extend(TC_H_ROOT.to_ne_bytes());
    body.extend(0u32.to_ne_bytes());
    body.extend(attributes);
    let mut bytes = (16 + body.len() as u32).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend((flags | NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
    bytes.extend(1u32.to_ne_bytes());
    bytes.extend(0u32.to_ne_bytes());
    bytes.extend(body);
    bytes
}

/// The request that puts fq at the root of an interface.
fn fq_message(iface_index: i32, parameters: &[(&str, u32)]) -> Result<Vec<u8>, String> {
    let mut options = Vec::new();
    for (name, value) in parameters {
        let found = FQ.iter().find(|p| p.0 == *name);
        let (_, kind) = found.ok_or_else(|| format!("fq has no '{name}'"))?;
        options.extend(attribute(*kind, &value.to_ne_bytes()));
    }
    let mut attributes = attribute(TCA_KIND, b"fq\0");
    attributes.extend(attribute(TCA_OPTIONS, &options));
    Ok(message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, iface_index, &attributes))
}

fn send(request: &[u8]) -> Result<(), String> {
    let ask = || -> io::Result<i32> {
        let socket = sys::socket(sys::AF_NETLINK, sys::SOCK_RAW, NETLINK_ROUTE)?;
        sys::send_to(socket.as_fd(), request, &[])?;
        if !sys::wait_readable(socket.as_fd(), ACK_MS)? {
            return Err(io::Error::other("rtnetlink does not answer"));
        }
        let mut answer = [0; 4096];
        let len = sys::receive(socket.as_fd(), &mut answer)?.len.min(answer.len());
        let kind = u16::from_ne_bytes([answer[4], answer[5]]);
        if len < 20 || kind != NLMSG_ERROR {
            return Err(io::Error::other("rtnetlink answers something else"));
        }
        Ok(i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]))
    };
    match ask().map_err(|error| error.to_string())? {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno.wrapping_neg()).to_string()),
    }
}

/// Puts fq at the root.
pub fn set_fq(iface_index: i32, parameters: &[(&str, u32)]) -> Result<(), String> {
    send(&fq_message(iface_index, parameters)?)
}

/// Takes the root discipline away; the kernel puts its default there.
pub fn delete_root(iface_index: i32) -> Result<(), String> {
    send(&message(RTM_DELQDISC, 0, iface_index, &[]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_for_fq_is_nested_and_padded() {
        let bytes = fq_message(3, &[("slack-ns", 10)]).unwrap();
        assert_eq!(bytes.len(), 16 + 20 + 8 + 4 + 8);
        assert_eq!(bytes[..4], (bytes.len() as u32).to_ne_bytes());
        assert_eq!(bytes[36..44], [7, 0, 1, 0, b'f', b'q', 0, 0]);
        assert_eq!(bytes[44..], [12, 0, 2, 0, 8, 0, 13, 0, 10, 0, 0, 0]);
    }

    #[test]
    fn an_unknown_parameter_is_named() {
        assert_eq!(fq_message(3, &[("speed", 1)]).unwrap_err(), "fq has no 'speed'");
    }
}
