//! Registers: the doorbells in the UAR pages of BAR 2.
//!
//! Anything else reads as 0 and is told as misuse. It never reads as all ones: that is how a driver
//! knows that a card is gone.

use crate::{ArmSource, ConnectX3};
use pollproof_regs::mlx4::{be, db, BAR_UAR, UAR_PAGE_BYTES};

impl ConnectX3 {
    /// A 32-bit register write; the value as it lies on the bus, read little endian.
    pub fn mmio_write32(&mut self, bar: u8, offset: u64, value: u32) {
        let Some((page, register)) = self.uar(bar, offset) else {
            return self.misuse("write of an unknown register", offset);
        };
        let word = be(value);
        match register {
            db::CQ_DOORBELL => self.first_half = Some((page, word)),
            CQ_DOORBELL_SECOND => match self.first_half.take() {
                Some((first_page, first)) if first_page == page => {
                    self.arm_doorbell(first, word, offset);
                }
                _ => self.misuse("second half of an arm doorbell without the first", offset),
            },
            EQ_FIRST..=EQ_LAST if register % 8 == 0 => {
                let eqn = page * 4 + (register - EQ_FIRST) as u32 / 8;
                self.eq_doorbell(eqn, word, offset);
            }
            _ => self.misuse("write of an unknown register", offset),
        }
    }

    /// A 64-bit register write in one transaction: the word at the lower address in the lower
    /// half.
    pub fn mmio_write64(&mut self, bar: u8, offset: u64, value: u64) {
        match self.uar(bar, offset) {
            Some((_, db::CQ_DOORBELL)) => {
                self.arm_doorbell(be(value as u32), be((value >> 32) as u32), offset);
            }
            _ => self.misuse("write of an unknown register", offset),
        }
    }

    /// A register read. No register is modelled: 0.
    pub fn mmio_read32(&mut self, _bar: u8, offset: u64) -> u32 {
        self.misuse("read of an unknown register", offset);
        0
    }

    fn uar(&self, bar: u8, offset: u64) -> Option<(u32, u64)> {
        let page = offset / UAR_PAGE_BYTES;
        let known = bar == BAR_UAR && page < u64::from(self.params.uar_pages);
        known.then_some((page as u32, offset % UAR_PAGE_BYTES))
    }

    fn arm_doorbell(&mut self, first: u32, second: u32, offset: u64) {
        let cqn = first & db::INDEX_MASK;
        match self.params.arm {
            ArmSource::Doorbell => self.arm_cq(cqn, first, second, offset),
            ArmSource::RecordOnDoorbell => self.read_arm_record(cqn, offset),
            ArmSource::Record => {}
        }
        self.pump();
    }
}

const CQ_DOORBELL_SECOND: u64 = db::CQ_DOORBELL + 4;
const EQ_FIRST: u64 = db::EQ_DOORBELL;
const EQ_LAST: u64 = db::EQ_DOORBELL + 3 * 8;
