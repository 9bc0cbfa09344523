//! Many interleaved flows as packets: what `testdata/many_flows.pcap` was made by, and what the
//! modes of GRO are measured with.
//!
//! TCP over IPv4 and IPv6, with and without a VLAN tag and timestamps, in trains that are cut into
//! each other; acknowledgements, holes, retransmissions, short ends, bad sums, flags; and datagrams
//! with and without a checksum, some in fragments.

use etherparse::{PacketBuilder, PacketBuilderStep, TcpOptionElement, VlanId};
use pollproof_sim::{Stream, Streams};
use pollproof_wire::Packet;

/// Segment sizes that flows have.
const SIZES: [u64; 5] = [120, 200, 256, 333, 448];
/// Between two packets, nanoseconds.
const GAP_NS: u64 = 2_000;
/// Before the first, nanoseconds since 1970.
const BEGAN_NS: u64 = 1_700_000_000_000_000_000;

/// What a flow is and has sent.
struct Flow {
    number: u16,
    is_v6: bool,
    vlan: Option<u16>,
    /// It stamps its packets.
    stamps: bool,
    /// All its packets have one identification.
    fixed_id: bool,
    is_udp: bool,
    size: usize,
    seq: u32,
    id: u16,
}

/// What is odd about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Push,
    Ack,
    Short,
    Hole,
    Again,
    BadSum,
    Fin,
}

impl Flow {
    fn new(number: u16, draw: &mut Stream) -> Self {
        Self {
            number,
            is_v6: number % 3 == 2,
            vlan: (number % 4 == 3).then_some(100 + number % 2),
            stamps: draw.chance(1, 2),
            fixed_id: draw.chance(1, 4),
            is_udp: number % 8 == 6,
            size: SIZES[draw.below(SIZES.len() as u64) as usize] as usize,
            seq: draw.next_u64() as u32,
            id: draw.next_u64() as u16,
        }
    }

    fn network(&self) -> PacketBuilderStep<etherparse::IpHeaders> {
        let link = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let number = self.number.to_be_bytes();
        if self.is_v6 {
            let addr = |host| {
                let mut addr = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host];
                addr[12..14].copy_from_slice(&number);
                addr
            };
            let (src, dst) = (addr(1), addr(2));
            return match self.vlan.and_then(|v| VlanId::try_new(v).ok()) {
                Some(vlan) => link.single_vlan(vlan).ipv6(src, dst, 64),
                None => link.ipv6(src, dst, 64),
            };
        }
        let (src, dst) = ([10, 1, number[0], number[1]], [10, 2, 0, (self.number % 3) as u8]);
        match self.vlan.and_then(|v| VlanId::try_new(v).ok()) {
            Some(vlan) => link.single_vlan(vlan).ipv4(src, dst, 64),
            None => link.ipv4(src, dst, 64),
        }
    }

    /// The next packet.
    fn packet(&mut self, kind: Kind) -> Vec<u8> {
        let full = self.size;
        let len = match kind {
            Kind::Ack => 0,
            Kind::Short => full / 3,
            _ => full,
        };
        let payload: Vec<u8> = (0..len).map(|n| (n as u8) ^ self.seq as u8).collect();
        let mut bytes = Vec::with_capacity(len + 100);
        let port = 4_000 + self.number;
        if self.is_udp {
            // Writing to a vector can not fail.
            let _ = self.network().udp(port, 53).write(&mut bytes, &payload);
        } else {
            match kind {
                Kind::Hole => self.seq = self.seq.wrapping_add(full as u32),
                Kind::Again => self.seq = self.seq.wrapping_sub(full as u32),
                _ => {}
            }
            let tcp = self.network().tcp(port, 80, self.seq, 1024).ack(7);
            let tcp = match kind {
                Kind::Push | Kind::Short => tcp.psh(),
                Kind::Fin => tcp.fin().psh(),
                _ => tcp,
            };
            let stamp = [TcpOptionElement::Noop, TcpOptionElement::Noop];
            let stamp = [&stamp[..], &[TcpOptionElement::Timestamp(77, 99)]].concat();
            let options = if self.stamps { &stamp[..] } else { &[] };
            if let Ok(tcp) = tcp.options(options) {
                let _ = tcp.write(&mut bytes, &payload);
            }
            self.seq = self.seq.wrapping_add(len as u32);
        }
        self.finish(&mut bytes, kind);
        bytes
    }

    /// Identification, and what is wrong with it.
    fn finish(&mut self, bytes: &mut Vec<u8>, kind: Kind) {
        let net = if self.vlan.is_some() { 18 } else { 14 };
        if !self.is_v6 {
            bytes[net + 4..net + 6].copy_from_slice(&self.id.to_be_bytes());
            self.id = self.id.wrapping_add(u16::from(!self.fixed_id));
            set_ip_sum(&mut bytes[net..net + 20]);
        }
        let l4 = net + if self.is_v6 { 40 } else { 20 };
        if kind == Kind::BadSum {
            if self.is_udp && !self.is_v6 {
                // None at all, which is no fault of a datagram.
                bytes[l4 + 6..l4 + 8].fill(0);
            } else if let Some(last) = bytes.last_mut() {
                *last ^= 0x40;
            }
        }
        // A wire pads what is too short.
        bytes.resize(bytes.len().max(60), 0);
    }
}

/// Counts the sum of an IPv4 header anew.
fn set_ip_sum(header: &mut [u8]) {
    header[10..12].fill(0);
    let sum: u32 = header.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

fn kind(draw: &mut Stream, left: u64) -> Kind {
    match draw.below(40) {
        0 => Kind::Hole,
        1 => Kind::Again,
        2 => Kind::BadSum,
        3 => Kind::Ack,
        4 => Kind::Fin,
        5 => Kind::Short,
        _ if left == 0 => Kind::Push,
        _ => Kind::Plain,
    }
}

/// `count` packets of `flows` flows, trains of up to six cut into each other.
pub fn many_flows(flows: u16, count: usize, seed: u64) -> Vec<Packet> {
    let mut draw = Streams::new(seed).stream("flows");
    let mut all: Vec<Flow> = (0..flows.max(1)).map(|n| Flow::new(n, &mut draw)).collect();
    let mut trains: Vec<(usize, u64)> = Vec::new();
    let mut packets = Vec::with_capacity(count);
    while packets.len() < count {
        while trains.len() < 4 {
            trains.push((draw.below(all.len() as u64) as usize, draw.below(6)));
        }
        let at = draw.below(trains.len() as u64) as usize;
        let (flow, left) = trains[at];
        let kind = kind(&mut draw, left);
        let bytes = all[flow].packet(kind).into();
        let time_ns = BEGAN_NS + GAP_NS * packets.len() as u64;
        packets.push(Packet { time_ns, bytes });
        if left == 0 {
            trains.swap_remove(at);
        } else {
            trains[at].1 -= 1;
        }
    }
    packets
}

/// What the committed capture holds.
pub fn committed() -> Vec<Packet> {
    many_flows(32, 720, 6)
}

/// One TCP train a flow, `flows` of them in turns, `count` full segments of `payload` bytes in all.
pub fn in_turns(flows: u16, count: usize, payload: usize) -> Vec<Packet> {
    let mut all: Vec<Flow> = (0..flows.max(1)).map(|n| plain(n, payload)).collect();
    let packet = |n: usize| {
        let at = n % all.len();
        Packet { time_ns: GAP_NS * n as u64, bytes: all[at].packet(Kind::Plain).into() }
    };
    (0..count).map(packet).collect()
}

/// A TCP flow, packet by packet.
pub struct Maker(Flow);

impl Maker {
    /// A flow of its own for each number, with segments of so many bytes.
    pub fn new(number: u16, size: usize) -> Self {
        Self(plain(number, size))
    }

    /// A segment that follows the one before.
    pub fn data(&mut self) -> Vec<u8> {
        self.0.packet(Kind::Plain)
    }

    /// The same with PSH.
    pub fn push(&mut self) -> Vec<u8> {
        self.0.packet(Kind::Push)
    }

    /// An acknowledgement without data.
    pub fn ack(&mut self) -> Vec<u8> {
        self.0.packet(Kind::Ack)
    }
}

/// TCP over IPv4 with nothing odd about it.
fn plain(number: u16, size: usize) -> Flow {
    Flow {
        number,
        is_v6: false,
        vlan: None,
        stamps: false,
        fixed_id: false,
        is_udp: false,
        size,
        seq: 1,
        id: 1,
    }
}
