//! `fq_dump_stats`, and a walk over everything that counts again.

use super::flow::Link;
use super::Fq;
use crate::netlink::FQ_BANDS;
use pollproof_events::{emit, Event, QdiscCounts, Sched, NEVER, NO_FLOW_WAITS};
use pollproof_sync::bug;

/// What was counted since the discipline was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Totals {
    pub gc_flows: u64,
    pub fastpath_packets: u64,
    pub throttled: u64,
    pub flows_plimit: u64,
    pub pkts_too_long: u64,
    pub ce_mark: u64,
    pub horizon_drops: u64,
    pub horizon_caps: u64,
    pub band_drops: [u64; FQ_BANDS],
}

/// `struct tc_fq_qd_stats`, but for what 6.12 always leaves 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Counters.
    pub totals: Totals,
    /// Nanoseconds until the first flow that waits must leave, negative when it should have left;
    /// [`NO_FLOW_WAITS`] if none does.
    pub time_next_delayed_flow_ns: i64,
    /// Flows.
    pub flows: u64,
    /// Flows without packets.
    pub inactive_flows: u64,
    /// Flows that wait.
    pub throttled_flows: u64,
    /// How late flows go on after they waited, on average.
    pub unthrottle_latency_ns: u32,
    /// Packets of each band.
    pub band_pkt_count: [u32; FQ_BANDS],
}

impl Fq {
    /// `fq_dump_stats`.
    pub fn stats(&self) -> Stats {
        let now_ns = self.clock.now_ns();
        let told_ns = self.until_next_delayed(now_ns);
        emit(Event::Sched(Sched::NextDelayed { qdisc: self.id(), now_ns, told_ns }));
        Stats {
            totals: self.totals,
            time_next_delayed_flow_ns: told_ns,
            flows: self.flows,
            inactive_flows: self.inactive_flows,
            throttled_flows: self.throttled_flows,
            unthrottle_latency_ns: self.unthrottle_latency_ns.try_into().unwrap_or(u32::MAX),
            band_pkt_count: self.bands.each_ref().map(|band| band.packets),
        }
    }

    fn until_next_delayed(&self, now_ns: u64) -> i64 {
        if self.time_next_delayed_ns == NEVER && !bug("H-5") {
            return NO_FLOW_WAITS;
        }
        let slack_ns = u64::from(self.config.timer_slack_ns);
        self.time_next_delayed_ns.wrapping_add(slack_ns).wrapping_sub(now_ns) as i64
    }

    /// The counters that are kept along.
    pub fn counts(&self) -> QdiscCounts {
        QdiscCounts {
            qlen: self.qlen,
            backlog: self.backlog,
            flows: self.flows,
            inactive: self.inactive_flows,
            throttled: self.throttled_flows,
            bands: self.bands.each_ref().map(|band| band.packets.into()),
            next_ns: self.time_next_delayed_ns,
        }
    }

    /// The same, counted by a walk over all flows.
    pub fn walk(&self) -> QdiscCounts {
        let mut counts = QdiscCounts { next_ns: NEVER, ..QdiscCounts::default() };
        let ids = self.roots.iter().flat_map(|root| root.values());
        let flows = ids.map(|id| &self.arena[*id as usize]);
        for (flow, is_fast) in flows.map(|f| (f, false)).chain([(&self.internal, true)]) {
            for queued in flow.packets() {
                counts.qlen += 1;
                counts.backlog += u64::from(queued.packet.len);
                counts.bands[usize::from(queued.band)] += u64::from(!is_fast);
            }
            if !is_fast {
                counts.flows += 1;
                counts.inactive += u64::from(flow.packets().next().is_none());
            }
            if let Link::Throttled { until_ns, .. } = flow.link {
                counts.throttled += 1;
                counts.next_ns = counts.next_ns.min(until_ns);
            }
        }
        counts
    }

    /// What is wrong with lists and trees; none if nothing is. For tests: it looks at everything.
    pub fn disorder(&self) -> Option<String> {
        let listed = |band: &super::Band| band.new_flows.len() + band.old_flows.len();
        let on_lists: usize = self.bands.iter().map(listed).sum();
        let mut should_be = 0;
        for (index, root) in self.roots.iter().enumerate() {
            for (key, id) in root {
                let flow = &self.arena[*id as usize];
                let in_tree = |until_ns, order| self.delayed.contains(&(until_ns, order, *id));
                let wrong = match flow.link {
                    _ if flow.key != *key || self.root_of(*key) != index => "in a wrong tree",
                    _ if flow.packets().count() != flow.qlen as usize => "wrong in its length",
                    Link::Detached { .. } if flow.qlen > 0 => "detached with packets",
                    Link::Throttled { until_ns, order } if !in_tree(until_ns, order) => {
                        "not delayed"
                    }
                    Link::Throttled { until_ns, .. } if flow.due_ns() != Some(until_ns) => {
                        "delayed by another time than its packet's"
                    }
                    Link::Listed => {
                        should_be += 1;
                        continue;
                    }
                    _ => continue,
                };
                return Some(format!("flow {key:#x} is {wrong}"));
            }
        }
        let throttled = self.throttled_flows as usize;
        if should_be != on_lists || throttled != self.delayed.len() {
            return Some(format!(
                "{should_be} flows are listed and {on_lists} on lists, {throttled} throttled and \
                 {} in the tree",
                self.delayed.len()
            ));
        }
        None
    }

    /// Tells rules how the counters stand.
    pub fn tell_counts(&self) {
        let (qdisc, kept, walked) = (self.id(), self.counts(), self.walk());
        emit(Event::Sched(Sched::Counts { qdisc, kept, walked }));
    }
}
