//! The rules, unchanged, on the event stream of the RTL: its queues are driven by a driver of a few
//! lines, polite and in the shape of mlx4's, which sees memory and messages alone.
#![cfg(feature = "rtl")]

use pollproof_events::{Event, Event::*, Record, RestCq};
use pollproof_lockstep::plants::{plant, Side};
use pollproof_rules::Judge;
use pollproof_sim::{Stream, Streams};
use pollproof_sync::cpu::Context;
use pollproof_verilated::rtl::pins::mlx4_completion::{Block, In, Out};
use pollproof_verilated::rtl::Rtl;
use std::collections::BTreeSet;

const EQ: usize = 0x1000;
const CQ: usize = 0x2000;
const EQ_SIZE: u32 = 8;
const CQ_SIZE: u32 = 8;
const OWNER: u8 = 0x80;
const CQN: u32 = 0;

/// A host with one CQ on one EQ, and its driver.
struct Host {
    rtl: Rtl<Block>,
    events: Vec<Event>,
    pins: In,
    memory: Vec<u8>,
    random: Stream,
    written: u32,
    ci: u32,
    eq_ci: u32,
    sn: u32,
    interrupt: bool,
    armed: bool,
}

impl Host {
    fn new(code: u8, seed: u64) -> Self {
        let mut memory = vec![0; 0x4000];
        // Software's own initialisation of the CQ.
        (0..CQ_SIZE as usize).for_each(|n| memory[CQ + 32 * n + 31] = OWNER);
        let pins = In { plant: code, wr_ready: 1, rd_ready: 1, ..In::default() };
        let random = Streams::new(seed).stream("lockstep.rules");
        let (rtl, events) = (Rtl::new(7), Vec::new());
        let (written, ci, eq_ci, sn, interrupt, armed) = (0, 0, 0, 1, false, false);
        Self { rtl, events, pins, memory, random, written, ci, eq_ci, sn, interrupt, armed }
    }

    /// One cycle; what the RTL did becomes events and memory.
    fn cycle(&mut self) -> Out {
        let output = self.rtl.cycle(&self.pins).expect("no assertion");
        self.pins.rec_valid = 0;
        if output.cpl_step != 0 {
            match output.cpl_result {
                1 => {
                    let (index, number) = (self.written, u64::from(self.pins.cpl_arrival));
                    self.written += 1;
                    self.events.push(CqeWrite { cq: CQN, index, number });
                    self.pins.cpl_valid = 0;
                }
                3 => {
                    let (producer, consumer) = (output.cq_producer, output.cq_consumer);
                    self.events.push(CqOverrun { cq: CQN, producer, consumer, size: CQ_SIZE });
                    self.pins.cpl_valid = 0;
                }
                4 => self.pins.cpl_valid = 0,
                _ => {}
            }
        }
        if output.cmd_ready != 0 && self.pins.cmd_op == 5 {
            let (consumer, sn) = (self.pins.cmd_ci, u32::from(self.pins.cmd_sn));
            let accepted = output.arm_taken != 0;
            self.events.push(CqArmed { cq: CQN, consumer, sn, accepted });
        }
        if output.fired != 0 {
            self.events.push(CqFired { cq: CQN, producer: self.written });
        }
        if output.eq_lost != 0 {
            self.events.push(EqOverrun { eq: 0 });
        }
        self.armed = output.cq_armed != 0;
        if output.rd_valid != 0 {
            self.pins.rec_valid = 1;
            (self.pins.rec_tag, self.pins.rec_ci) = (output.rd_tag, self.ci);
        }
        if output.wr_valid != 0 && output.wr_msix != 0 {
            let vector = output.wr_addr as u32;
            self.events.push(Msix { vector, delivered: true });
            self.interrupt = true;
        } else if output.wr_valid != 0 {
            let bytes = output.wr_data.iter().flat_map(|word| word.to_le_bytes());
            let at = output.wr_addr as usize;
            let to = &mut self.memory[at..at + usize::from(output.wr_len)];
            to.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        }
        output
    }

    fn command(&mut self, op: u8) {
        self.pins.cmd_valid = 1;
        self.pins.cmd_op = op;
        for _ in 0..200 {
            if self.cycle().cmd_ready != 0 {
                self.pins.cmd_valid = 0;
                return;
            }
        }
        panic!("a command is never taken");
    }

    fn arm(&mut self) {
        let (consumer, sn) = (self.ci, self.sn & 3);
        self.events.push(ArmCq { cq: CQN, napi: 0, consumer, sn });
        (self.pins.cmd_ci, self.pins.cmd_sn, self.pins.cmd_arm) = (consumer, sn as u8, 2);
        self.command(5);
    }

    fn open(&mut self) {
        self.pins.cmd_buf = EQ as u64;
        self.pins.cmd_log_size = 3;
        self.pins.cmd_vector = 4;
        self.command(0);
        self.pins.cmd_buf = CQ as u64;
        self.pins.cmd_record = 0x3000;
        self.pins.cmd_sw_init = 1;
        self.command(2);
        for _ in 0..40 {
            self.cycle();
        }
        self.events.push(RingStarted { ring: 1, cq: CQN });
        self.arm();
    }

    /// `mlx4_eq_int` and `mlx4_en_poll_rx_cq` in a few lines.
    fn handle(&mut self) {
        self.interrupt = false;
        self.events.push(Irq { vector: 4 });
        let mut events = 0;
        while (self.memory[EQ + 32 * (self.eq_ci % EQ_SIZE) as usize + 31] & OWNER != 0)
            == (self.eq_ci & EQ_SIZE != 0)
        {
            self.eq_ci += 1;
            self.sn += 1;
            events += 1;
        }
        (self.pins.cmd_ci, self.pins.cmd_arm) = (self.eq_ci, 1);
        self.command(6);
        if events == 0 {
            return;
        }
        let work = self.poll();
        self.events.push(NapiComplete { napi: 0, work, done: true });
        self.arm();
        self.events.push(PollExit { napi: 0, work, budget: 64 });
    }

    /// Takes what is there and publishes the consumer index.
    fn poll(&mut self) -> i32 {
        self.events.push(PollEnter { napi: 0, budget: 64, netpoll: false });
        let mut work = 0;
        while work < 63
            && (self.memory[CQ + 32 * (self.ci % CQ_SIZE) as usize + 31] & OWNER != 0)
                == (self.ci & CQ_SIZE != 0)
        {
            let index = self.ci;
            self.events.push(CqeConsume { cq: CQN, index, napi: 0 });
            self.ci += 1;
            work += 1;
        }
        self.events.push(CqSetCi { cq: CQN, consumer: self.ci });
        work
    }

    /// The wire: a completion, when a buffer is posted for it.
    fn receive(&mut self, arrival: u32) -> bool {
        let inside = self.written.wrapping_sub(self.ci);
        let posts = self.pins.cpl_valid == 0 && inside < CQ_SIZE;
        if posts {
            self.pins.cpl_valid = 1;
            (self.pins.cpl_arrival, self.pins.cpl_opcode) = (arrival, 1);
        }
        posts
    }

    fn run(&mut self, cycles: u32) {
        self.open();
        let mut arrivals = 0;
        for _ in 0..cycles {
            if self.random.chance(1, 8) && self.receive(arrivals) {
                let (number, flow, len) = (u64::from(arrivals), 1, 60);
                self.events.push(WireRx { number, flow, len });
                arrivals += 1;
            }
            self.cycle();
            if self.interrupt && self.random.chance(1, 40) {
                self.handle();
            } else if self.random.chance(1, 40) {
                // A socket polls: the device learns of it by the record alone.
                let work = self.poll();
                self.events.push(NapiComplete { napi: 0, work, done: false });
                self.events.push(PollExit { napi: 0, work, budget: 64 });
            }
        }
        for _ in 0..400 {
            self.cycle();
            if self.interrupt {
                self.handle();
            }
        }
        let (unconsumed, posted) = (self.written.wrapping_sub(self.ci), CQ_SIZE);
        let (armed, wakeup) = (self.armed, self.interrupt);
        let rest = RestCq { cq: CQN, napi: 0, unconsumed, posted, enabled: true, armed, wakeup };
        self.events.push(Rest(rest));
    }
}

/// What the rules say of many short lives of a queue, and how many completions these had.
fn judged(code: u8) -> (BTreeSet<&'static str>, u32) {
    let (mut found, mut written) = (BTreeSet::new(), 0);
    for seed in 0..60 {
        let mut host = Host::new(code, seed);
        host.run(300);
        found.extend(broken(&host.events));
        written += host.written;
    }
    (found, written)
}

/// Rules that an event stream breaks.
fn broken(events: &[Event]) -> Vec<&'static str> {
    // All that the driver does is done in a softirq.
    let context = Context { softirq: 1, ..Context::default() };
    let record = |(number, event): (usize, &Event)| Record {
        number: number as u64,
        step: 0,
        time_ps: 0,
        thread: 1,
        context,
        at: (file!(), line!()),
        event: *event,
    };
    let records: Vec<Record> = events.iter().enumerate().map(record).collect();
    Judge::of(&records).findings().iter().map(|f| f.rule).collect()
}

#[test]
fn a_polite_driver_on_the_rtl_breaks_no_rule() {
    let (found, written) = judged(0);
    assert!(found.is_empty(), "{found:?}");
    assert!(written > 1_000, "{written}");
}

#[test]
fn rules_see_faults_that_are_planted_in_the_rtl() {
    let caught = |id: &str, rule: &str| {
        let Some(Side::Rtl(code)) = plant(id).map(|fault| fault.side) else { panic!("{id}") };
        let (found, _) = judged(code);
        assert!(found.contains(rule), "{id}: {found:?}, not {rule}");
    };
    caught("R-CQ-OVERRUN", "RING-ARITHMETIC");
    caught("R-CQ-OWNER", "NO-LOST-WORK");
    caught("R-CQ-BEHIND", "NO-LOST-WORK");
}
