//! The blocks: how each is driven, and what of both sides is put beside each other.

pub mod irq;
pub mod mlx4;
mod rings;
pub mod rx;
pub mod tx;

use crate::lock::Lock;
use crate::tape::Tape;
use pollproof_verilated::rtl::Block;

/// A block beside its model.
pub trait Bench: Sized {
    /// The RTL's pins.
    type Block: Block;
    /// A model after power on, and what the case is like. `plant` is for the RTL.
    fn new(tape: &mut Tape, plant: u8) -> Self;
    /// Pins of the next cycle.
    fn drive(&mut self, tape: &mut Tape) -> <Self::Block as Block>::In;
    /// What the RTL did in it: the model does the same, and both are compared.
    fn observe(&mut self, input: &<Self::Block as Block>::In, output: &<Self::Block as Block>::Out);
    /// The books.
    fn lock(&mut self) -> &mut Lock;
}

/// Whether a share of 16 of a word, by the four bits at `shift`, is hit; never by zero bits.
#[inline]
fn hit(word: u32, shift: u32, share: u32) -> bool {
    (word >> shift & 15) > 15 - share
}
