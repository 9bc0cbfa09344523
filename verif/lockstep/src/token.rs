//! Replay tokens: `lockstep/BLOCK[+PLANT]@HASH:SEED.CASE`.
//!
//! The hash covers block, plant and version, as that of other tokens.

use crate::equivalence::{block, BlockInfo};
use crate::plants::{plant, Plant};
use crate::run::Options;

/// What such tokens begin with.
pub const LEAD: &str = "lockstep/";

/// Why a token was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It has not the form of a token.
    #[error("a token looks like lockstep/BLOCK+PLANT@HASH:SEED.CASE; {0}")]
    Form(&'static str),
    /// Unknown block.
    #[error("unknown block '{0}'; 'pollproof lockstep --list' shows them")]
    Block(String),
    /// Unknown plant.
    #[error("unknown planted fault '{0}'; 'pollproof lockstep --list' shows them")]
    Plant(String),
    /// Made by another version.
    #[error("the token was made by another version of the suite (hash {found}, here {here})")]
    Hash {
        /// In the token.
        found: String,
        /// Of this binary.
        here: String,
    },
}

fn hash(block: &str, plant: &str) -> String {
    // FNV-1a, 32 bits: enough to tell versions apart, short enough to copy.
    let text = [block, "+", plant, "@", env!("CARGO_PKG_VERSION")].concat();
    let hash =
        text.bytes().fold(0x811c_9dc5_u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    format!("{hash:08x}")
}

/// The token of a case.
pub fn token(block: &str, plant: Option<&Plant>, seed: u64, case: u64) -> String {
    let id = plant.map_or("", |plant| plant.id);
    let plus = if id.is_empty() { "" } else { "+" };
    format!("{LEAD}{block}{plus}{id}@{}:{seed}.{case}", hash(block, id))
}

/// What a token names.
pub fn parse(token: &str) -> Result<(&'static BlockInfo, Options), TokenError> {
    let rest = token.strip_prefix(LEAD).ok_or(TokenError::Form("it begins with 'lockstep/'"))?;
    let (what, rest) = rest.split_once('@').ok_or(TokenError::Form("the '@' is missing"))?;
    let (found, place) = rest.split_once(':').ok_or(TokenError::Form("the ':' is missing"))?;
    let (id, planted) = what.split_once('+').unwrap_or((what, ""));
    let info = block(id).ok_or_else(|| TokenError::Block(id.into()))?;
    let fault = match plant(planted).filter(|plant| plant.block == info.id) {
        Some(plant) => Some(plant),
        None if planted.is_empty() => None,
        None => return Err(TokenError::Plant(planted.into())),
    };
    let here = hash(info.id, fault.map_or("", |plant| plant.id));
    if found != here {
        return Err(TokenError::Hash { found: found.into(), here });
    }
    let numbers = TokenError::Form("after the ':' come a seed and a case, as in 7.12");
    let (seed, case) = place.split_once('.').ok_or(numbers.clone())?;
    let seed = seed.parse().map_err(|_| numbers.clone())?;
    let first = case.parse().map_err(|_| numbers)?;
    Ok((info, Options { seed, first, cases: 1, plant: fault, wave: None }))
}
