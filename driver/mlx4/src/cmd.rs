//! Firmware commands that bring queues to life and take them back.
//!
//! Linux sends them by mailbox and waits (`cmd.c`); here they are calls, and the contexts carry the
//! fields that the receive side needs.

use pollproof_regs::mlx4::{CmdStatus, CqContext, EqContext, RqContext, RssContext};

/// The device's command interface. All calls may sleep.
pub trait CommandPort: Send + Sync {
    /// SW2HW_EQ.
    fn sw2hw_eq(&self, eqn: u32, context: EqContext) -> Result<(), CmdStatus>;
    /// HW2SW_EQ.
    fn hw2sw_eq(&self, eqn: u32) -> Result<(), CmdStatus>;
    /// SW2HW_CQ.
    fn sw2hw_cq(&self, cqn: u32, context: CqContext) -> Result<(), CmdStatus>;
    /// HW2SW_CQ.
    fn hw2sw_cq(&self, cqn: u32) -> Result<(), CmdStatus>;
    /// RST2INIT, INIT2RTR, RTR2RTS in one: the receive queue takes packets.
    fn start_rq(&self, rqn: u32, context: RqContext) -> Result<(), CmdStatus>;
    /// 2RST: the receive queue takes no more packets.
    fn stop_rq(&self, rqn: u32) -> Result<(), CmdStatus>;
    /// Indirection QP over several receive queues.
    fn set_rss(&self, context: RssContext) -> Result<(), CmdStatus>;
    /// The one receive queue that takes everything, where there is no indirection QP.
    fn set_default_rqn(&self, rqn: u32) -> Result<(), CmdStatus>;
}
