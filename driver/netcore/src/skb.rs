//! `struct sk_buff`, as far as receiving needs it: a head in one buffer of DMA memory and more
//! buffers behind it.

use crate::gro::Merged;
use crate::{Meta, Page};
use pollproof_kapi::{Dma, DmaAddr, NoMemory};

/// A received packet on its way up.
#[derive(Debug)]
pub struct SkBuff {
    /// Identity: the frame number on the wire where the driver can know it, else a running number.
    pub number: u64,
    /// `skb->hash`: flow hash as the driver was told by the device.
    pub hash: u32,
    /// `skb->napi_id`: the context it came through.
    pub napi_id: u32,
    /// Buffer with the first bytes, owned by the stack.
    pub buf: DmaAddr,
    /// Page that the buffer is half of; `None` if the buffer stands alone.
    pub page: Option<Page>,
    /// Length of the packet in bytes, all buffers.
    pub len: usize,
    /// Buffers behind the first (`skb_shinfo->frags`), in order.
    pub frags: Vec<Frag>,
    /// `CHECKSUM_UNNECESSARY`: the device found the L4 checksum good.
    pub csum_unnecessary: bool,
    /// What GRO merged into it.
    pub merged: Merged,
    /// What it has beside its bytes.
    pub meta: Meta,
}

/// A part of a packet in a buffer of its own (`skb_frag_t`).
#[derive(Debug)]
pub struct Frag {
    /// The buffer, owned by the stack.
    pub buf: DmaAddr,
    /// Page that it is half of.
    pub page: Option<Page>,
    /// Where its bytes begin in the buffer.
    pub offset: usize,
    /// Bytes in it.
    pub len: usize,
}

impl Default for SkBuff {
    /// A packet without bytes.
    fn default() -> Self {
        Self::empty()
    }
}

impl SkBuff {
    /// `build_skb`: a packet whose head is in `frag`.
    #[inline(always)]
    pub fn build(frag: Frag) -> Self {
        Self {
            number: 0,
            hash: 0,
            napi_id: 0,
            buf: frag.buf,
            page: frag.page,
            len: frag.len,
            frags: Vec::new(),
            csum_unnecessary: false,
            merged: Merged::default(),
            meta: Meta::default(),
        }
    }

    /// A packet in one buffer with what the device said of it. All at once: a field that is written
    /// afterwards makes the next move of the packet wait for it.
    #[inline(always)]
    pub fn received(frag: Frag, (number, hash, napi_id): (u64, u32, u32), checked: bool) -> Self {
        Self {
            number,
            hash,
            napi_id,
            buf: frag.buf,
            page: frag.page,
            len: frag.len,
            frags: Vec::new(),
            csum_unnecessary: checked,
            merged: Merged::default(),
            meta: Meta::default(),
        }
    }

    /// A packet without bytes.
    pub(crate) fn empty() -> Self {
        Self::build(Frag { buf: 0, page: None, offset: 0, len: 0 })
    }

    /// Bytes in the linear area of a packet of fragments.
    pub(crate) fn linear_len(&self) -> usize {
        self.meta.area.as_ref().map_or(0, |area| area.linear.len())
    }

    /// Its first bytes, which are in the first buffer or in a linear area.
    fn read_head(&self, dma: &dyn Dma, into: &mut [u8]) {
        match &self.meta.area {
            Some(area) => {
                let have = area.linear.len().min(into.len());
                into[..have].copy_from_slice(&area.linear[..have]);
            }
            _ => dma.read_buf(self.buf, 0, into),
        }
    }

    /// Bytes in the first buffer (`skb_headlen`).
    pub fn head_len(&self) -> usize {
        self.len.saturating_sub(self.frags.iter().map(|f| f.len).sum())
    }

    /// `skb_add_rx_frag`.
    pub fn add_rx_frag(&mut self, frag: Frag) {
        self.len += frag.len;
        self.frags.push(frag);
    }

    /// The first bytes of the packet, from wherever they are; no more than there are.
    pub(crate) fn read_start(&self, dma: &dyn Dma, into: &mut [u8]) {
        let head = self.head_len().min(into.len());
        let (now, mut later) = into.split_at_mut(head);
        self.read_head(dma, now);
        for frag in &self.frags {
            if later.is_empty() {
                return;
            }
            let (now, rest) = later.split_at_mut(frag.len.min(later.len()));
            dma.read_buf(frag.buf, frag.offset, now);
            later = rest;
        }
    }

    /// The bytes of the packet, read from its buffers; of a merged one, the whole.
    pub(crate) fn copy_bits(&self, dma: &dyn Dma) -> Vec<u8> {
        let own = self.copy_own(dma);
        let mut bytes = match &self.merged.0 {
            Some(more) => more.bytes(own, dma),
            None => own,
        };
        bytes.drain(..usize::from(self.meta.pulled).min(bytes.len()));
        bytes
    }

    /// Its own bytes, without what was merged into it.
    pub(crate) fn copy_own(&self, dma: &dyn Dma) -> Vec<u8> {
        let room = dma.buf_len();
        let mut bytes = vec![0; self.head_len().min(room)];
        self.read_head(dma, &mut bytes);
        for frag in &self.frags {
            let from = bytes.len();
            bytes.resize(from + frag.len.min(room), 0);
            dma.read_buf(frag.buf, frag.offset, &mut bytes[from..]);
        }
        bytes
    }

    /// `skb_copy`: the same packet in buffers of its own; the header as `__copy_skb_header` has it,
    /// so that the copy tells the same context.
    pub(crate) fn skb_copy(&self, dma: &dyn Dma) -> Result<Self, NoMemory> {
        let mut copy = Self {
            number: self.number,
            hash: self.hash,
            napi_id: self.napi_id,
            buf: copy_buf(dma, self.buf, 0, self.head_len())?,
            page: None,
            len: self.head_len(),
            frags: Vec::with_capacity(self.frags.len()),
            csum_unnecessary: self.csum_unnecessary,
            merged: Merged::default(),
            meta: Meta::default(),
        };
        for frag in &self.frags {
            match copy_buf(dma, frag.buf, frag.offset, frag.len) {
                Ok(buf) => copy.add_rx_frag(Frag { buf, page: None, offset: 0, len: frag.len }),
                Err(no_memory) => {
                    copy.release(dma);
                    return Err(no_memory);
                }
            }
        }
        Ok(copy)
    }

    /// Gives all buffers back; nothing but to drop it is left to do.
    #[inline(always)]
    pub(crate) fn release(&self, dma: &dyn Dma) {
        self.release_own(dma);
        if self.merged.0.is_some() || self.meta.ext.is_some() {
            self.release_rest(dma);
        }
    }

    #[inline(always)]
    fn release_own(&self, dma: &dyn Dma) {
        if self.buf != 0 {
            release(dma, self.buf, self.page.as_ref());
        }
        for frag in &self.frags {
            release_frag(frag, dma);
        }
    }

    /// What is merged into it, and references: all in its own manner.
    #[inline(never)]
    fn release_rest(&self, dma: &dyn Dma) {
        let pool = self.meta.pp_recycle();
        self.meta.release(pool);
        for skb in self.merged() {
            skb.release_own(dma);
            skb.meta.release(pool);
        }
    }
}

/// The stack is done with a fragment.
pub(crate) fn release_frag(frag: &Frag, dma: &dyn Dma) {
    release(dma, frag.buf, frag.page.as_ref());
}

/// A buffer of the stack with the same bytes.
fn copy_buf(dma: &dyn Dma, from: DmaAddr, offset: usize, len: usize) -> Result<DmaAddr, NoMemory> {
    let to = dma.alloc_buf()?;
    let mut bytes = vec![0; len.min(dma.buf_len())];
    dma.read_buf(from, offset, &mut bytes);
    dma.write_buf(to, 0, &bytes);
    dma.hand_up(to);
    Ok(to)
}

/// The stack is done with a buffer.
#[inline]
fn release(dma: &dyn Dma, buf: DmaAddr, page: Option<&Page>) {
    match page {
        None => dma.free_buf(buf),
        Some(page) => {
            // Before the reference is dropped: who sees the count fall may post the half at once.
            dma.give_back(buf);
            page.put(dma);
        }
    }
}
