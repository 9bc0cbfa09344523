//! What each rule says of itself: the source of docs/RULES.md and of `pollproof explain`.

use crate::catalogue_packets as packets;
use crate::RuleInfo;

const RACE: &str = "enforced by the engine's race detector; a run without an engine can not see it";

/// All rules, those below the events included, by id.
pub const CATALOGUE: &[RuleInfo] = &[
    RuleInfo {
        id: "ARM-DISCIPLINE",
        sentence: "An interrupt or CQ is armed only after a completion that allowed it, once for \
                   each.",
        source: "Linux Documentation/networking/napi.rst: unmask only if napi_complete_done() \
                 returned true",
        blind_spots: "The arm that opens a queue is taken as given. Arms by another thread than \
                      the one that completed are reported even if it was told to.",
        must_reach: &["armed"],
    },
    RuleInfo {
        id: "BENCH-BOUND",
        sentence: "A scenario stays within the sizes it was given.",
        source: "Our own: an explored run has few buffers, timers and register writes",
        blind_spots: "None known.",
        must_reach: &[],
    },
    RuleInfo {
        id: "BOUNDED-WORK",
        sentence: "A poll takes at most its budget of packets, or one from each of its queues; an \
                   entry that tells of several is begun below the budget and taken whole.",
        source:
            "Linux Documentation/networking/napi.rst; ixgbe_poll() and its share of 1 at least; \
                 sfc's ef10.c (6.12), which takes merged events whole",
        blind_spots: "Transmit completions have a limit of their own, which is not looked at.",
        must_reach: &["received"],
    },
    RuleInfo {
        id: "BUFFER-OWNERSHIP",
        sentence:
            "A buffer has one owner (device, driver, stack, free) and only its owner touches \
                   it.",
        source: "Linux Documentation/core-api/dma-api.rst, streaming mappings",
        blind_spots: "Whole buffers, not bytes: two users of one buffer's halves are not told \
                      apart.",
        must_reach: &["given-to-device"],
    },
    RuleInfo {
        id: "CAUSE-LEDGER",
        sentence:
            "When nothing runs any more, no interrupt cause is set and enabled: each has led \
                   to a message and was cleared.",
        source: "82599 datasheet, 7.3.1; its specification update, erratum 1",
        blind_spots: "Judged at rest. A device whose causes are not told (ConnectX-3 has none) is \
                      not looked at.",
        must_reach: &["rest"],
    },
    RuleInfo {
        id: "CONTEXT",
        sentence: "Code sleeps, enables BH and enables interrupts only where its context allows \
                   it; a poll runs with BH off; polls, handlers and threads leave the context as \
                   they found it.",
        source:
            "Linux Documentation/kernel-hacking/locking.rst; might_sleep(), lockdep; i40e: Fix \
                 preempt count leak in napi poll tracepoint",
        blind_spots: "Sleeping: where code calls might_sleep, a sleeping lock, synchronize_rcu, \
                      napi_disable or netif_napi_del. Balance: of polls, ndo_ll_poll, interrupt \
                      handlers, softirqs and threads, not of each function.",
        must_reach: &["polled"],
    },
    RuleInfo {
        id: "DEADLOCK",
        sentence: "No thread waits for something that nobody will do.",
        source: "Common sense; the engine's end of an execution",
        blind_spots: "Threads that wait for work are ended before the rest is judged.",
        must_reach: &[],
    },
    RuleInfo {
        id: "DEVICE-RULES",
        sentence: "The driver uses registers, doorbells and descriptors as the device allows.",
        source: "ConnectX PRM, 82599 datasheet; each report names what was wrong",
        blind_spots: "What a model does not model it reports here too, so that nothing is guessed \
                      in silence.",
        must_reach: &[],
    },
    RuleInfo {
        id: "DISABLE-MEANS-DISABLED",
        sentence: "Nobody new takes a context while it is being disabled; when napi_disable \
                   returns no owner is inside the poll, and from then on, as after a queue's \
                   stop, nobody polls it, consumes from it or posts to it.",
        source: "Linux net/core/dev.c, napi_disable(); 27d9ce4fd0e2",
        blind_spots: "Between threads it sees the order of events of one execution; the race \
                      detector covers the rest.",
        must_reach: &["disabled"],
    },
    RuleInfo {
        id: "ENDLESS-CALL",
        sentence: "A call into the driver ends.",
        source: "Our own; a softirq pass loads some hundred words of host memory",
        blind_spots: "Timed runs give a call a million loads. In explored runs a call without end \
                      cuts the execution, which makes the verdict UNKNOWN.",
        must_reach: &[],
    },
    RuleInfo {
        id: "FLOW-ORDER",
        sentence: "Packets of one flow are delivered in the order in which they came in.",
        source: "RFC 4737; Linux Documentation/networking/scaling.rst",
        blind_spots: "Flows are told apart by a hash of addresses: a collision may hide nothing \
                      but can raise no alarm either, since order then holds for both.",
        must_reach: &["second-of-a-flow"],
    },
    RuleInfo {
        id: "FQ-ORDER",
        sentence: "Of a flow's packets that may leave no later than another, those that came \
                   before it leave before it.",
        source: "Linux net/sched/sch_fq.c; its change of 2024-11-28, no fast path if Tx is behind",
        blind_spots:
            "A flow is what the scheduler says it is. A socket that lifts its limit while \
                      packets wait has two kinds of them, of which the later may go first.",
        must_reach: &["queued"],
    },
    RuleInfo {
        id: "FQ-TREES",
        sentence: "A flow waits for its first packet: until then, and under that key in the tree.",
        source: "Linux net/sched/sch_fq.c; fabcf8cad67b (flow delivery time on earlier EDT packet)",
        blind_spots: "For a flow that the scheduler paces only that it waits no less.",
        must_reach: &["waits"],
    },
    packets::GRO_BATCH,
    packets::GRO_EXCLUSIVE,
    packets::GRO_FLUSH,
    packets::GRO_LATENCY,
    packets::GRO_ROUND_TRIP,
    RuleInfo {
        id: "HANG-SOUND",
        sentence: "A transmit ring is declared hung if something waits in it and neither a \
                   descriptor came back nor a pause frame came between two looks of the watchdog; \
                   and then it is, within a few.",
        source: "Linux c84d324c770d (ixgbe: rework Tx hang detection to fix reoccurring false Tx \
                 hangs)",
        blind_spots: "The time between two looks is the driver's word.",
        must_reach: &["looked"],
    },
    RuleInfo {
        id: "HONEST-WORK",
        sentence: "A poll that completes reports what it consumed, or one less.",
        source: "Linux mlx4 en_rx.c (6.12), comment on the early exit; net_rx_action's budget",
        blind_spots: "Receive completions only.",
        must_reach: &["completed"],
    },
    RuleInfo {
        id: "IRQ-PROGRESS",
        sentence: "A queue does not fire again and again for completions that it has fired for.",
        source: "Linux, spurious interrupt detection (kernel/irq/spurious.c); arm rules of the CQ",
        blind_spots: "Eight fires at one producer index are allowed.",
        must_reach: &[],
    },
    RuleInfo {
        id: "LIFETIME",
        sentence: "Nothing uses an object whose free has begun.",
        source: "Linux Documentation/RCU/checklist.rst",
        blind_spots: "Objects with a lifetime token: NAPI contexts and CQs. Across threads: as \
                      SINGLE-CONSUMER, by the race detector.",
        must_reach: &[],
    },
    packets::LIST_INTEGRITY,
    packets::LIST_SCOPE,
    RuleInfo {
        id: "LISTED-MEANS-OWNED",
        sentence: "A context is put on a poll list, and completed, only while somebody owns it.",
        source: "Linux net/core/dev.c, NAPI_STATE_SCHED; napi_complete_done()",
        blind_spots: "Who the owner is, is told by grants and completions, not by the state word.",
        must_reach: &[],
    },
    RuleInfo {
        id: "LOCK-ORDER",
        sentence: "Locks are taken inside each other in one order, none inside its like; a lock \
                   that an interrupt or softirq takes is taken elsewhere only where none comes.",
        source: "Linux Documentation/locking/lockdep-design.rst",
        blind_spots: "Locks made at one place are one class, what one execution does is put \
                      together. A lock that is safe from softirqs around one that is not is not \
                      looked for; nor are words that serve as locks, and RCU.",
        must_reach: &[],
    },
    RuleInfo {
        id: "MASKED-WHILE-OWNED",
        sentence:
            "A vector whose interrupt scheduled a context does not interrupt again until the \
                   context is given up.",
        source:
            "Linux Documentation/networking/napi.rst: IRQs are masked while a NAPI instance is \
                 scheduled; 0a8047ac68e5 (e1000e: Fix msi-x interrupt automask)",
        blind_spots: "Legacy interrupts: their line is shared. A context that a busy poller took \
                      by itself; the first poll after a context was enabled.",
        must_reach: &["scheduled"],
    },
    RuleInfo {
        id: "NAPI-BUDGET",
        sentence:
            "A poll returns 0 to budget; exactly the budget if and only if it still owns its \
                   context; with budget 0 it neither receives, completes nor arms.",
        source: "Linux Documentation/networking/napi.rst, Driver API",
        blind_spots: "Looks at one thread from entry to exit; a poll that never returns is a \
                      DEADLOCK.",
        must_reach: &["completed", "full-budget"],
    },
    RuleInfo {
        id: "NAPI-ID",
        sentence:
            "Ids of live contexts are distinct and of those that may be issued; what packets \
                   and sockets hold was issued or means none; a lookup asks for an id, and gives \
                   the context asked for or nothing.",
        source: "Linux net/core/dev.c, napi_hash_add(), MIN_NAPI_ID; the ll_poll series of 2013",
        blind_spots: "Ids held by sockets after a context is gone are legal. Whether a packet has \
                      the id of the context that it came through is not looked at.",
        must_reach: &["hashed"],
    },
    RuleInfo {
        id: "NAPI-LIFECYCLE",
        sentence: "A context is added, enabled, disabled, deleted and freed in that order; enable \
                   and disable alternate, one at a time; nothing is freed that can be looked up.",
        source: "Linux include/linux/netdevice.h, napi_enable(); net: tun: avoid disabling NAPI \
                 twice (2022)",
        blind_spots: "A context that was never added is taken as it comes.",
        must_reach: &["enabled"],
    },
    RuleInfo {
        id: "NAPI-OWNER",
        sentence: "A context that is owned has one holder: who was granted it, a poll list, its \
                   kthread, a busy poller or a disable; only the holder polls it and gives it up, \
                   and at rest nobody holds it who will not come back.",
        source: "Linux net/core/dev.c (6.12), NAPI_STATE_SCHED; cb038357937e; 689883de94dd",
        blind_spots:
            "Told by grants, lists and steps, not by the state word. Lists of 3.18 keep a \
                      context while it is polled: who polls from a list is not compared.",
        must_reach: &["granted"],
    },
    RuleInfo {
        id: "NEVER-EARLY",
        sentence: "No packet leaves before its time, and no timer fires before its soft expiry.",
        source: "Linux net/sched/sch_fq.c (Earliest Departure Time), kernel/time/hrtimer.c",
        blind_spots: "By the clock of the run.",
        must_reach: &["packet", "timer"],
    },
    RuleInfo {
        id: "NO-LOST-WORK",
        sentence:
            "When nothing runs any more, no completion waits, no sent descriptor is left, no \
                   ring is empty and no queue is unarmed, or somebody is coming.",
        source: "Linux 39e6c8208d7b (net: solve a NAPI race); the arm rules of the CQ",
        blind_spots: "Judged when all threads are done; a wake-up that comes very late is still a \
                      wake-up.",
        must_reach: &["rest"],
    },
    RuleInfo {
        id: "PACKET-CONSERVATION",
        sentence: "Frames in = delivered + dropped and counted + still held; each frame in one \
                   place, delivered at most once.",
        source: "Our own; counters of ethtool -S",
        blind_spots: "Identity is the place in the CQ, not the bytes; bytes are compared in \
                      capture runs.",
        must_reach: &["delivered"],
    },
    RuleInfo {
        id: "PANIC",
        sentence: "Neither driver nor model panics.",
        source: "Our own",
        blind_spots: "None known.",
        must_reach: &[],
    },
    packets::PAYLOAD_FIDELITY,
    RuleInfo {
        id: "PORT-LIFECYCLE",
        sentence: "A port is probed, then up and down in turn, reset only while it is down, and \
                   nothing after it was removed; up means that rings and contexts are, down that \
                   none is.",
        source: "Linux ixgbe_main.c (6.12), __IXGBE_DOWN; macb: napi before interrupts (2020)",
        blind_spots: "One port a run. Interrupts that are open too early show as NO-LOST-WORK.",
        must_reach: &["up"],
    },
    RuleInfo {
        id: "POST-BEFORE-DOORBELL",
        sentence: "What a doorbell or record announces is in memory before it; at rest nothing \
                   posted is unannounced.",
        source: "Linux Documentation/memory-barriers.txt, dma_wmb()",
        blind_spots: RACE,
        must_reach: &["rung"],
    },
    RuleInfo {
        id: "PUBLISH-AFTER-INIT",
        sentence: "An object is reachable only after every field that its readers use was written.",
        source: "Linux Documentation/RCU/rcu_dereference.rst, rcu_assign_pointer()",
        blind_spots: RACE,
        must_reach: &[],
    },
    RuleInfo {
        id: "QDISC-CONFIG",
        sentence: "A setting is refused or takes effect as it was given, within its range; dumps \
                   and statistics tell what is.",
        source: "Linux include/uapi/linux/pkt_sched.h, fq_policy; review of the series of March \
                 2020",
        blind_spots: "Elements of arrays are compared as a digest.",
        must_reach: &["set"],
    },
    RuleInfo {
        id: "QDISC-COUNTS",
        sentence: "Counters that are kept equal those that a walk finds, and what went in less \
                   what went out; after a reset they are zero.",
        source: "Our own; Linux net/sched/sch_fq.c",
        blind_spots: "Where the scenario has them counted.",
        must_reach: &["counted"],
    },
    RuleInfo {
        id: "QDISC-PROGRESS",
        sentence: "A scheduler gives a packet unless it is empty or all its flows wait, in a \
                   bounded number of rounds, and does not leave packets for ever.",
        source: "Linux net/sched/sch_fq.c; 2540e0511ea1; the fixes for silly quanta and small \
                 weights",
        blind_spots: "That nothing is left is judged at rest.",
        must_reach: &["nothing"],
    },
    RuleInfo {
        id: "QUEUE-ISOLATION",
        sentence:
            "When nothing runs any more, no frame waits in the device behind one whose queue \
                   has no descriptor while its own has.",
        source: "DPDK 9941892b7a (net/ixgbe: fix Rx queue blocking issue); 82599 datasheet, \
                 SRRCTL.DROP_EN, 8.2.3.8.7",
        blind_spots: "Judged at rest, for devices that tell it: the 82599.",
        must_reach: &["rest"],
    },
    RuleInfo {
        id: "RATE-BOUND",
        sentence:
            "A flow that the scheduler paces sends in no time more than its rate and a burst \
                   allow, and no less for want of a timer on time.",
        source: "Linux f52ed89971ad (pacing for small frames), fefa569a9d4b (timers drifts)",
        blind_spots: "Not of flows so slow that a packet takes a second. The burst is the initial \
                      quantum and three more; the flow may be slower by a twentieth.",
        must_reach: &["paced"],
    },
    packets::REF_BALANCE,
    RuleInfo {
        id: "REMOVAL-FENCE",
        sentence: "A driver finds out by a few reads that its device is gone, and touches no \
                   register from then on.",
        source: "Linux ixgbe_main.c (6.12), ixgbe_check_remove()",
        blind_spots: "One port a run. Writes before the first read can not know better.",
        must_reach: &["removed"],
    },
    RuleInfo {
        id: "REPLAY",
        sentence: "A token replays the execution that it was made from.",
        source: "Our own; a token fits the binary that printed it",
        blind_spots: "None known.",
        must_reach: &[],
    },
    RuleInfo {
        id: "RESET-FENCE",
        sentence: "No DMA from before a reset lands after it.",
        source: "82599 specification update, clarification \"Master Disable Flow\"; datasheet \
                 5.2.5.3.2",
        blind_spots:
            "Looks from the end of the reset to the start of the first receive ring; what \
                      lands later is BUFFER-OWNERSHIP's. Needs a driver that tells of its resets.",
        must_reach: &["reset"],
    },
    packets::RETURN_TRUTH,
    RuleInfo {
        id: "RING-ARITHMETIC",
        sentence: "0 <= producer - consumer <= size on every ring; no CQ or EQ overruns; what is \
                   published was consumed, and at rest what was consumed is published.",
        source: "ConnectX PRM, CQ overrun; Linux mlx4 en_rx.c",
        blind_spots: "None known.",
        must_reach: &["refilled"],
    },
    RuleInfo {
        id: "RING-TAIL",
        sentence: "A tail register stays within its ring and never meets the head; what it gives \
                   away was written, with buffers that are the device's; what the device has is \
                   not written.",
        source: "82599 datasheet, 7.1.9 and 7.2.3.3; Linux ixgbe_alloc_rx_buffers()",
        blind_spots: "Rings whose tail is a register. For transmit rings the device's progress is \
                      what the driver tells of it. A device that is gone has no rings: see \
                      REMOVAL-FENCE.",
        must_reach: &["receive"],
    },
    RuleInfo {
        id: "SCHED-ONE-LIST",
        sentence: "A context is on at most one poll list, and only its owner touches the node.",
        source: "Linux net/core/dev.c, NAPI_STATE_SCHED; list corruption reports",
        blind_spots: "Order between CPUs as in SINGLE-CONSUMER.",
        must_reach: &["listed"],
    },
    packets::SCORE_TRUTH,
    RuleInfo {
        id: "SINGLE-CONSUMER",
        sentence: "At most one context polls a queue or moves its consumer index, and none after \
                   giving it up.",
        source: "Linux Documentation/networking/napi.rst; driver API",
        blind_spots:
            "Events show overlap only in the order in which an execution happened to run; \
                      the race detector, which looks at happens-before, shows it in any order.",
        must_reach: &["polled"],
    },
    packets::SKB_OWNER,
    RuleInfo {
        id: "SLACK-BOUND",
        sentence: "A timer fires, and a packet leaves, at most as many slacks after its time as \
                   the watchdog is known to add: none, one, or two.",
        source: "Linux, series of March 2020: patch 2 says that the slack is potentially doubled",
        blind_spots: "Packets: only in runs with a clock, and where the scheduler does not pace \
                      the flow.",
        must_reach: &["packet"],
    },
    RuleInfo {
        id: "SOFTIRQ-RUNS",
        sentence: "A softirq is raised only where something runs it: in an interrupt, a softirq, \
                   or with BH off.",
        source: "Linux fbd9a2ceba5c (net: Add lockdep asserts to ____napi_schedule()); \
                 8cf699ec849f, bd4ce941c8d5",
        blind_spots: "6.12.20 wakes ksoftirqd instead, which is not modelled.",
        must_reach: &["raised"],
    },
    RuleInfo {
        id: "TIMER-WINDOW",
        sentence: "A watchdog that leaves its timer has one that is queued within the window it \
                   was asked for; one that is not in use has none; the hardware is set to the \
                   first.",
        source: "Linux net/sched/sch_api.c, kernel/time/hrtimer.c; 2540e0511ea1",
        blind_spots: "A timer whose callback runs, or has scheduled the softirq that runs the \
                      discipline, counts as queued.",
        must_reach: &["started"],
    },
    RuleInfo {
        id: "VALID-BEFORE-USE",
        sentence: "A completion is used only after its ownership was seen for this lap, in order, \
                   each once.",
        source: "Linux Documentation/memory-barriers.txt, dma_rmb(); DPDK 85e46c532bc",
        blind_spots: "Reads that are too early are races: only an engine sees them.",
        must_reach: &["consumed"],
    },
];

/// The rule with an id.
pub fn info(id: &str) -> Option<&'static RuleInfo> {
    CATALOGUE.iter().find(|rule| rule.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catalogue_is_sorted_and_each_rule_has_its_sentence() {
        assert!(CATALOGUE.windows(2).all(|w| w[0].id < w[1].id));
        assert!(CATALOGUE.iter().all(|r| r.sentence.ends_with('.') && !r.source.is_empty()));
        assert!(info("NAPI-BUDGET").is_some() && info("napi-budget").is_none());
    }
}
