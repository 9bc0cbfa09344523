//! What a search has left to do and has counted, as text: put away when it is stopped, taken up
//! again later. Refused when program or engine are others.

use super::token;
use super::{Item, Model};
use crate::{Config, Coverage, Summary};
use std::fmt;
use std::str::FromStr;

/// Changes whenever the order of the search or the meaning of a stored graph does.
const FORMAT: &str = "pollproof-explore checkpoint 1";

/// A search that can be taken up again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// What the caller calls the program; taking up another one is refused.
    pub program: String,
    pub(crate) model: Model,
    pub(crate) plain_locks: bool,
    pub(crate) names: Vec<(u8, u16)>,
    pub(crate) executions: u64,
    pub(crate) blocked: u64,
    pub(crate) steps: u64,
    pub(crate) items: Vec<Item>,
}

impl Checkpoint {
    /// The beginning of a search.
    pub fn new(program: &str, config: &Config) -> Self {
        Self {
            program: program.into(),
            model: config.model,
            plain_locks: config.plain_locks,
            names: Vec::new(),
            executions: 0,
            blocked: 0,
            steps: 0,
            items: vec![Item::default()],
        }
    }

    /// Whether nothing is left to do.
    pub fn is_done(&self) -> bool {
        self.items.is_empty()
    }

    /// Counts so far.
    pub fn summary(&self) -> Summary {
        let coverage = if self.is_done() { Coverage::Exhausted } else { Coverage::Stopped };
        let Self { executions, blocked, steps, .. } = *self;
        Summary { executions, blocked, steps, coverage }
    }

    /// Whether it belongs to this program under this configuration; else why not.
    pub fn fits(&self, program: &str, config: &Config) -> Result<(), String> {
        if self.program != program {
            return Err(format!("it is of the program '{}', not of '{program}'", self.program));
        }
        if self.model != config.model || self.plain_locks != config.plain_locks {
            return Err(format!("it is of a search under {}", self.model.name()));
        }
        Ok(())
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FORMAT}")?;
        writeln!(f, "engine {}", env!("CARGO_PKG_VERSION"))?;
        writeln!(f, "program {}", self.program)?;
        writeln!(f, "counts {} {} {}", self.executions, self.blocked, self.steps)?;
        write!(f, "threads")?;
        self.names.iter().try_for_each(|(parent, nth)| write!(f, " {parent}.{nth}"))?;
        writeln!(f)?;
        writeln!(f, "left {}", self.items.len())?;
        for item in &self.items {
            writeln!(f, "{}", token::print(self.model, self.plain_locks, &item.0))?;
        }
        // Says that nothing was cut off.
        writeln!(f, "model {}", token::print(self.model, self.plain_locks, &[]))
    }
}

impl FromStr for Checkpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().enumerate();
        let mut field = |name: &'static str| -> Result<String, String> {
            let (at, line) = lines.next().ok_or_else(|| format!("it ends before '{name}'"))?;
            match line.strip_prefix(name) {
                Some(rest) => Ok(rest.trim().to_string()),
                None => Err(format!("line {}: not '{name}'", at + 1)),
            }
        };
        field(FORMAT).map_err(|_| format!("it does not begin with '{FORMAT}'"))?;
        let engine = field("engine")?;
        if engine != env!("CARGO_PKG_VERSION") {
            return Err(format!("it was made by version {engine} of the engine"));
        }
        let program = field("program")?;
        let counts: Vec<u64> = numbers(&field("counts")?)?;
        let &[executions, blocked, steps] = counts.as_slice() else {
            return Err("line 4: not three counts".into());
        };
        let names = field("threads")?;
        let names = names.split_whitespace().map(name).collect::<Result<Vec<_>, _>>()?;
        let left = field("left")?;
        let left: usize = left.parse().map_err(|_| format!("line 6: '{left}' is no number"))?;
        let mut items = Vec::new();
        let mut kind = None;
        for (at, line) in lines.by_ref().take(left) {
            let wrong = |why| format!("line {}: {why}", at + 1);
            let graph = token::parse(line).map_err(wrong)?;
            let this = (graph.model, graph.plain_locks);
            if *kind.get_or_insert(this) != this {
                return Err(wrong("another memory model than the lines before".into()));
            }
            items.push(graph.item);
        }
        let last = lines.next().and_then(|(_, line)| line.strip_prefix("model "));
        let last = last.ok_or("it was cut off: the last line is missing")?;
        let end = token::parse(last)?;
        let (model, plain_locks) = (end.model, end.plain_locks);
        if kind.is_some_and(|k| k != (model, plain_locks)) || items.len() != left {
            return Err("the last line does not fit the others".into());
        }
        Ok(Self { program, model, plain_locks, names, executions, blocked, steps, items })
    }
}

fn numbers(text: &str) -> Result<Vec<u64>, String> {
    let number = |word: &str| word.parse().map_err(|_| format!("'{word}' is no number"));
    text.split_whitespace().map(number).collect()
}

fn name(word: &str) -> Result<(u8, u16), String> {
    let parts = word.split_once('.');
    let parsed = parts.and_then(|(p, n)| Some((p.parse().ok()?, n.parse().ok()?)));
    match parsed {
        Some((parent, nth)) if usize::from(parent) < crate::MAX_THREADS => Ok((parent, nth)),
        _ => Err(format!("'{word}' is no thread")),
    }
}
