//! What the firmware says of itself: fields of the answers to queries, by offset. All others are 0.
//!
//! Sizes are log2 where the offset's name in `fw.c` begins with LOG. The device has one Ethernet
//! port, A0 steering, CQE and EQE of 32 bytes, no BlueFlame and no TSO ("LSO not supported", says a
//! driver: it segments by itself).

use super::bytes::put;
use super::port::Port;
use pollproof_regs::mlx4_hca::{control, MAILBOX_BYTES};

type Field = (usize, &'static [u8]);

const DEV_CAP: &[Field] = &[
    // SRQ and QP sizes, 2^14; reserved and most QPs, SRQs, CQs, MPTs, EQs, MTTs.
    (0x10, &[14, 14, 6, 17, 0x40, 16]),
    (0x19, &[16, 3, 16]),
    (0x1d, &[19, 2, 7]),
    (0x20, &[0x40]),
    (0x22, &[4]),
    // RDMA reads, then RSS: Toeplitz, tables of 2^7.
    (0x29, &[4]),
    (0x2b, &[4]),
    (0x2e, &[0x17, 4]),
    // One port; local ACK delay; MTU and widths.
    (0x37, &[1, 31]),
    // UAR: 2^3 MB; pages of 2^12.
    (0x49, &[3]),
    (0x4b, &[12]),
    // Descriptors: 62 segments and 1008 bytes to send, 32 and 512 to receive.
    (0x51, &[62, 0x03, 0xf0]),
    (0x55, &[32, 0x02, 0x00]),
    // Multicast groups, protection domains.
    (0x61, &[8]),
    (0x63, &[13]),
    (0x65, &[15]),
    // Sizes of contexts: RDMARC, QPC, AUXC, ALTC, EQC, CQC, SRQ, CMPT, MTT, MPT.
    (0x80, &[0, 32, 1, 0, 0, 32, 0, 64, 0, 64, 0, 64, 0, 32, 0, 64, 0, 8, 0, 64]),
    // Reserved key; most context memory: 2^40 bytes.
    (0x98, &[0, 0, 1, 0]),
    (0xa0, &[0, 0, 1, 0, 0, 0, 0, 0]),
];

fn mailbox(fields: &[Field]) -> Vec<u8> {
    let mut bytes = vec![0; MAILBOX_BYTES as usize];
    fields.iter().for_each(|(at, field)| put(&mut bytes, *at, field));
    bytes
}

/// QUERY_DEV_CAP.
pub(super) fn dev_cap() -> Vec<u8> {
    mailbox(DEV_CAP)
}

/// QUERY_FW: version 2.42.5000, command interface 3, 16 commands at a time.
pub(super) fn firmware() -> Vec<u8> {
    // 16 pages to give; the driver swaps the last two parts of the version.
    let mut bytes =
        mailbox(&[(0, &[0, 16, 0, 2, 0x13, 0x88, 0, 42]), (0x0a, &[0, 3]), (0x0f, &[4])]);
    put(&mut bytes, 0x20, &control::CLEAR_INT.to_be_bytes());
    put(&mut bytes, 0x30, &control::CATAS.to_be_bytes());
    put(&mut bytes, 0x38, &(control::CATAS_BYTES as u32).to_be_bytes());
    bytes
}

/// QUERY_HCA: the clock's frequency in MHz.
pub(super) fn hca() -> Vec<u8> {
    mailbox(&[(0x0c, &[0, 0, 1, 0xab])])
}

/// QUERY_ADAPTER.
pub(super) fn adapter() -> Vec<u8> {
    mailbox(&[])
}

/// QUERY_PORT: Ethernet at 40 Gb/s, MTU up to 9600, 128 addresses and tags.
pub(super) fn port(port: &Port) -> Vec<u8> {
    let mut bytes =
        mailbox(&[(0x01, &[5, 0x25, 0x80]), (0x05, &[0x40, 2, 0x47]), (0x0a, &[0x77, 8])]);
    bytes[0] = 2 | u8::from(port.link()) << 7;
    put(&mut bytes, 0x12, &port.mac());
    bytes
}
