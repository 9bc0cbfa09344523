//! Documented bugs as stories, the scenarios that they and the clean runs share, and the check.
//!
//! A story is run both ways: with its switch on, the named rule must catch it; with it off, the
//! scenario must be clean, and the verdict says how far that was checked.

pub mod barriers;
pub mod check;
pub mod questions;
pub mod scenarios;
pub mod stories;
pub mod token;
pub mod work;
