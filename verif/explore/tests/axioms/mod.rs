//! Oracle of the graph engine: programs as data, and all their consistent execution graphs by brute
//! force from the published axioms. Nothing here is shared with the engine.
#![allow(dead_code)] // Each test file uses its part.

pub mod buffers;
pub mod compare;
pub mod generate;
pub mod graph;
pub mod key;
pub mod machine;
pub mod models;
pub mod program;
pub mod rel;
pub mod run;
pub mod shrink;
pub mod table;
pub mod text;
pub mod views;
