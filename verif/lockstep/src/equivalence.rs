//! What counts as the same, observable by observable.

/// How the two sides of an observable belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The same in the same cycle.
    Same,
    /// The same values in the same order; the RTL never first, and at most so many cycles behind.
    /// Cycles in which the bus takes nothing do not count.
    Order {
        /// Cycles.
        within: u32,
    },
    /// The RTL chooses when; the model must allow it then, and what the model allows must happen
    /// within so many cycles in which the bus takes something.
    Choice {
        /// Cycles.
        within: u32,
    },
}

impl Relation {
    /// In words.
    pub fn text(self) -> String {
        match self {
            Self::Same => "same cycle".into(),
            Self::Order { within } => format!("same order, at most {within} cycles late"),
            Self::Choice { within } => format!("the RTL chooses, within {within} cycles"),
        }
    }
}

/// Something that both sides show.
#[derive(Clone, Copy, Debug)]
pub struct Observable {
    /// Its name.
    pub name: &'static str,
    /// Equivalence.
    pub relation: Relation,
    /// Names of its values, at most six.
    pub fields: &'static [&'static str],
    /// Why it is enough.
    pub why: &'static str,
}

/// A block: a top module beside the model's engine.
#[derive(Clone, Copy, Debug)]
pub struct BlockInfo {
    /// Name on the command line.
    pub id: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Top module of the RTL.
    pub top: &'static str,
    /// What is compared.
    pub observables: &'static [Observable],
}

/// All blocks.
pub const BLOCKS: &[BlockInfo] = &[MLX4, IRQ, RX, TX];

/// Completion and event queues of the ConnectX-3.
pub const MLX4: BlockInfo = BlockInfo {
    id: "mlx4-cq",
    about: "ConnectX-3 completion queues and event queues, from a completion to its message",
    top: "mlx4_completion",
    observables: &[
        Observable {
            name: "posted",
            relation: Relation::Order { within: 4 },
            fields: &["addr", "len", "bytes 0-7", "bytes 8-15", "bytes 16-23", "bytes 24-31"],
            why: "CQEs, EQEs, owner bits and messages (len 0, addr is the vector) are posted: the \
                  bus keeps their order, and a driver sees it",
        },
        Observable {
            name: "reads",
            relation: Relation::Order { within: 2 },
            fields: &["addr", "len"],
            why: "reads of consumer indices; their tags are free, and answers come in any order",
        },
        Observable {
            name: "room",
            relation: Relation::Same,
            fields: &["queue", "result"],
            why: "what becomes of a completion when its turn comes: written, waits, overrun, drop",
        },
        Observable {
            name: "timer",
            relation: Relation::Choice { within: 6 },
            fields: &["queue", "cycle"],
            why: "moderation timers are looked at one a cycle; none may fire early",
        },
        Observable {
            name: "turn",
            relation: Relation::Choice { within: 80 },
            fields: &["waits"],
            why: "a command, a completion or an answer that waits is taken in the end; owner bits \
                  of a new queue of 32 entries go first",
        },
        Observable {
            name: "arm",
            relation: Relation::Same,
            fields: &["queue", "accepted", "fired"],
            why: "an arm request counts or is stale, and fires at once or not",
        },
        Observable {
            name: "misuse",
            relation: Relation::Same,
            fields: &["told"],
            why: "a driver that does what it must not is told of at that step",
        },
        Observable {
            name: "cq",
            relation: Relation::Same,
            fields: &["queue", "producer", "consumer", "armed timer stopped", "next sn"],
            why: "the state of one queue a cycle, in turns",
        },
        Observable {
            name: "eq",
            relation: Relation::Same,
            fields: &["queue", "producer", "consumer", "armed"],
            why: "the state of one event queue a cycle, in turns, unless an event is on its way",
        },
        Observable {
            name: "lost",
            relation: Relation::Order { within: 2 },
            fields: &["queue"],
            why: "an event found no entry: it is lost, and counted, a cycle after its completion",
        },
    ],
};

/// Interrupt causes of the 82599.
pub const IRQ: BlockInfo = BlockInfo {
    id: "ixgbe-irq",
    about: "82599 causes, masks, auto-clear and auto-mask, EITR, MSI-X with pending bits",
    top: "ixgbe_irq",
    observables: &[
        Observable {
            name: "messages",
            relation: Relation::Order { within: 2 },
            fields: &["vector"],
            why: "MSI-X messages are posted writes: the bus keeps their order",
        },
        Observable {
            name: "fire",
            relation: Relation::Choice { within: 70 },
            fields: &["vector", "cycle"],
            why:
                "vectors that wait are looked at one a cycle, 64 at most; none may fire before its \
                  count is 0, and which of several goes first is free",
        },
        Observable {
            name: "turn",
            relation: Relation::Choice { within: 8 },
            fields: &["waits"],
            why: "accesses, causes and masks take turns with each other and with vectors that fire",
        },
        Observable {
            name: "read",
            relation: Relation::Same,
            fields: &["offset", "value"],
            why: "a register read gives the same, and has the same effect",
        },
        Observable {
            name: "causes",
            relation: Relation::Same,
            fields: &["EICR", "causes by vector", "EIMS", "enabled vectors", "wanting", "INTx"],
            why: "the state of the cause logic, every cycle",
        },
        Observable {
            name: "pba",
            relation: Relation::Same,
            fields: &["vector", "pending"],
            why: "the pending bit of one vector a cycle, in turns",
        },
    ],
};

/// Receive DMA of the 82599.
pub const RX: BlockInfo = BlockInfo {
    id: "ixgbe-rx",
    about: "82599 receive: descriptor fetch, data and write-back of frames, drops",
    top: "ixgbe_rx",
    observables: &[
        Observable {
            name: "posted",
            relation: Relation::Order { within: 40 },
            fields: &["is data", "addr", "len", "bytes 0-7 or offset", "bytes 8-15"],
            why: "data before the write-back that tells of it: a driver relies on their order. A \
                  frame of 5 buffers is counted, a cycle each, before its first",
        },
        Observable {
            name: "reads",
            relation: Relation::Order { within: 40 },
            fields: &["addr", "len"],
            why: "how much is fetched and when, after each input; tags are free, and answers come \
                  in any order",
        },
        Observable {
            name: "cause",
            relation: Relation::Order { within: 60 },
            fields: &["queue"],
            why: "a frame ended in memory: its queue has something to tell",
        },
        Observable {
            name: "drop",
            relation: Relation::Order { within: 40 },
            fields: &["queue", "why"],
            why: "1 queue off, 2 no descriptor, 3 can never fit; the queue by its counter",
        },
        Observable {
            name: "read",
            relation: Relation::Same,
            fields: &["offset", "value"],
            why: "registers of a queue, the head among them, when the engine takes the read",
        },
        Observable {
            name: "tail",
            relation: Relation::Same,
            fields: &["queue", "beyond", "backwards"],
            why: "a tail that makes no sense is told of",
        },
        Observable {
            name: "turn",
            relation: Relation::Choice { within: 80 },
            fields: &["waits"],
            why: "an access or an answer is taken when what came before has had its effects",
        },
    ],
};

/// Transmit DMA of the 82599.
pub const TX: BlockInfo = BlockInfo {
    id: "ixgbe-tx",
    about: "82599 transmit: descriptor fetch, reads of data, frames in order, reports",
    top: "ixgbe_tx",
    observables: &[
        Observable {
            name: "posted",
            relation: Relation::Order { within: 60 },
            fields: &["is head", "addr", "bytes 0-7", "bytes 8-15"],
            why: "reports of descriptors, or the head: a driver frees buffers by their order",
        },
        Observable {
            name: "reads",
            relation: Relation::Order { within: 60 },
            fields: &["is data", "addr", "len"],
            why: "fetches and data in the order in which they are asked for; tags are free, and \
                  answers come in any order",
        },
        Observable {
            name: "frames",
            relation: Relation::Order { within: 120 },
            fields: &["len", "sum of bytes"],
            why: "frames leave in order; the RTL names a queue, whose next packet is summed up",
        },
        Observable {
            name: "cause",
            relation: Relation::Order { within: 200 },
            fields: &["queues"],
            why: "queues that have something to tell, when all effects of an input are done",
        },
        Observable {
            name: "read",
            relation: Relation::Same,
            fields: &["offset", "value"],
            why: "registers of a queue, the head among them, when the engine takes the read",
        },
        Observable {
            name: "tail",
            relation: Relation::Same,
            fields: &["queue", "beyond", "backwards"],
            why: "a tail that makes no sense is told of",
        },
        Observable {
            name: "turn",
            relation: Relation::Choice { within: 200 },
            fields: &["waits"],
            why:
                "an access or an answer is taken when what came before has had its effects: up to \
                  four packets with their reports",
        },
    ],
};

/// The block with a name.
pub fn block(id: &str) -> Option<&'static BlockInfo> {
    BLOCKS.iter().find(|block| block.id == id)
}
