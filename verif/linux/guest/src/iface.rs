//! One network interface: flags, addresses, neighbours, carrier. By ioctl, as ifconfig does it.

use crate::sys;
use std::ffi::c_ulong;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

const SIOCGIFFLAGS: c_ulong = 0x8913;
const SIOCSIFFLAGS: c_ulong = 0x8914;
const SIOCSIFADDR: c_ulong = 0x8916;
const SIOCSIFNETMASK: c_ulong = 0x891c;
const SIOCSIFMTU: c_ulong = 0x8922;
const SIOCSIFHWADDR: c_ulong = 0x8924;
const SIOCGIFHWADDR: c_ulong = 0x8927;
const SIOCGIFINDEX: c_ulong = 0x8933;
const SIOCSARP: c_ulong = 0x8955;

const IFF_UP: u16 = 1;
const IFF_PROMISC: u16 = 0x100;
const ARPHRD_ETHER: u16 = 1;
/// ATF_COM | ATF_PERM: complete, and it stays.
const ATF: u32 = 0x02 | 0x04;
const POLL_MS: u64 = 5;

/// An interface by its name.
pub struct Iface {
    name: String,
    socket: OwnedFd,
}

impl Iface {
    pub fn new(name: &str) -> io::Result<Self> {
        if name.is_empty() || name.len() > 15 {
            return Err(io::Error::other(format!("'{name}' is no name of an interface")));
        }
        let socket = sys::socket(sys::AF_INET, sys::SOCK_DGRAM, 0)?;
        Ok(Self { name: name.into(), socket })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// The name in 16 bytes, the first half of a `struct ifreq`.
    pub fn name_bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..self.name.len()].copy_from_slice(self.name.as_bytes());
        bytes
    }

    fn request(&self, request: c_ulong, value: &[u8]) -> io::Result<[u8; sys::IFREQ]> {
        let mut ifreq = [0; sys::IFREQ];
        ifreq[..16].copy_from_slice(&self.name_bytes());
        ifreq[16..16 + value.len()].copy_from_slice(value);
        sys::ioctl(self.socket.as_fd(), request, &mut ifreq)?;
        Ok(ifreq)
    }

    pub fn index(&self) -> io::Result<i32> {
        let ifreq = self.request(SIOCGIFINDEX, &[])?;
        Ok(i32::from_ne_bytes([ifreq[16], ifreq[17], ifreq[18], ifreq[19]]))
    }

    pub fn set_up(&self, up: bool) -> io::Result<()> {
        self.set_flag(IFF_UP, up)
    }

    pub fn set_promisc(&self, on: bool) -> io::Result<()> {
        self.set_flag(IFF_PROMISC, on)
    }

    fn set_flag(&self, flag: u16, on: bool) -> io::Result<()> {
        let ifreq = self.request(SIOCGIFFLAGS, &[])?;
        let flags = u16::from_ne_bytes([ifreq[16], ifreq[17]]);
        let flags = if on { flags | flag } else { flags & !flag };
        self.request(SIOCSIFFLAGS, &flags.to_ne_bytes()).map(drop)
    }

    /// Address and length of its prefix.
    pub fn set_address(&self, address: Ipv4Addr, prefix: u32) -> io::Result<()> {
        let mask = u32::MAX.checked_shl(32 - prefix.min(32)).unwrap_or(0);
        self.request(SIOCSIFADDR, &sockaddr_in(address))?;
        self.request(SIOCSIFNETMASK, &sockaddr_in(mask.into())).map(drop)
    }

    pub fn set_mtu(&self, mtu: u32) -> io::Result<()> {
        self.request(SIOCSIFMTU, &mtu.to_ne_bytes()).map(drop)
    }

    pub fn mac(&self) -> io::Result<[u8; 6]> {
        let ifreq = self.request(SIOCGIFHWADDR, &[])?;
        let mut mac = [0; 6];
        mac.copy_from_slice(&ifreq[18..24]);
        Ok(mac)
    }

    pub fn set_mac(&self, mac: [u8; 6]) -> io::Result<()> {
        self.request(SIOCSIFHWADDR, &sockaddr_mac(mac)).map(drop)
    }

    /// A neighbour that is known without asking.
    pub fn set_neighbour(&self, address: Ipv4Addr, mac: [u8; 6]) -> io::Result<()> {
        // struct arpreq: protocol address, hardware address, flags, netmask, name; 68 bytes.
        let mut arpreq = [0; 68];
        arpreq[..16].copy_from_slice(&sockaddr_in(address));
        arpreq[16..24].copy_from_slice(&sockaddr_mac(mac));
        arpreq[32..36].copy_from_slice(&ATF.to_ne_bytes());
        arpreq[52..68].copy_from_slice(&self.name_bytes());
        sys::ioctl(self.socket.as_fd(), SIOCSARP, &mut arpreq)
    }

    /// Waits for a carrier, or for its loss.
    pub fn wait_carrier(&self, up: bool, timeout_ms: u64) -> io::Result<()> {
        let path = format!("/sys/class/net/{}/carrier", self.name);
        let is_there = || {
            // An interface that is down has no carrier to read.
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            ((text.trim() == "1") == up).then_some(())
        };
        let what = if up { "no carrier" } else { "still a carrier" };
        wait(timeout_ms, is_there).ok_or_else(|| {
            io::Error::other(format!("{what} on {} after {timeout_ms} ms", self.name))
        })
    }
}

/// The name of the interface that the driver made of a PCI device, once it is there.
pub fn of_pci(slot: &str, timeout_ms: u64) -> io::Result<String> {
    let folder = Path::new("/sys/bus/pci/devices").join(slot).join("net");
    let first = || {
        let entry = std::fs::read_dir(&folder).ok()?.next()?.ok()?;
        entry.file_name().into_string().ok()
    };
    wait(timeout_ms, first).ok_or_else(|| {
        io::Error::other(format!("PCI device {slot} has no interface after {timeout_ms} ms"))
    })
}

/// Tries again and again until the time is over.
pub fn wait<T>(timeout_ms: u64, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    for _ in 0..=timeout_ms / POLL_MS {
        if let Some(found) = look() {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(POLL_MS));
    }
    look()
}

/// `struct sockaddr_in` without a port.
pub fn sockaddr_in(address: Ipv4Addr) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..2].copy_from_slice(&(sys::AF_INET as u16).to_ne_bytes());
    bytes[4..8].copy_from_slice(&address.octets());
    bytes
}

/// The part of `struct sockaddr` that a hardware address takes.
fn sockaddr_mac(mac: [u8; 6]) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..2].copy_from_slice(&ARPHRD_ETHER.to_ne_bytes());
    bytes[2..].copy_from_slice(&mac);
    bytes
}
