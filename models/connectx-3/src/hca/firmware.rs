//! Commands by opcode.

use super::caps;
use super::hcr::{Answer, Command};
use super::Hca;
use pollproof_regs::mlx4::CmdStatus;
use pollproof_regs::mlx4_hca::{op, MAILBOX_BYTES};

/// Status codes of commands (`cmd.c`).
const BAD_OP: u8 = 2;
const BAD_PARAM: u8 = 3;
/// Key of opcodes among what is not modelled.
const OPCODES: u32 = 0x1000_0000;
/// Pages of auxiliary context memory that the firmware wants.
const AUX_PAGES: u64 = 4;

/// What engines say.
pub(super) fn status(result: Result<(), CmdStatus>) -> Answer {
    Answer::status(match result {
        Ok(()) => 0,
        Err(CmdStatus::BadParam) => BAD_PARAM,
        Err(CmdStatus::BadResource) => 5,
        Err(CmdStatus::ResourceBusy) => 6,
        Err(CmdStatus::BadResourceState) => 9,
    })
}

fn mailbox(bytes: Vec<u8>) -> Answer {
    Answer { mailbox: Some(bytes), ..Answer::default() }
}

impl Hca {
    /// Does what a command asks for.
    pub(super) fn perform(&mut self, command: &Command, input: &[u8], mtt: &[u8]) -> Answer {
        let n = command.in_modifier & 0xff_ffff;
        match command.opcode {
            op::QUERY_FW => mailbox(caps::firmware()),
            op::QUERY_DEV_CAP => mailbox(caps::dev_cap()),
            op::QUERY_ADAPTER => mailbox(caps::adapter()),
            op::QUERY_HCA => mailbox(caps::hca()),
            op::QUERY_PORT if n == 1 => mailbox(caps::port(&self.port)),
            op::DUMP_ETH_STATS => mailbox(vec![0; MAILBOX_BYTES as usize]),
            op::MAP_FA | op::UNMAP_FA | op::MAP_ICM_AUX | op::UNMAP_ICM_AUX => Answer::default(),
            op::RUN_FW | op::NOP | op::CONF_SPECIAL_QP => Answer::default(),
            op::SET_ICM_SIZE => Answer { immediate: AUX_PAGES, ..Answer::default() },
            // Settings: the port's GUID reads as 0.
            op::MOD_STAT_CFG if command.op_modifier == 2 => {
                mailbox(vec![0; MAILBOX_BYTES as usize])
            }
            op::MOD_STAT_CFG => Answer::default(),
            op::MAP_ICM if self.icm.map(input, command.in_modifier) => Answer::default(),
            op::UNMAP_ICM => {
                self.icm.unmap(command.in_param, command.in_modifier);
                Answer::default()
            }
            op::INIT_HCA => self.init_hca(input),
            op::CLOSE_HCA => self.close_hca(),
            op::SW2HW_MPT | op::HW2SW_MPT | op::SET_VLAN_FLTR => Answer::default(),
            op::MAP_EQ => self.map_eq(command),
            op::SW2HW_EQ => self.sw2hw_eq(n, input, mtt),
            op::HW2SW_EQ => self.hw2sw_eq(n),
            op::SW2HW_CQ => self.sw2hw_cq(n, command.op_modifier, input, mtt),
            op::MODIFY_CQ if command.op_modifier == 1 => self.modify_cq(n, input),
            op::HW2SW_CQ => self.hw2sw_cq(n),
            op::RST2INIT_QP | op::INIT2RTR_QP | op::RTR2RTS_QP | op::RTS2RTS_QP => {
                self.modify_qp(n, command.opcode, input, mtt)
            }
            op::TO_RST_QP => self.reset_qp(n),
            op::SET_PORT => self.set_port(command, input),
            op::SET_MCAST_FLTR => self.set_multicast_filter(command),
            op::INIT_PORT if n == 1 => self.start_port(true),
            op::CLOSE_PORT if n == 1 => self.start_port(false),
            // Management datagrams of InfiniBand: a driver for Ethernet goes on without.
            op::MAD_IFC => Answer::status(BAD_OP),
            op::QUERY_PORT | op::INIT_PORT | op::CLOSE_PORT | op::MAP_ICM => {
                Answer::status(BAD_PARAM)
            }
            opcode => {
                self.not_modelled.entry(OPCODES | opcode).or_insert(Some("command"));
                Answer::status(BAD_OP)
            }
        }
    }
}
