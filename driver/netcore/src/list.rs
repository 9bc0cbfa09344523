//! Listified receive: `netif_receive_skb_list`, `__netif_receive_skb_list_core`, `ip_list_rcv`,
//! `ip_list_rcv_finish` and their IPv6 twins (5.0 and 6.12), with the count of packets that were
//! kept, which a series of 2018 proposed.
//!
//! A list is cut where the protocol, then where the destination changes; each part goes up as one.
//! Order is kept: a part goes up before the next begins. Left out: several devices and namespaces,
//! packets on emergency memory, RPS, time stamping, netfilter.

use crate::{Net, SkBuff};

impl Net {
    /// Takes all packets up. Gives the number that were not dropped.
    pub(crate) fn netif_receive_skb_list(&self, list: &mut Vec<SkBuff>) -> u32 {
        self.lists.add(1);
        let mut kept = 0;
        for skb in list.drain(..) {
            kept += u32::from(self.netif_receive_skb(skb));
        }
        kept
    }
}
