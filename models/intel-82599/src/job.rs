//! One transmit packet: what its descriptors say of the whole (7.2.3.2).

use crate::offload::{Orders, Segmenter};
use crate::txwb::Report;
use crate::{Intel82599, Misuse};
use pollproof_regs::ixgbe::{hlreg0, tdma};
use pollproof_regs::ixgbe_desc::tx;
use pollproof_regs::ixgbe_map as map;

/// A packet on its way through the engine.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) id: u64,
    pub(crate) queue: u32,
    pub(crate) parts: Vec<Option<Vec<u8>>>,
    pub(crate) missing: usize,
    pub(crate) bytes: usize,
    pub(crate) orders: Orders,
    pub(crate) paylen: usize,
    pub(crate) reports: Vec<Report>,
    pub(crate) frames: Option<Segmenter>,
    /// Something was wrong: its descriptors are done, nothing is sent.
    pub(crate) bad: bool,
    pub(crate) is_legacy: bool,
}

impl Intel82599 {
    /// What the first descriptor of a packet says of the whole.
    pub(crate) fn begin_job(&mut self, n: u32, dwords: [u32; 4], at: u64) -> Job {
        let is_legacy = dwords[2] & tx::DEXT == 0;
        let id = self.tx.next_job;
        self.tx.next_job += 1;
        let mac = self.csr.get(map::HLREG0);
        let flags = [
            self.csr.get(map::DTXTCPFLGL) as u16 & 0xfff,
            (self.csr.get(map::DTXTCPFLGL) >> 16) as u16 & 0xfff,
            self.csr.get(map::DTXTCPFLGH) as u16 & 0xfff,
        ];
        let mut orders = Orders {
            append_fcs: dwords[2] & tx::IFCS != 0 || mac & hlreg0::TXCRCEN != 0,
            pad: mac & hlreg0::TXPADEN != 0,
            vlan_type: (self.csr.get(map::DMATXCTL) >> tdma::VT_SHIFT) as u16,
            flags,
            ..Orders::default()
        };
        let mut bad = false;
        if !is_legacy {
            let slot = (dwords[3] >> tx::IDX_SHIFT & 1) as usize;
            orders.context = self.txq.get(n as usize).and_then(|q| q.contexts[slot]);
            orders.segment = dwords[2] & tx::TSE != 0;
            orders.ip_checksum = dwords[3] & tx::IXSM != 0;
            orders.l4_checksum = dwords[3] & tx::TXSM != 0;
            let vlan = dwords[2] & tx::VLE != 0;
            let needs = vlan || orders.segment || orders.ip_checksum || orders.l4_checksum;
            if needs && orders.context.is_none() {
                bad = true;
                self.tell(Misuse::TxNoContext, at);
            }
            orders.vlan = orders.context.filter(|_| vlan).map(|c| c.vlan);
            if orders.l4_checksum && orders.context.is_some_and(|c| c.l4_type > 1) {
                orders.l4_checksum = false;
                self.csr.not_modelled(map::DMATXCTL);
            }
        }
        Job {
            id,
            queue: n,
            parts: Vec::new(),
            missing: 0,
            bytes: 0,
            orders,
            paylen: (dwords[3] >> tx::PAYLEN_SHIFT) as usize,
            reports: Vec::new(),
            frames: None,
            bad,
            is_legacy,
        }
    }

    /// What only the last descriptor says, and whether PAYLEN holds.
    pub(crate) fn end_job(&mut self, job: &mut Job, dwords: [u32; 4]) {
        let at = u64::from(job.queue) << 32 | job.id & 0xffff_ffff;
        if job.is_legacy {
            if dwords[2] & tx::VLE != 0 {
                job.orders.vlan = Some((dwords[3] >> 16) as u16);
            }
            if dwords[2] & tx::IC != 0 {
                let start = (dwords[3] >> 8 & 0xff) as usize;
                let field = (dwords[2] >> 16 & 0xff) as usize;
                if start >= job.bytes || field + 2 > job.bytes {
                    self.tell(Misuse::TxChecksumPlace, at);
                } else {
                    job.orders.legacy_checksum = Some((start, field));
                }
            }
            return;
        }
        let context = job.orders.context.unwrap_or_default();
        let headers = context.mac_len + context.ip_len + context.l4_len;
        let whole = if job.orders.segment { job.paylen + headers } else { job.paylen };
        if whole != job.bytes && !job.bad {
            self.tell(Misuse::TxPaylen, at);
        }
    }
}
