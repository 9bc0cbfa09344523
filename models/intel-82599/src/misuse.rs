//! What a driver can do wrong at this device. It is told and counted, never a panic.

use pollproof_events::{emit, Event};
use std::collections::BTreeMap;

/// One kind of wrong use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Misuse {
    /// A register was accessed other than by aligned dwords (8.1.1).
    Access,
    /// Access outside the BAR.
    OutsideBar,
    /// A read-only register was written.
    ReadOnly,
    /// Ring length of 0 or not a multiple of 128 (8.2.3.8.3).
    RingLength,
    /// Ring base not aligned to 128 bytes (8.2.3.8.1).
    RingBase,
    /// Queue enabled with a bad base or length.
    EnableBadRing,
    /// Base, length or head written while the queue is enabled.
    RingWhileEnabled,
    /// Tail at or beyond the ring's length.
    TailBeyondRing,
    /// Tail moved backwards or past the head: more than size - 1 descriptors.
    TailBackwards,
    /// Tail written before ENABLE read 1 (4.6.7, 4.6.8).
    TailBeforeEnable,
    /// Buffer size 0 in SRRCTL.
    BufferSize,
    /// Header address with bit 0 set, where headers are split (7.1.6.1).
    HeaderAddress,
    /// Buffer address 0.
    NullBuffer,
    /// A frame needs more descriptors than the ring can ever hold.
    RingTooSmall,
    /// FCS stripping differs between HLREG0 and RDRXCTL (8.2.3.8.8).
    CrcStripDiffers,
    /// Coalescing with too short an interrupt interval (7.3.2.1.1).
    RscInterval,
    /// Coalescing without FCS stripping or without advanced descriptors (4.6.7.2).
    RscRequirements,
    /// Descriptors of an aggregate could hold more than 64 KB.
    RscTooLarge,
    /// Transmit queue enabled while DMATXCTL.TE is 0 (4.6.8).
    TxQueueBeforeTe,
    /// WTHRESH with head write-back (7.2.3.5.2).
    HeadWriteBackThreshold,
    /// Head write-back to an address that is not aligned to 16 bytes.
    HeadWriteBackAddress,
    /// PTHRESH without HTHRESH (8.2.3.9.10).
    TxThresholds,
    /// Unknown DTYP in a transmit descriptor.
    TxDescriptorType,
    /// A data descriptor asks for what needs a context that was never written.
    TxNoContext,
    /// Header lengths of a context that do not fit the packet.
    TxHeaderLength,
    /// MSS 0.
    TxMss,
    /// PAYLEN does not match the data.
    TxPaylen,
    /// Packet longer than the device takes.
    TxTooLong,
    /// Packet of too many descriptors.
    TxTooManyParts,
    /// More than 40 descriptors without RS while WTHRESH is 0 (specification update).
    TxReportDistance,
    /// A checksum lies outside its packet.
    TxChecksumPlace,
    /// The disabled queue had a packet without its end.
    TxCutPacket,
    /// Completion of a read that is not open.
    UnknownRead,
    /// EEPROM word outside the EEPROM.
    NvmAddress,
    /// Software set SWESMBI while another agent holds it, or cleared what it did not hold.
    Semaphore,
}

impl Misuse {
    /// In words.
    pub fn why(self) -> &'static str {
        match self {
            Self::Access => "register access that is not an aligned dword",
            Self::OutsideBar => "access outside the BAR",
            Self::ReadOnly => "write of a read-only register",
            Self::RingLength => "ring length that is 0 or no multiple of 128",
            Self::RingBase => "ring base that is not aligned to 128",
            Self::EnableBadRing => "queue enabled with a bad ring",
            Self::RingWhileEnabled => "ring changed while its queue is enabled",
            Self::TailBeyondRing => "tail beyond the ring",
            Self::TailBackwards => "tail moved backwards or past the head",
            Self::TailBeforeEnable => "tail written before ENABLE read 1",
            Self::BufferSize => "receive buffer size of 0",
            Self::HeaderAddress => "header address with bit 0 set",
            Self::NullBuffer => "buffer address 0",
            Self::RingTooSmall => "frame that the ring can never hold",
            Self::CrcStripDiffers => "FCS stripping differs between HLREG0 and RDRXCTL",
            Self::RscInterval => "coalescing with too short an interval",
            Self::RscRequirements => "coalescing without what it needs",
            Self::RscTooLarge => "aggregate that could exceed 64 KB",
            Self::TxQueueBeforeTe => "transmit queue enabled before DMATXCTL.TE",
            Self::HeadWriteBackThreshold => "WTHRESH with head write-back",
            Self::HeadWriteBackAddress => "head write-back address that is not aligned to 16",
            Self::TxThresholds => "PTHRESH without HTHRESH",
            Self::TxDescriptorType => "unknown type of transmit descriptor",
            Self::TxNoContext => "offload without a context",
            Self::TxHeaderLength => "header lengths that do not fit the packet",
            Self::TxMss => "segmentation with MSS 0",
            Self::TxPaylen => "PAYLEN that does not match the data",
            Self::TxTooLong => "transmit packet too long",
            Self::TxTooManyParts => "transmit packet of too many descriptors",
            Self::TxReportDistance => "more than 40 descriptors without RS",
            Self::TxChecksumPlace => "checksum outside its packet",
            Self::TxCutPacket => "queue disabled inside a packet",
            Self::UnknownRead => "completion of a read that is not open",
            Self::NvmAddress => "EEPROM word outside the EEPROM",
            Self::Semaphore => "semaphore bit that is not the writer's",
        }
    }
}

/// What was told, by kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Misuses {
    counts: BTreeMap<Misuse, u64>,
}

impl Misuses {
    #[cold]
    pub(crate) fn tell(&mut self, kind: Misuse, at: u64) {
        let count = self.counts.entry(kind).or_default();
        *count = count.saturating_add(1);
        emit(Event::DeviceMisuse { why: kind.why(), at });
    }

    pub(crate) fn counts(&self) -> &BTreeMap<Misuse, u64> {
        &self.counts
    }
}
