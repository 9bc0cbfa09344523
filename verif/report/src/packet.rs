//! What happens to packets, in words.

use pollproof_events::{Link, SkbStep};

/// A step in a few words.
pub(crate) fn text(step: &SkbStep) -> String {
    use SkbStep::*;
    match *step {
        Linked { skb, link, at } => format!("{skb:#x} comes to {at}, its link {}", words(link)),
        ListIn { skbs } => format!("a list of {skbs} goes up"),
        ListOut { kept } => format!("{kept} of the list are kept"),
        ListScope { open: true, .. } => "the poll opens its list".into(),
        ListScope { .. } => "the poll closes its list".into(),
        Owned { skb, owner, destructor } => {
            format!("{skb:#x} has owner: {owner}, destructor: {destructor}")
        }
        Enters { skb, exclusive: true } => format!("{skb:#x} goes into GRO, ours alone"),
        Enters { skb, .. } => format!("{skb:#x} goes into GRO, shared"),
        RefGet { kind, object } => format!("{kind} {object} is referred to"),
        RefPut { kind, object } => format!("{kind} {object} is given back"),
        Sent { number, sum } => format!("frame {number} is sent, hash {sum:08x}"),
        Read { skb, sum } => format!("{skb:#x} is read, hash {sum:08x}"),
        Entry { packets, .. } => format!("an entry tells of {packets} packets"),
        Score { total, .. } => format!("the score is {total} in all"),
    }
}

fn words(link: Link) -> &'static str {
    match link {
        Link::Null => "null",
        Link::Listed => "on a list",
        Link::Itself => "to itself",
        Link::Poison => "poisoned",
    }
}
