//! A queue of fq in front of the transmit ring of ixgbe on an 82599: what its timers and its slack
//! mean for the doorbells that the device sees.
//!
//! The scheduler's clock and the house's are kept together: before packets leave, the house runs
//! until then. What sending costs the CPU moves no departure.

use crate::load::{Load, Queue, Sent};
use pollproof_bench::timed::{Ixgbe, IxgbeHouse, IxgbeTimedOptions, TimedError};
use pollproof_events::{with_visitor, Event, Record, Visitor};
use pollproof_ixgbe::{TxFrag, TxPacket, TxRefused};
use pollproof_kapi::Dma;
use pollproof_rules::Judge;
use pollproof_sched::Packet;
use pollproof_sim::Streams;
use std::cell::RefCell;
use std::rc::Rc;

/// Queue whose share of the load is sent.
const QUEUE: u64 = 0;
/// Behind the last packet: long enough for the device to send and report it.
const AFTER_NS: u64 = 1_000_000;

/// What a load did to a NIC.
#[derive(Clone, Debug, Default)]
pub struct OnNic {
    /// What left the scheduler, and the rules that were broken there or in the NIC.
    pub sent: Sent,
    /// Writes of the transmit tail that the driver made.
    pub doorbells: u64,
    /// Frames that the device sent.
    pub frames: u64,
    /// Packets that found no room in the ring: dropped here.
    pub busy: u64,
}

/// All rules, and a count of the writes of one tail.
struct Watch {
    judge: Judge,
    tail: Option<u64>,
    doorbells: u64,
}

impl Visitor for Watch {
    fn visit(&mut self, record: &Record) {
        if let Event::MmioWrite { bar: 0, offset, .. } = record.event {
            self.doorbells += u64::from(Some(offset) == self.tail);
        }
        self.judge.visit(record);
    }
}

/// Sends the share of one queue through ixgbe and an 82599.
pub fn send_through_82599(load: &Load) -> Result<OnNic, TimedError> {
    let watch = Watch { judge: Judge::new(), tail: None, doorbells: 0 };
    let watch = Rc::new(RefCell::new(watch));
    let mut on_nic = with_visitor(watch.clone(), || send(load, &watch))?;
    let watch = watch.borrow();
    on_nic.doorbells = watch.doorbells;
    on_nic.sent.findings = watch.judge.findings().to_vec();
    Ok(on_nic)
}

fn send(load: &Load, watch: &RefCell<Watch>) -> Result<OnNic, TimedError> {
    let mut house = IxgbeHouse::open(&IxgbeTimedOptions::default())?;
    let tail = house.adapter().tx_rings().find(|r| u64::from(r.index) == QUEUE).map(|r| r.tail());
    watch.borrow_mut().tail = tail;
    let mut on_nic = OnNic::default();
    on_nic.sent.time_ns = load.time_ns;
    let (mut now_ns, mut busy, mut failed) = (0, 0, None);
    let queue = Queue::new(load, QUEUE, &Streams::new(load.seed));
    queue.run(&mut on_nic.sent, &mut |at_ns, packets| {
        if packets.is_empty() || failed.is_some() {
            return;
        }
        let passed = house.run_for((at_ns - now_ns) * 1_000);
        now_ns = at_ns;
        let sent = passed.and_then(|()| {
            let dma = house.net().below().dma.clone();
            house.control(|nic| xmit(nic, &*dma, packets))
        });
        match sent {
            Ok(refused) => busy += refused,
            Err(error) => failed = Some(error),
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    house.run_for(AFTER_NS * 1_000)?;
    house.finish()?;
    on_nic.busy = busy;
    on_nic.frames = house.with_device(|device| device.stats().tx_packets).unwrap_or(0);
    Ok(on_nic)
}

/// Hands packets to the driver; gives how many it did not take.
fn xmit(nic: &Ixgbe, dma: &dyn Dma, packets: &[(Packet, bool)]) -> u64 {
    let mut refused = 0;
    for (packet, more) in packets {
        let Ok(buf) = dma.alloc_buf() else {
            refused += 1;
            continue;
        };
        let frags = vec![TxFrag { buf, len: packet.len as usize }];
        let packet = TxPacket { frags, checksum: None, vlan: None, more: *more };
        let taken = nic.adapter().xmit_frame(QUEUE as u32, packet);
        if let Err(TxRefused::Busy(p) | TxRefused::Down(p) | TxRefused::Malformed(p)) = taken {
            p.frags.iter().for_each(|frag| dma.free_buf(frag.buf));
            refused += 1;
        }
    }
    refused
}
