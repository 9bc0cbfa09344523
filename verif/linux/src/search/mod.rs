//! Exploration by time: episodes in one boot, each with delays of its own, and a reply due for
//! every datagram. Under simulated time the kernel is a function of the delays, so that an episode
//! that goes wrong goes wrong again.
//!
//! The driver's steps between two places where it touches a register or waits are one step here;
//! the device moves in between as the delays say. What that leaves out is in the book.

mod episode;
mod minimise;
mod token;

pub use episode::{episode, sweep, Episode, EpisodeError, ECHO_PORT};
pub use minimise::minimise;
pub use token::{Token, TokenError};

use crate::boot::{Boot, BootError};
use crate::capture;
use crate::packets;
use crate::run::{run, RunOptions, RunReport};
use crate::timing::Plan;
use crate::world::{Coming, Partner, SentFrame, MARK_PORT};
use episode::{SINK_PORT, SOURCE_PORT};
use std::cell::RefCell;
use std::rc::Rc;

/// Pause between episodes, and after the last datagram until all replies are due: shorter than the
/// driver's own watchdog, which comes every two seconds and would hide what was lost.
const PAUSE_PS: u64 = 5_000_000_000;
const PATIENCE_PS: u64 = 500_000_000_000;

/// Which episodes of a boot are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The first so many of a seed's search.
    Search {
        /// Seed.
        seed: u64,
        /// Episodes.
        episodes: u32,
    },
    /// These alone, one after the other.
    These(Vec<Episode>),
}

/// What is being searched, seen from the street.
struct Searcher {
    which: Which,
    sweep: Vec<Episode>,
    guest: [u8; 6],
    number: u32,
    current: Option<Episode>,
    /// The datagram whose reply is due; none when all are there.
    next: Option<u32>,
    deadline_ps: Option<u64>,
    plan: Option<Plan>,
    failure: Option<String>,
    over: bool,
    passed: u32,
}

impl Searcher {
    fn new(which: Which, guest: [u8; 6]) -> Self {
        Self {
            which,
            sweep: sweep(),
            guest,
            number: 0,
            current: None,
            next: None,
            deadline_ps: None,
            plan: None,
            failure: None,
            over: false,
            passed: 0,
        }
    }

    /// The next episode goes on its way; none is left when it was the last.
    fn start(&mut self, now_ps: u64) -> Coming {
        let next = match &self.which {
            Which::Search { seed, episodes } if self.number < *episodes => {
                Some(episode(&self.sweep, *seed, self.number))
            }
            Which::These(episodes) => episodes.get(self.number as usize).cloned(),
            Which::Search { .. } => None,
        };
        let Some(episode) = next else {
            self.over = true;
            self.deadline_ps = None;
            return Vec::new();
        };
        let number = self.number;
        let frames = episode.frames(self.guest, number, PAUSE_PS);
        self.plan = Some(episode.plan.clone());
        self.deadline_ps = Some(now_ps + PAUSE_PS + episode.length_ps() + PATIENCE_PS);
        (self.number, self.next) = (number + 1, episode.next_answered(0));
        self.current = Some(episode);
        frames
    }

    fn fail(&mut self, what: String) -> Coming {
        self.failure = Some(what);
        self.over = true;
        self.deadline_ps = None;
        Vec::new()
    }
}

/// A searcher that the street and the search both see.
struct Shared(Rc<RefCell<Searcher>>);

impl Partner for Shared {
    fn begin(&mut self, now_ps: u64) -> Coming {
        self.0.borrow_mut().start(now_ps)
    }

    fn answer(&mut self, sent: &SentFrame) -> Coming {
        let mut search = self.0.borrow_mut();
        let Some(episode) = search.current.clone() else { return Vec::new() };
        let is_echo = |frame: &[u8]| frame.get(34..36) == Some(&ECHO_PORT.to_be_bytes());
        if !is_echo(&sent.bytes) {
            return Vec::new();
        }
        let number = search.number - 1;
        let Some(index) = search.next else {
            return search.fail("all replies came and then another one".to_owned());
        };
        let wanted = (ECHO_PORT, SOURCE_PORT, episode.payload(number, index));
        match packets::datagram_of(&sent.bytes) {
            Some(got) if got == wanted => {}
            Some((_, _, payload)) => {
                let said = describe(&payload, &episode, number);
                return search.fail(format!("the reply to datagram {index} was due, {said}"));
            }
            None => return search.fail(format!("the reply to datagram {index} is malformed")),
        }
        search.next = episode.next_answered(index + 1);
        if search.next.is_some() {
            return Vec::new();
        }
        search.passed += 1;
        search.start(sent.at_ps)
    }

    fn deadline_ps(&self) -> Option<u64> {
        self.0.borrow().deadline_ps
    }

    fn expire(&mut self, _now_ps: u64) -> Coming {
        let mut search = self.0.borrow_mut();
        let next = search.next.unwrap_or(0);
        let patience_ms = PATIENCE_PS / 1_000_000_000;
        search
            .fail(format!("no reply to datagram {next}, {patience_ms} ms after the last was sent"))
    }

    fn take_plan(&mut self) -> Option<Plan> {
        self.0.borrow_mut().plan.take()
    }

    fn is_over(&self) -> bool {
        self.0.borrow().over
    }
}

/// What a payload is that was not due.
fn describe(payload: &[u8], episode: &Episode, number: u32) -> String {
    let word = |at: usize| {
        let field = payload.get(at..).and_then(|bytes| bytes.first_chunk::<4>());
        field.map_or(u32::MAX, |bytes| u32::from_be_bytes(*bytes))
    };
    let (of, index) = (word(0), word(4));
    if of == number && index < episode.count && payload == episode.payload(number, index) {
        format!("that to {index} came")
    } else if of == number && index < episode.count {
        format!("one to {index} came whose bytes are not what was sent")
    } else {
        "and one came that fits nothing".to_owned()
    }
}

/// How a search is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Kernel and guest; the script is made here.
    pub boot: Boot,
    /// Receive and transmit descriptors.
    pub ring: u32,
    /// Interval of moderation, microseconds; 1 is adaptive.
    pub rx_usecs: u32,
}

/// What a boot of a search gave.
#[derive(Debug)]
pub struct Searched {
    /// Episodes that passed.
    pub passed: u32,
    /// What went wrong, and in which episode.
    pub failure: Option<(u32, Episode, String)>,
    /// The run.
    pub report: RunReport,
}

/// The guest's script.
fn script(setup: &Setup) -> String {
    let (ring, usecs) = (setup.ring, setup.rx_usecs);
    let lines = [
        "device 0000:00:00.0".to_owned(),
        format!("rings rx={ring}"),
        "up".to_owned(),
        format!("coalesce rx-usecs={usecs}"),
        "address 10.0.0.1".to_owned(),
        "neighbour 10.0.0.2 02:00:00:00:00:02".to_owned(),
        "wait-carrier".to_owned(),
        format!("udp {ECHO_PORT}"),
        format!("udp {SINK_PORT} sink"),
        // Just after the link came up the watchdog comes soon, and would rescue the first episode.
        "sleep 250".to_owned(),
        format!("send 10.0.0.2 {MARK_PORT}"),
        "sleep 100000000".to_owned(),
    ];
    lines.join("\n") + "\n"
}

/// Runs the episodes of one boot, up to the first that goes wrong.
pub fn search(setup: &Setup, which: Which) -> Result<Searched, BootError> {
    let mut boot = setup.boot.clone().with(&script(setup));
    boot.simulated = true;
    let mut options = RunOptions::new(boot);
    // A search of many episodes takes what it takes; the kernel must just go on.
    options.limits.wall = std::time::Duration::from_secs(3600);
    options.limits.simulated_ns = 100_000_000_000_000;
    let searcher = Rc::new(RefCell::new(Searcher::new(which, options.device.mac)));
    options.partner = Some(Box::new(Shared(searcher.clone())));
    let report = run(options)?;
    let search = searcher.borrow();
    let failure = search.failure.clone().or_else(|| other_problem(&report, search.over));
    let failure = failure.and_then(|what| {
        let episode = search.current.clone()?;
        Some((search.number.saturating_sub(1), episode, what))
    });
    Ok(Searched { passed: search.passed, failure, report })
}

/// What is wrong although all replies came: what the kernel or the rules say. A search ends by
/// killing the kernel, which is no problem then.
fn other_problem(report: &RunReport, over: bool) -> Option<String> {
    let all = capture::problems(report);
    all.into_iter().find(|what| !(over && what.contains("did not switch itself off")))
}
