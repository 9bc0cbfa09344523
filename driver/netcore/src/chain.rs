//! A chain of packets by `skb->next`, of which others may hold packets too: `skb_get`,
//! `kfree_skb_list` (6.2).
//!
//! Packets are places in one vector that all holders share, so that a link that one of them clears
//! is gone for the others, as it is in the kernel.

use crate::{lock, Net, SkBuff};
use pollproof_sync::bug;
use std::sync::{Arc, Mutex};

/// A holder of a chain.
#[derive(Debug)]
pub struct SkbChain {
    nodes: Arc<Mutex<Vec<Node>>>,
    first: Option<usize>,
}

#[derive(Debug)]
struct Node {
    skb: Option<SkBuff>,
    /// `skb->users`.
    users: u32,
    /// `skb->next`.
    next: Option<usize>,
}

impl SkbChain {
    /// A chain of these, each held once.
    pub fn new(skbs: impl IntoIterator<Item = SkBuff>) -> Self {
        let node = |(n, skb)| Node { skb: Some(skb), users: 1, next: Some(n + 1) };
        let mut nodes: Vec<Node> = skbs.into_iter().enumerate().map(node).collect();
        if let Some(last) = nodes.last_mut() {
            last.next = None;
        }
        let first = (!nodes.is_empty()).then_some(0);
        Self { nodes: Arc::new(Mutex::new(nodes)), first }
    }

    /// Another holder of the same packets (`skb_get` of each).
    pub fn share(&self) -> Self {
        lock(&self.nodes).iter_mut().for_each(|node| node.users += 1);
        Self { nodes: self.nodes.clone(), first: self.first }
    }

    /// Gives up the first packet; what is to be freed, if nobody else holds it.
    fn give_up_first(&mut self) -> Option<Option<SkBuff>> {
        let mut nodes = lock(&self.nodes);
        let node = nodes.get_mut(self.first?)?;
        self.first = node.next;
        if bug("D-15") {
            node.next = None;
        }
        node.users = node.users.saturating_sub(1);
        if node.users > 0 {
            return Some(None);
        }
        node.next = None;
        Some(node.skb.take())
    }
}

impl Net {
    /// `kfree_skb_list`: a holder gives its packets up; those that were its alone are freed.
    pub fn kfree_skb_list(&self, mut chain: SkbChain, why: &'static str) {
        while let Some(free) = chain.give_up_first() {
            if let Some(skb) = free {
                self.kfree_skb(skb, why);
            }
        }
    }
}
