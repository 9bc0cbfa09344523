//! Packets with bytes go through GRO: merged, held, batched. Without a device; one CPU.

use super::macros::scenario;
use super::nic::{net_with, Nic};
use super::GRAPHS;
use etherparse::PacketBuilder;
use pollproof_bench::explored::ExploredHost;
use pollproof_bench::scenario::Scenario;
use pollproof_events::{emit, sum_of, Event, SkbStep, What};
use pollproof_kapi::Dma;
use pollproof_netcore::{Frag, GroOptions, Keep, Net, NetOptions, SkBuff};
use std::sync::Arc;

/// A packet of a flow.
#[derive(Clone, Copy, Debug)]
pub enum Packet {
    /// So many bytes that follow the flow's last ones.
    Data(u8),
    /// The same with PSH: the end of a run.
    Push(u8),
    /// An acknowledgement without bytes.
    Ack,
    /// So many bytes after a hole.
    Gap(u8),
    /// A datagram of so many bytes.
    Datagram(u8),
    /// The same without a checksum.
    Bare(u8),
    /// A datagram between the same hosts from another port.
    Other(u8),
}

/// What a flow has sent.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    seq: u32,
    id: u16,
}

/// Flows that send packets with bytes; each flow has an address of its own.
#[derive(Debug, Default)]
pub struct Sender {
    flows: [Sent; 4],
}

impl Sender {
    /// The next packet of a flow.
    pub fn packet(&mut self, flow: u8, packet: Packet) -> Vec<u8> {
        let sent = &mut self.flows[usize::from(flow) % 4];
        let ip = [10, 0, 0, flow];
        let headers = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]).ipv4(
            ip,
            [10, 0, 0, 200],
            64,
        );
        let mut bytes = Vec::new();
        let (len, written) = match packet {
            Packet::Datagram(len) | Packet::Bare(len) => {
                (len, headers.udp(7, 9).write(&mut bytes, &payload(len)))
            }
            Packet::Other(len) => (len, headers.udp(8, 9).write(&mut bytes, &payload(len))),
            Packet::Data(len) | Packet::Push(len) | Packet::Gap(len) => {
                if matches!(packet, Packet::Gap(_)) {
                    sent.seq = sent.seq.wrapping_add(1_000);
                }
                let tcp = headers.tcp(7, 9, sent.seq, 512).ack(1);
                let tcp = if matches!(packet, Packet::Push(_)) { tcp.psh() } else { tcp };
                sent.seq = sent.seq.wrapping_add(len.into());
                (len, tcp.write(&mut bytes, &payload(len)))
            }
            Packet::Ack => (0, headers.tcp(7, 9, sent.seq, 512).ack(1).write(&mut bytes, &[])),
        };
        debug_assert!(written.is_ok() && bytes.len() >= usize::from(len));
        set_id(&mut bytes, sent.id);
        sent.id = sent.id.wrapping_add(1);
        if matches!(packet, Packet::Bare(_)) {
            bytes[40..42].fill(0);
        }
        bytes
    }
}

fn payload(len: u8) -> Vec<u8> {
    (0..len).map(|n| n.wrapping_mul(7).wrapping_add(len)).collect()
}

/// Identification, and the header's sum anew; may be fragmented.
fn set_id(bytes: &mut [u8], id: u16) {
    bytes[18..20].copy_from_slice(&id.to_be_bytes());
    bytes[20..22].fill(0);
    bytes[24..26].fill(0);
    let sum: u32 = bytes[14..34].chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    bytes[24..26].copy_from_slice(&sum.to_be_bytes());
}

/// A buffer that a device wrote.
fn written(host: &ExploredHost, bytes: &[u8]) -> u64 {
    let buf = host.alloc_buf().unwrap_or_default();
    host.map_buf(buf);
    host.mem.dma_write(buf, bytes, What::Data);
    host.unmap_buf(buf);
    buf
}

/// A packet of two fragments, the first with so many bytes.
pub fn in_frags(host: &ExploredHost, number: u64, flow: u8, bytes: &[u8], first: usize) -> SkBuff {
    let mut skb = SkBuff::of_frags();
    (skb.number, skb.hash, skb.csum_unnecessary) = (number, flow.into(), true);
    let (one, two) = bytes.split_at(first.min(bytes.len()));
    for part in [one, two].into_iter().filter(|part| !part.is_empty()) {
        let buf = written(host, part);
        skb.add_rx_frag(Frag { buf, page: None, offset: 0, len: part.len() });
    }
    skb
}

/// A packet in a buffer that a device wrote.
pub fn received(host: &ExploredHost, number: u64, flow: u8, bytes: &[u8]) -> SkBuff {
    let buf = written(host, bytes);
    let mut skb = SkBuff::build(Frag { buf, page: None, offset: 0, len: bytes.len() });
    (skb.number, skb.hash, skb.csum_unnecessary) = (number, flow.into(), true);
    skb
}

/// Core with GRO, and its memory.
pub fn core(gro: Option<GroOptions>) -> (Arc<Net>, Arc<ExploredHost>) {
    net_with(NetOptions { gro, keep: Keep::Bytes, ..NetOptions::default() }, 16)
}

/// All packets come, then one poll after the other of `weight` each; in the end nothing is held.
pub fn polls(gro: Option<GroOptions>, weight: i32, packets: &[(u8, Packet)]) -> Arc<Net> {
    polls_of(core(gro), weight, packets, received)
}

/// How a packet comes to be: number, flow, bytes.
pub type Build = fn(&ExploredHost, u64, u8, &[u8]) -> SkBuff;

/// The same with a core of one's own, and packets that are built in another way.
pub fn polls_of(
    (net, host): (Arc<Net>, Arc<ExploredHost>),
    weight: i32,
    packets: &[(u8, Packet)],
    build: Build,
) -> Arc<Net> {
    let (nic, napi) = Nic::build(&net, weight, None);
    nic.enable(&napi);
    let mut sender = Sender::default();
    for (number, &(flow, packet)) in (0..).zip(packets) {
        let bytes = sender.packet(flow, packet);
        emit(Event::WireRx { number, flow: flow.into(), len: bytes.len() as u32 });
        emit(Event::Skb(SkbStep::Sent { number, sum: sum_of(&bytes) }));
        nic.load([build(&host, number, flow, &bytes)]);
    }
    (0..packets.len()).for_each(|_| nic.comes(&napi));
    nic.idle();
    nic.rest(&napi, false);
    emit(Event::RestGro { napi: napi.slot, held: net.gro_held(&napi), wakeup: false });
    net
}

const TCP: Option<GroOptions> = Some(GroOptions::new(false, 8));
const BOTH: Option<GroOptions> = Some(GroOptions::new(true, 8));

/// An acknowledgement waits for a full batch while the data behind it is merged and ended.
fn mixed() {
    use Packet::{Ack, Data, Push};
    polls(TCP, 8, &[(1, Ack), (1, Data(4)), (1, Push(4)), (2, Data(4)), (1, Data(4))]);
}

/// Packets that grow and shrink: only what fits is merged.
fn sizes() {
    use Packet::{Data, Gap, Push};
    let sizes = [(1, Data(4)), (1, Data(6)), (1, Data(6)), (1, Data(2)), (1, Data(4))];
    polls(TCP, 8, &[&sizes[..], &[(1, Gap(4)), (1, Data(4)), (1, Push(3))]].concat());
}

/// Several runs of merged packets fill a batch.
fn runs() {
    use Packet::{Data, Push};
    let run = |flow| [(flow, Data(4)), (flow, Data(4)), (flow, Push(4))];
    polls(TCP, 16, &[run(1), run(2), run(3), run(1)].concat());
}

/// A datagram that cannot be merged follows one that is held.
fn datagrams() {
    use Packet::{Bare, Datagram};
    polls(BOTH, 8, &[(1, Datagram(4)), (1, Datagram(4)), (1, Bare(4)), (1, Datagram(4))]);
}

/// Packets come in polls that are used up.
fn split() {
    use Packet::{Data, Push};
    let all = [(1, Data(4)), (2, Data(4)), (1, Data(4)), (2, Push(4)), (1, Push(4)), (1, Data(4))];
    polls(TCP, 2, &all);
}

const MERGED: &[(&str, &str)] = &[("GRO-ROUND-TRIP", "merged"), ("FLOW-ORDER", "second-of-a-flow")];

scenario!(
    GRO_MIXED,
    "gro/mixed",
    GRAPHS,
    1,
    mixed,
    MERGED,
    "Data is merged behind an acknowledgement."
);
scenario!(GRO_SIZES, "gro/sizes", GRAPHS, 1, sizes, MERGED, "Packets of one flow grow and shrink.");
scenario!(
    GRO_RUNS,
    "gro/runs",
    GRAPHS,
    1,
    runs,
    &[("GRO-ROUND-TRIP", "merged"), ("GRO-BATCH", "up")],
    "Several runs of merged packets fill a batch."
);
scenario!(
    GRO_DATAGRAMS,
    "gro/datagrams",
    GRAPHS,
    1,
    datagrams,
    MERGED,
    "A datagram without a checksum follows some that are held."
);
scenario!(
    GRO_SPLIT,
    "gro/split",
    GRAPHS,
    1,
    split,
    MERGED,
    "Two flows come in polls that are used up."
);

/// All of them.
pub const ALL: &[&Scenario] = &[&GRO_MIXED, &GRO_SIZES, &GRO_RUNS, &GRO_DATAGRAMS, &GRO_SPLIT];
