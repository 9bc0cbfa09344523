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
use crate::run::{board, run, RunOptions, RunReport};
use crate::timing::Plan;
use crate::world::{Coming, Partner, SentFrame, MARK_PORT};
use episode::{SINK_PORT, SOURCE_PORT};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Pause between episodes, and after the last datagram until all replies are due: shorter than the
/// driver's own watchdog, which comes every two seconds and would hide what was lost.
const PAUSE_PS: u64 = 5_000_000_000;
const PATIENCE_PS: u64 = 500_000_000_000;

/// Episodes that are remembered.
const HISTORY: usize = 64;

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
    /// This one as it is; then, for each of the points that it passed, with that one delayed.
    Around {
        /// It.
        base: Episode,
        /// Delay, nanoseconds.
        delay_ns: u64,
    },
}

/// What is being searched, seen from the street.
struct Searcher {
    which: Which,
    sweep: Vec<Episode>,
    guest: [u8; 6],
    number: u32,
    current: Option<Episode>,
    /// The last ones, this included.
    history: VecDeque<Episode>,
    /// The datagram whose reply is due; none when all are there.
    next: Option<u32>,
    deadline_ps: Option<u64>,
    plan: Option<Plan>,
    failure: Option<String>,
    over: bool,
    passed: u32,
    /// Points that the first episode passed, and those of the current one so far.
    points: u64,
    points_now: u64,
}

impl Searcher {
    fn new(which: Which, guest: [u8; 6]) -> Self {
        Self {
            which,
            sweep: sweep(),
            guest,
            number: 0,
            current: None,
            history: VecDeque::new(),
            next: None,
            deadline_ps: None,
            plan: None,
            failure: None,
            over: false,
            passed: 0,
            points: 0,
            points_now: 0,
        }
    }

    /// The next episode goes on its way; none is left when it was the last.
    fn start(&mut self, now_ps: u64) -> Coming {
        let next = match &self.which {
            Which::Search { seed, episodes } if self.number < *episodes => {
                Some(episode(&self.sweep, *seed, self.number))
            }
            Which::These(episodes) => episodes.get(self.number as usize).cloned(),
            Which::Around { base, delay_ns } => self.around(base, *delay_ns),
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
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(episode.clone());
        self.current = Some(episode);
        frames
    }

    /// The base at first, then with its points delayed one by one.
    fn around(&self, base: &Episode, delay_ns: u64) -> Option<Episode> {
        let Some(point) = u64::from(self.number).checked_sub(1) else { return Some(base.clone()) };
        let mut episode = base.clone();
        *episode.plan.deviations_ns.entry(point).or_default() += delay_ns;
        (point < self.points).then_some(episode)
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
        if search.passed == 1 {
            search.points = search.points_now;
        }
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

    fn passed(&mut self, points: u64) {
        self.0.borrow_mut().points_now = points;
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
    /// The last episodes, the one that went wrong included.
    pub history: Vec<Episode>,
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
    let searcher = Rc::new(RefCell::new(Searcher::new(which, board().mac)));
    options.partner = Some(Box::new(Shared(searcher.clone())));
    let report = run(options)?;
    let search = searcher.borrow();
    let failure = search.failure.clone().or_else(|| other_problem(&report, search.over));
    let failure = failure.and_then(|what| {
        let episode = search.current.clone()?;
        Some((search.number.saturating_sub(1), episode, what))
    });
    let history = search.history.iter().cloned().collect();
    Ok(Searched { passed: search.passed, history, failure, report })
}

/// What is wrong although all replies came: what the kernel or the rules say. A search ends by
/// killing the kernel, which is no problem then.
fn other_problem(report: &RunReport, over: bool) -> Option<String> {
    let all = capture::problems(report);
    all.into_iter().find(|what| !(over && what.contains("did not switch itself off")))
}
