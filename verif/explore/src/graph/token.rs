//! A graph as one printable word, for executions that no schedule can replay: `tso:` and its events
//! in the order of their adding, `1r5`: thread 1 reads from event 5, `0w1.2`: a store of thread 0
//! to the place 2 of location 1.

use super::item::{Item, Kind, Packed, INIT};
use super::Model;
use crate::clock::MAX_THREADS;
use crate::schedule::{ParseError, Schedule};
use std::fmt::{self, Write};
use std::str::FromStr;

const LETTERS: [(Kind, char); 9] = [
    (Kind::Read, 'r'),
    (Kind::Write, 'w'),
    (Kind::RmwWrite, 'x'),
    (Kind::Request, 'q'),
    (Kind::Grant, 'g'),
    (Kind::Unlock, 'u'),
    (Kind::Fence, 'f'),
    (Kind::Choose, 'c'),
    (Kind::Rest, 'z'),
];

impl Model {
    /// Its name in tokens and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sc => "sc",
            Self::Tso => "tso",
            Self::Ra => "ra",
            Self::Rc11 => "rc11",
        }
    }

    /// All models.
    pub const ALL: [Self; 4] = [Self::Sc, Self::Tso, Self::Ra, Self::Rc11];
}

/// What replays an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A schedule, where values are never stale.
    Schedule(Schedule),
    /// A graph.
    Graph(Stored),
}

/// A graph, with how it is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub(crate) model: Model,
    pub(crate) plain_locks: bool,
    pub(crate) item: Item,
}

impl Stored {
    /// Memory model under which it is an execution.
    pub fn model(&self) -> Model {
        self.model
    }
}

impl FromStr for Token {
    type Err = String;

    fn from_str(token: &str) -> Result<Self, String> {
        if token.contains(':') {
            parse(token).map(Self::Graph)
        } else {
            token.parse().map(Self::Schedule).map_err(|e: ParseError| e.to_string())
        }
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schedule(schedule) => schedule.fmt(f),
            Self::Graph(g) => f.write_str(&print(g.model, g.plain_locks, &g.item.0)),
        }
    }
}

/// More events than any graph has; keeps a hostile token from filling the memory.
const EVENTS_MAX: usize = 4096;

pub(crate) fn print(model: Model, plain_locks: bool, events: &[Packed]) -> String {
    let mut text = format!("{}{}:", model.name(), if plain_locks { "+plain" } else { "" });
    for (i, p) in events.iter().enumerate() {
        let letter = LETTERS.iter().find(|l| l.0 == p.kind).map_or('?', |l| l.1);
        let dash = if i > 0 { "-" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{dash}{}{letter}{}", p.thread, p.loc);
        let _ = match p.kind {
            Kind::Read if p.rf == INIT => write!(text, ".i"),
            Kind::Read | Kind::Choose => write!(text, ".{}", p.rf),
            Kind::Request if p.rf == INIT => write!(text, ".i.{}", p.pos),
            Kind::Request => write!(text, ".{}.{}", p.rf, p.pos),
            Kind::Write | Kind::RmwWrite => write!(text, ".{}", p.pos),
            _ => Ok(()),
        };
    }
    text
}

/// The model, whether locks are plain, and the graph. What it says is checked against the program
/// when it is run; here only that it is a graph.
pub(crate) fn parse(token: &str) -> Result<Stored, String> {
    let (name, events) = token.trim().split_once(':').ok_or("no `:` after the memory model")?;
    let (name, plain) = match name.strip_suffix("+plain") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let model = Model::ALL.into_iter().find(|m| m.name() == name);
    let model = model.ok_or_else(|| format!("`{name}` is no memory model"))?;
    let mut item = Item::default();
    for (i, part) in events.split('-').filter(|p| !p.is_empty()).enumerate() {
        if i >= EVENTS_MAX {
            return Err(format!("more than {EVENTS_MAX} events"));
        }
        let wrong = |what: &str| format!("event {i}, `{part}`: {what}");
        item.0.push(parse_event(part).map_err(|what| wrong(&what))?);
    }
    check(&item)?;
    Ok(Stored { model, plain_locks: plain, item })
}

fn parse_event(part: &str) -> Result<Packed, String> {
    let at = part.find(|c: char| c.is_ascii_alphabetic()).ok_or("no kind")?;
    let thread: u8 = part[..at].parse().map_err(|_| "no thread")?;
    if usize::from(thread) >= MAX_THREADS {
        return Err(format!("thread {thread} is above {}", MAX_THREADS - 1));
    }
    let mut rest = part[at..].chars();
    let letter = rest.next().unwrap_or('?');
    let kind = LETTERS.iter().find(|l| l.1 == letter).ok_or("unknown kind")?.0;
    let mut numbers = rest.as_str().split('.');
    let number = |text: Option<&str>| -> Result<u16, String> {
        match text {
            Some("i") => Ok(INIT),
            Some(n) => match n.parse() {
                Ok(n) if n < INIT => Ok(n),
                _ => Err(format!("`{n}` is no number")),
            },
            None => Err("a number is missing".into()),
        }
    };
    let loc = number(numbers.next())?;
    let mut p = Packed { thread, kind, loc, rf: INIT, pos: 0 };
    match kind {
        Kind::Read | Kind::Choose => p.rf = number(numbers.next())?,
        Kind::Request => {
            p.rf = number(numbers.next())?;
            p.pos = number(numbers.next())?;
        }
        Kind::Write | Kind::RmwWrite => p.pos = number(numbers.next())?,
        _ => {}
    }
    if loc == INIT || numbers.next().is_some() {
        return Err("too many numbers".into());
    }
    Ok(p)
}

/// Sources are writes of the same location and places are dense, so that nothing later can fail on
/// them.
fn check(item: &Item) -> Result<(), String> {
    let mut places: std::collections::BTreeMap<u16, Vec<u16>> = Default::default();
    for (i, p) in item.0.iter().enumerate() {
        if p.kind.reads() && p.rf != INIT {
            let source = item.0.get(p.rf as usize);
            let fits = |s: &Packed| match p.kind {
                Kind::Request => s.kind == Kind::Request,
                _ => matches!(s.kind, Kind::Write | Kind::RmwWrite),
            };
            if !source.is_some_and(|s| s.loc == p.loc && fits(s)) {
                return Err(format!("event {i} reads from what is no write of its location"));
            }
        }
        if p.kind.is_ordered() {
            places.entry(p.loc).or_default().push(p.pos);
        }
    }
    for (loc, mut places) in places {
        places.sort_unstable();
        if places.iter().enumerate().any(|(i, &p)| p as usize != i + 1) {
            return Err(format!("the places of location {loc} are not 1, 2, 3, ..."));
        }
    }
    Ok(())
}
