//! The receive pipeline: port FIFO, ring, data, completion.
//!
//! One frame after the other, in order of arrival: a frame that waits for its WQE or for room in
//! its CQ holds back those behind it, also of other rings (assumed).

use crate::cq::{Completion, Room};
use crate::parse::classify;
use crate::rq::{Segment, Supply};
use crate::ConnectX3;
use pollproof_events::{emit, Event, What};
use pollproof_pcie::Payload;
use pollproof_regs::mlx4::cqe;
use pollproof_wire::Frame;

/// A frame in the port.
pub(crate) struct Arrived {
    frame: Frame,
    /// Running number of frames that the port accepted.
    arrival: u64,
    ready_ps: u64,
    status: u32,
    hash: u32,
    checksum: u16,
    hashed: bool,
}

impl Arrived {
    pub(crate) fn ready_ps(&self) -> u64 {
        self.ready_ps
    }
}

enum Verdict {
    Complete { rqn: u32, cqn: u32 },
    Drop(Drop),
    Wait,
}

#[derive(Clone, Copy)]
enum Drop {
    FifoOverflow,
    Runt,
    Jabber,
    NoRing,
    OutOfBuffer,
    CqOverrun,
    CqError,
}

impl ConnectX3 {
    /// A frame arrives from the wire.
    pub fn rx_frame(&mut self, frame: Frame) {
        let len = frame.bytes.len();
        self.stats.port_frames += 1;
        emit(Event::WireRx { number: frame.number, flow: frame.flow, len: len as u32 });
        let full = self.fifo.len() >= self.params.fifo_frames
            || self.fifo_bytes + len > self.params.fifo_bytes;
        if len < 14 {
            return self.drop_frame(frame.number, Drop::Runt);
        } else if len > self.params.max_frame as usize {
            return self.drop_frame(frame.number, Drop::Jabber);
        } else if full {
            return self.drop_frame(frame.number, Drop::FifoOverflow);
        }
        let class = classify(&frame.bytes);
        let input = class.input();
        let hash = match &self.rss {
            Some(rss) if !input.is_empty() => rss.toeplitz.hash(input),
            _ => 0,
        };
        self.fifo_bytes += len;
        self.fifo.push_back(Arrived {
            arrival: self.arrivals,
            ready_ps: self.now_ps.saturating_add(self.params.rx_latency_ps),
            status: class.status,
            hash,
            checksum: if class.l4_ok { 0xffff } else { 0 },
            hashed: !input.is_empty(),
            frame,
        });
        self.arrivals += 1;
        self.pump();
    }

    /// Moves frames on until one has to wait.
    pub(crate) fn pump(&mut self) {
        self.blocked = false;
        while let Some(head) = self.fifo.front() {
            if self.out.len() >= self.params.out_limit {
                self.blocked = true;
                return;
            }
            if head.ready_ps > self.now_ps {
                return;
            }
            let (arrival, hash, hashed) = (head.arrival, head.hash, head.hashed);
            let verdict = self.judge(arrival, hash, hashed);
            if matches!(verdict, Verdict::Wait) {
                return;
            }
            let Some(head) = self.fifo.pop_front() else { return };
            self.fifo_bytes -= head.frame.bytes.len();
            match verdict {
                Verdict::Complete { rqn, cqn } => self.complete(rqn, cqn, &head),
                Verdict::Drop(why) => self.drop_frame(head.frame.number, why),
                Verdict::Wait => {}
            }
        }
    }

    fn judge(&mut self, arrival: u64, hash: u32, hashed: bool) -> Verdict {
        // A frame that is not hashed goes to the default queue, which mlx4_en makes the first.
        let rqn = match &self.rss {
            Some(rss) if hashed => Some(rss.ring(hash)),
            Some(rss) => Some(rss.context.base_rqn),
            None => self.default_rqn,
        };
        let Some((rqn, cqn)) = rqn.and_then(|rqn| Some((rqn, self.rq(rqn)?.context.cqn))) else {
            return Verdict::Drop(Drop::NoRing);
        };
        match self.rq_supply(rqn, arrival) {
            Supply::Ready => {}
            Supply::Wait => return Verdict::Wait,
            Supply::Empty => return Verdict::Drop(Drop::OutOfBuffer),
        }
        match self.cq_room(cqn, arrival) {
            Room::Yes => Verdict::Complete { rqn, cqn },
            Room::Wait => Verdict::Wait,
            Room::Stopped => Verdict::Drop(Drop::CqError),
            Room::Overrun => {
                self.cq_overrun(cqn);
                Verdict::Drop(Drop::CqOverrun)
            }
        }
    }

    /// Writes the data of a frame, then its completion.
    fn complete(&mut self, rqn: u32, cqn: u32, head: &Arrived) {
        let Some(rq) = self.rqs.get(rqn as usize).and_then(Option::as_ref) else { return };
        let len = head.frame.bytes.len();
        let wqe_index = rq.head;
        let room: u64 = rq.head_segments().iter().map(|s| u64::from(s.bytes)).sum();
        let fits = len as u64 <= room;
        if fits {
            let mut at = 0;
            for &Segment { addr, bytes } in rq.head_segments() {
                let end = len.min(at + bytes as usize);
                if end > at {
                    let payload = Payload::slice(head.frame.bytes.clone(), at, end);
                    self.out.write(addr, payload, What::Data);
                    at = end;
                }
            }
            self.stats.rx_packets += 1;
            self.stats.rx_bytes += len as u64;
        } else {
            self.stats.rx_length_errors += 1;
        }
        let syndrome = cqe::SYNDROME_LOCAL_LENGTH as u16;
        let completion = Completion {
            number: head.frame.number,
            qpn: rqn,
            hash: head.hash,
            status: if fits { head.status } else { 0 },
            byte_count: len as u32,
            wqe_index,
            checksum: if fits { head.checksum } else { syndrome },
            opcode: if fits { cqe::OPCODE_RECV } else { cqe::OPCODE_ERROR },
        };
        self.push_cqe(cqn, &completion);
        self.rq_advance(rqn);
    }

    fn drop_frame(&mut self, number: u64, why: Drop) {
        let stats = &mut self.stats;
        let (counter, why) = match why {
            Drop::FifoOverflow => (&mut stats.rx_fifo_overflow, "rx_fifo_overflow"),
            Drop::Runt => (&mut stats.rx_runt, "rx_runt"),
            Drop::Jabber => (&mut stats.rx_jabber, "rx_jabber"),
            Drop::NoRing => (&mut stats.rx_no_ring, "rx_no_ring"),
            Drop::OutOfBuffer => (&mut stats.rx_out_of_buffer, "rx_out_of_buffer"),
            Drop::CqOverrun => (&mut stats.rx_cq_overrun, "rx_cq_overrun"),
            Drop::CqError => (&mut stats.rx_cq_error, "rx_cq_error"),
        };
        *counter += 1;
        emit(Event::WireDrop { number, why });
    }
}
