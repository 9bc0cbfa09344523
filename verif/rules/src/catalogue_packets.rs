//! What the rules of packets, lists and GRO say of themselves.

use crate::RuleInfo;

pub(crate) const GRO_BATCH: RuleInfo = RuleInfo {
    id: "GRO-BATCH",
    sentence: "No more packets wait for a full batch than a batch has.",
    source: "Linux net/core/gro.c (6.12), gro_normal_one(): the batch counts segments",
    blind_spots: "Looks when a batch goes up; what never does is GRO-FLUSH's.",
    must_reach: &["up"],
};

pub(crate) const GRO_FLUSH: RuleInfo = RuleInfo {
    id: "GRO-FLUSH",
    sentence: "Nothing is held by GRO, or waits for a full batch, when nobody comes for it.",
    source: "Linux net/core/dev.c (6.12), napi_complete_done(); 605108acfe62",
    blind_spots: "Judged at rest alone; how long a packet was held before is not.",
    must_reach: &["rest"],
};

pub(crate) const GRO_ROUND_TRIP: RuleInfo = RuleInfo {
    id: "GRO-ROUND-TRIP",
    sentence: "What GRO merged is taken apart into the packets that came, byte for byte.",
    source: "Linux net/core/gro.c, net/ipv4/tcp_offload.c, udp_offload.c (6.12)",
    blind_spots: "Looks where the ledger keeps bytes.",
    must_reach: &["merged"],
};

pub(crate) const PAYLOAD_FIDELITY: RuleInfo = RuleInfo {
    id: "PAYLOAD-FIDELITY",
    sentence: "What arrives at a socket is a frame that came in, byte for byte, and in order \
               in its flow.",
    source: "Our own; the capture that was sent",
    blind_spots:
        "Compared in capture runs, with what reached the port, and where a scenario tells \
                  the hash of what it sends: a fault on the wire is not the house's. Flows are \
                  told apart as for FLOW-ORDER.",
    must_reach: &[],
};

pub(crate) const GRO_EXCLUSIVE: RuleInfo = RuleInfo {
    id: "GRO-EXCLUSIVE",
    sentence: "GRO gets only packets whose bytes nobody else has: it writes into them.",
    source: "Linux 9695b7de5b47 (veth: ensure skb entering GRO are not cloned)",
    blind_spots: "What comes from a device is ours alone and is not looked at.",
    must_reach: &["enters"],
};

pub(crate) const GRO_LATENCY: RuleInfo = RuleInfo {
    id: "GRO-LATENCY",
    sentence:
        "A context is given up with packets held by GRO only while its timer runs, and holds \
               none for more than two jiffies through polls that use their whole budget.",
    source: "Linux net/core/dev.c (6.12), napi_complete_done(), __napi_poll()",
    blind_spots: "How long the timer may run is not bounded; an explored run has no time.",
    must_reach: &["completed"],
};

pub(crate) const LIST_INTEGRITY: RuleInfo = RuleInfo {
    id: "LIST-INTEGRITY",
    sentence: "A packet that leaves the code of lists has a null link, and one that is put on a \
               list is on no other.",
    source: "Linux include/linux/skbuff.h, skb_list_del_init(), skb_mark_not_on_list()",
    blind_spots: "Told where a packet goes on a list, to its protocol's end, or up by itself.",
    must_reach: &["list"],
};

pub(crate) const REF_BALANCE: RuleInfo = RuleInfo {
    id: "REF-BALANCE",
    sentence: "What a packet refers to is given back once, in the manner in which it was got.",
    source: "Linux 8550ff8d8c75 (skbuff: Release nfct refcount on napi stolen or re-used skbs); \
             net/core/skbuff.c, skb_gro_receive()",
    blind_spots: "Connections and pages that a scenario gives its packets.",
    must_reach: &["put"],
};

pub(crate) const RETURN_TRUTH: RuleInfo = RuleInfo {
    id: "RETURN-TRUTH",
    sentence: "Of a list that goes up as many packets are said to be kept as sockets got.",
    source: "The series of November 2018, net: make listified RX functions return number of good \
             packets",
    blind_spots: "A merged packet counts as one.",
    must_reach: &["list"],
};

pub(crate) const SKB_OWNER: RuleInfo = RuleInfo {
    id: "SKB-OWNER",
    sentence: "A packet has a destructor if and only if it has an owner.",
    source: "Linux ed4cccef64c1 (gro: fix ownership transfer); skb_orphan()",
    blind_spots: "Looks where a packet comes to its end.",
    must_reach: &["orphaned"],
};

pub(crate) const LIST_SCOPE: RuleInfo = RuleInfo {
    id: "LIST-SCOPE",
    sentence: "A list that belongs to one call of a poll method is there in it alone.",
    source: "Linux efx_channels.c (6.12), efx_process_channel() and its warning",
    blind_spots: "sfc tells of its lists; other drivers have none.",
    must_reach: &["open"],
};

pub(crate) const SCORE_TRUTH: RuleInfo = RuleInfo {
    id: "SCORE-TRUTH",
    sentence:
        "The score by which a driver moderates its interrupts is two for each packet that it \
               took, whatever becomes of the packet.",
    source: "Linux ef10.c (6.12), irq_mod_score",
    blind_spots: "Looked at after each poll of sfc; what follows from the score is not.",
    must_reach: &["score"],
};
