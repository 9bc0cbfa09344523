//! `fq_dequeue`: the fast path's queue, then flows in turn, band by band; pacing.

use super::flow::{FlowId, Link, Queued};
use super::Fq;
use crate::netlink::FQ_BANDS;
use crate::packet::{Packet, NO_RATE};
use pollproof_events::{emit, Event, Sched, NEVER};
use pollproof_sync::bug;

const NSEC_PER_SEC: u64 = 1_000_000_000;

/// The two lists of a band.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    New,
    Old,
}

impl Fq {
    /// `fq_dequeue`: the next packet that may leave now. If all wait for their time, the watchdog
    /// is set to the first.
    pub fn dequeue(&mut self) -> Option<Packet> {
        if self.qlen == 0 {
            return None;
        }
        let now_ns = self.clock.now_ns();
        let queued = match self.internal.pop() {
            Some(queued) => Some(queued),
            None => self.next_of_flows(now_ns),
        };
        let qdisc = self.id();
        let Some(Queued { packet, .. }) = queued else {
            emit(Event::Sched(Sched::Nothing { qdisc, now_ns }));
            return None;
        };
        self.qlen -= 1;
        self.backlog -= u64::from(packet.len);
        emit(Event::Sched(Sched::Dequeue { qdisc, packet: packet.id, now_ns }));
        Some(packet)
    }

    fn next_of_flows(&mut self, now_ns: u64) -> Option<Queued> {
        self.check_throttled(now_ns);
        let most = self.rounds_max();
        let (mut rounds, mut empty) = (0, 0);
        loop {
            rounds += 1;
            if rounds > most {
                emit(Event::Sched(Sched::Stuck { qdisc: self.id(), rounds }));
                return None;
            }
            match self.list_of_band() {
                Some((list, id)) => {
                    empty = 0;
                    if let Some(queued) = self.serve(list, id, now_ns) {
                        return Some(queued);
                    }
                }
                None if self.next_band(&mut empty) => {}
                None => break,
            }
        }
        if self.time_next_delayed_ns != NEVER {
            let slack_ns = self.config.timer_slack_ns.into();
            self.watchdog.schedule_range_ns(self.time_next_delayed_ns, slack_ns);
        }
        None
    }

    /// `fq_check_throttled`: flows whose time has come go on.
    fn check_throttled(&mut self, now_ns: u64) {
        let late_ns = match now_ns.checked_sub(self.time_next_delayed_ns) {
            Some(late_ns) => late_ns,
            None => return,
        };
        if late_ns > 0 {
            let average = self.unthrottle_latency_ns;
            self.unthrottle_latency_ns = average - (average >> 3) + (late_ns >> 3);
        }
        while let Some((until_ns, _, id)) = self.delayed.first().copied() {
            if until_ns > now_ns {
                break;
            }
            self.unset_throttled(id);
        }
        self.find_next_delayed();
    }

    /// The flow whose turn it is in the band that is served.
    fn list_of_band(&self) -> Option<(List, FlowId)> {
        let band = &self.bands[self.band_nr];
        if band.credit <= 0 {
            return None;
        }
        let first_new = band.new_flows.front().map(|id| (List::New, *id));
        first_new.or_else(|| band.old_flows.front().map(|id| (List::Old, *id)))
    }

    /// Goes on to the next band that may send; none when all were found without flows.
    fn next_band(&mut self, empty: &mut usize) -> bool {
        let bands = if bug("H-11") { FQ_BANDS - 1 } else { FQ_BANDS };
        loop {
            *empty += 1;
            if *empty > bands {
                return false;
            }
            self.band_nr = (self.band_nr + 1) % FQ_BANDS;
            let quantum = self.config.weights[self.band_nr] as i32;
            let band = &mut self.bands[self.band_nr];
            band.credit = band.credit.saturating_add(quantum).min(quantum);
            if band.credit > 0 {
                return true;
            }
            // It has flows and no credit yet, so that it is not one without.
            if !bug("H-12") {
                *empty = 0;
            }
        }
    }

    fn take_off(&mut self, list: List) {
        let band = &mut self.bands[self.band_nr];
        match list {
            List::New => band.new_flows.pop_front(),
            List::Old => band.old_flows.pop_front(),
        };
    }

    /// The turn of a flow: a packet of it, or it goes elsewhere.
    fn serve(&mut self, list: List, id: FlowId, now_ns: u64) -> Option<Queued> {
        let quantum = self.config.quantum as i32;
        let flow = self.flow(id);
        if flow.credit <= 0 {
            flow.credit = flow.credit.saturating_add(quantum);
            self.take_off(list);
            self.add_old(id);
            return None;
        }
        let Some(due_ns) = flow.due_ns() else {
            self.take_off(list);
            match list {
                // Once through the old flows, so that it starves nobody.
                List::New => self.add_old(id),
                List::Old => self.flow(id).link = Link::Detached { since_ns: now_ns },
            }
            return None;
        };
        if now_ns < due_ns {
            self.take_off(list);
            self.set_throttled(id, due_ns);
            return None;
        }
        let queued = flow.pop()?;
        self.inactive_flows += u64::from(self.flow(id).qlen == 0);
        self.bands[usize::from(queued.band)].packets -= 1;
        if now_ns - due_ns > self.config.ce_threshold_ns {
            self.totals.ce_mark += 1;
        }
        self.charge(id, &queued.packet, now_ns);
        Some(queued)
    }

    /// The rate at which the flow of a packet may send.
    pub(super) fn rate_of(&self, packet: &Packet) -> u64 {
        let of_socket = packet.sk.filter(|_| packet.tstamp_ns == 0);
        of_socket.map_or(NO_RATE, |sk| sk.pacing_rate).min(self.config.flow_max_rate)
    }

    /// What a packet that leaves costs its flow and its band, and when the next one may leave.
    fn charge(&mut self, id: FlowId, packet: &Packet, now_ns: u64) {
        let rate = self.rate_of(packet);
        let (quantum, low_rate) = (self.config.quantum, self.config.low_rate_threshold);
        let rate_enable = self.config.rate_enable;
        let band = &mut self.bands[self.band_nr];
        band.credit = band.credit.saturating_sub(packet.len as i32);
        let flow = &mut self.arena[id as usize];
        flow.credit = flow.credit.saturating_sub(packet.len as i32);
        if !rate_enable {
            return;
        }
        let mut len = packet.len;
        // A packet with a time of its own is only held to the rate of the discipline.
        if packet.tstamp_ns == 0 {
            if rate <= u64::from(low_rate) {
                flow.credit = 0;
            } else {
                len = len.max(quantum);
                if flow.credit > 0 {
                    return;
                }
            }
        }
        if rate == NO_RATE {
            return;
        }
        let mut gap_ns = (u64::from(len) * NSEC_PER_SEC).checked_div(rate).unwrap_or(NEVER);
        if gap_ns > NSEC_PER_SEC {
            gap_ns = NSEC_PER_SEC;
            self.totals.pkts_too_long += 1;
        }
        // It may have left late, by the timer or others' turns: that is given back, up to half.
        if flow.time_next_packet_ns != 0 && !bug("H-19") {
            gap_ns -= (gap_ns / 2).min(now_ns.saturating_sub(flow.time_next_packet_ns));
        }
        flow.time_next_packet_ns = now_ns.saturating_add(gap_ns);
    }
}
