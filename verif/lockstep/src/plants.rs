//! Faults that are planted on purpose, in the RTL by parameter and in the models by switch.

/// Where a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// In the RTL: the value of its pin `plant`, which does something where PLANT is 1.
    Rtl(u8),
    /// In the model: the switch of the plant's name.
    Model,
}

/// A planted fault.
#[derive(Clone, Copy, Debug)]
pub struct Plant {
    /// Its name: R for RTL, M for model.
    pub id: &'static str,
    /// Block.
    pub block: &'static str,
    /// Where.
    pub side: Side,
    /// What is wrong.
    pub what: &'static str,
}

const fn rtl(id: &'static str, block: &'static str, code: u8, what: &'static str) -> Plant {
    Plant { id, block, side: Side::Rtl(code), what }
}

const fn model(id: &'static str, block: &'static str, what: &'static str) -> Plant {
    Plant { id, block, side: Side::Model, what }
}

/// All of them.
pub const PLANTS: &[Plant] = &[
    rtl("R-CQ-OWNER", "mlx4-cq", 1, "owner bit turns one entry before the lap does"),
    rtl("R-CQ-STALE", "mlx4-cq", 2, "an arm with a stale sequence number counts"),
    rtl("R-CQ-COUNT", "mlx4-cq", 3, "moderation waits for one completion too many"),
    rtl("R-CQ-PERIOD", "mlx4-cq", 4, "the period counts from the newest completion"),
    rtl("R-CQ-BEHIND", "mlx4-cq", 5, "an arm behind the producer does not fire at once"),
    rtl("R-CQ-BACK", "mlx4-cq", 6, "an older consumer index takes back a newer one"),
    rtl("R-CQ-OVERRUN", "mlx4-cq", 7, "overrun by the known index, without a look at the record"),
    rtl("R-EQ-TWICE", "mlx4-cq", 8, "an EQ stays armed when it sends its message"),
    rtl("R-EQ-REARM", "mlx4-cq", 9, "an arm of an EQ with entries pending sends nothing"),
    rtl("R-EQ-FILL", "mlx4-cq", 10, "SW2HW_EQ leaves the owner bits as they are"),
    model("M-CQ-OWNER", "mlx4-cq", "owner bit turns one entry before the lap does"),
    model("M-CQ-STALE", "mlx4-cq", "an arm with a stale sequence number counts"),
    model("M-CQ-COUNT", "mlx4-cq", "moderation waits for one completion too many"),
    model("M-CQ-PERIOD", "mlx4-cq", "the period counts from the newest completion"),
    model("M-CQ-BACK", "mlx4-cq", "an older consumer index takes back a newer one"),
    model("M-EQ-TWICE", "mlx4-cq", "an EQ stays armed when it sends its message"),
    rtl("R-IRQ-RELOAD", "ixgbe-irq", 1, "EITR is not loaded when the vector fires"),
    rtl("R-IRQ-AUTOMASK", "ixgbe-irq", 2, "a message does not mask its vector (EIAM)"),
    rtl("R-IRQ-AUTOCLEAR", "ixgbe-irq", 3, "vectors above 15 do not clear themselves"),
    rtl(
        "R-IRQ-PENDING",
        "ixgbe-irq",
        4,
        "a message of a masked vector is lost (MSI-X pending bit)",
    ),
    rtl("R-IRQ-WDIS", "ixgbe-irq", 5, "a write of EITR never writes the count"),
    rtl("R-IRQ-OCD", "ixgbe-irq", 6, "a read of EICR clears queues although GPIE.OCD is 1"),
    model("M-IRQ-RELOAD", "ixgbe-irq", "EITR is not loaded when the vector fires"),
    model("M-IRQ-AUTOMASK", "ixgbe-irq", "a message does not mask its vector (EIAM)"),
    model("M-IRQ-OCD", "ixgbe-irq", "a read of EICR clears queues although GPIE.OCD is 1"),
    rtl("R-RX-TAIL", "ixgbe-rx", 1, "a tail written while a fetch is open is lost"),
    rtl("R-RX-PTHRESH", "ixgbe-rx", 2, "fetches ahead with PTHRESH on chip, not fewer"),
    rtl("R-RX-DROP-QUEUE", "ixgbe-rx", 3, "a drop counts for the queue that was served last"),
    rtl("R-RX-CAUSE", "ixgbe-rx", 4, "a frame in memory is no cause to interrupt"),
    rtl("R-RX-ORDER", "ixgbe-rx", 5, "the write-back goes before the data"),
    model("M-RX-TAIL", "ixgbe-rx", "a tail written while a fetch is open is lost"),
    model("M-RX-HTHRESH", "ixgbe-rx", "fetches ahead only beyond HTHRESH in memory"),
    model("M-RX-DROP-QUEUE", "ixgbe-rx", "a drop counts for the next queue"),
    rtl("R-TX-PTHRESH", "ixgbe-tx", 2, "fetches ahead with PTHRESH on chip, not fewer"),
    rtl("R-TX-WTHRESH", "ixgbe-tx", 6, "holds one report more than WTHRESH"),
    rtl("R-TX-HEAD", "ixgbe-tx", 7, "writes back the last index as the head, not the one after"),
    rtl("R-TX-RS", "ixgbe-tx", 8, "reports the last descriptor of a packet without RS"),
    rtl("R-TX-EARLY", "ixgbe-tx", 9, "a packet leaves before its data was read"),
    model("M-TX-WTHRESH", "ixgbe-tx", "holds one report more than WTHRESH"),
    model("M-TX-HEAD", "ixgbe-tx", "writes back the last index as the head, not the one after"),
];

/// The plant with a name.
pub fn plant(id: &str) -> Option<&'static Plant> {
    PLANTS.iter().find(|plant| plant.id.eq_ignore_ascii_case(id))
}
