//! Search over execution graphs: who reads from whom and in which order writes take effect, not who
//! runs when. Each consistent graph of the program is built exactly once, and no other.
//!
//! After TruSt (Kokologiannakis, Marmanis, Gladstein, Vafeiadis, POPL 2022), with a lock as a
//! queue: a place in it is one read-modify-write that always succeeds, and having the lock is an
//! event that needs the one before to have given it back. So no execution is blocked by a lock
//! unless the program is.

mod bits;
mod checkpoint;
mod close;
mod drive;
mod enact;
mod events;
mod extend;
mod item;
mod linear;
mod order;
mod psc;
mod revisit;
mod search;
mod step;
mod token;
mod workers;
mod world;

pub use checkpoint::Checkpoint;
pub use drive::{estimate, Estimate};
pub(crate) use drive::{explore, replay};
pub(crate) use item::Item;
pub(crate) use search::Search;
pub use token::{Stored, Token};
pub(crate) use world::{
    end_alone, perform, with, Entered, Next, Ready, RmwName, Shared, Want, World,
};

pub use workers::{explore_team, Progress, RunWorker, Team, Wish};

use crate::trace::End;

/// Memory model of a graph search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// Sequential consistency: orders are ignored, except by the race detector.
    #[default]
    Sc,
    /// x86: stores wait in a buffer for each thread.
    Tso,
    /// Every access releases or acquires.
    Ra,
    /// C11 as repaired by Lahav and others (RC11): no load buffering.
    Rc11,
}

/// Why a run stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The execution ended.
    End(End),
    /// What it leads to is covered elsewhere, or is no execution.
    Dead,
    /// It goes on from a stored graph.
    Again,
    /// The graph needs wider sets.
    Wider,
}
