//! Schedules: which thread took each step and what was chosen, as a short printable token.
//!
//! `0x3.1.c1.2x5` is three steps of thread 0, one of thread 1, a choice of 1 by whoever runs, and
//! five steps of thread 2. `-` is the empty schedule.

use crate::clock::MAX_THREADS;
use std::fmt;
use std::str::FromStr;

/// One entry of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The thread takes a step.
    Thread(u8),
    /// The running thread's choice gives this number.
    Choice(u16),
}

/// The picks of one execution, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule(pub Vec<Pick>);

/// Why a token is no schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Part of the token, counted from 1.
    pub part: usize,
    /// What is wrong with it.
    pub message: String,
}

/// More steps than any execution has; keeps a hostile token from filling the memory.
const PICKS_MAX: usize = 1_000_000;

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("-");
        }
        let mut rest = self.0.as_slice();
        let mut dot = "";
        while let Some(&pick) = rest.first() {
            let run = rest.iter().take_while(|&&p| p == pick).count();
            match pick {
                Pick::Thread(thread) => write!(f, "{dot}{thread}")?,
                Pick::Choice(value) => write!(f, "{dot}c{value}")?,
            }
            if run > 1 {
                write!(f, "x{run}")?;
            }
            dot = ".";
            rest = &rest[run..];
        }
        Ok(())
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "schedule, part {}: {}", self.part, self.message)
    }
}

impl std::error::Error for ParseError {}

impl FromStr for Schedule {
    type Err = ParseError;

    fn from_str(token: &str) -> Result<Self, ParseError> {
        let mut picks = Vec::new();
        if token.trim() == "-" {
            return Ok(Self(picks));
        }
        for (i, part) in token.trim().split('.').enumerate() {
            let wrong = |message| ParseError { part: i + 1, message };
            let (pick, run) = parse_part(part).map_err(wrong)?;
            if picks.len() + run > PICKS_MAX {
                return Err(wrong(format!("more than {PICKS_MAX} picks")));
            }
            picks.extend(std::iter::repeat_n(pick, run));
        }
        Ok(Self(picks))
    }
}

fn parse_part(part: &str) -> Result<(Pick, usize), String> {
    let (what, run) = match part.split_once('x') {
        None => (part, 1),
        Some((what, run)) => {
            let run = run.parse().map_err(|_| format!("`{run}` is no count"))?;
            if run == 0 {
                return Err("a count of 0".into());
            }
            (what, run)
        }
    };
    if let Some(value) = what.strip_prefix('c') {
        let value = value.parse().map_err(|_| format!("`{value}` is no choice"))?;
        return Ok((Pick::Choice(value), run));
    }
    match what.parse::<u8>() {
        Ok(thread) if usize::from(thread) < MAX_THREADS => Ok((Pick::Thread(thread), run)),
        Ok(thread) => Err(format!("thread {thread} is above {}", MAX_THREADS - 1)),
        Err(_) => Err(format!("`{what}` is neither a thread nor a choice such as `c1`")),
    }
}
