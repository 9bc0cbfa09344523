//! Documented bugs as stories, and the scenarios that they and the clean runs share.
//!
//! A story is run both ways: with its switch on, the named rule must catch it; with it off, the
//! scenario must be clean, and the verdict says how far that was checked.

pub mod questions;
pub mod scenarios;
pub mod stories;
