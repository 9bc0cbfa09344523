//! A finding of a search as one line of text, from which it is run again.

use super::{EpisodeError, Which};
use crate::timing::DELAY_MAX_NS;
use std::fmt;
use std::str::FromStr;

/// What replays a finding: kernel, set-up and episodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Name of the kernel: `plain`, `sanitizers`, `planted`.
    pub kernel: String,
    /// Bugs that are switched on in a planted kernel, as bits.
    pub plant: u32,
    /// Descriptors of a ring.
    pub ring: u32,
    /// Interval of moderation, microseconds.
    pub rx_usecs: u32,
    /// Episodes.
    pub which: Which,
}

/// Why a text is no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Its shape.
    #[error("a token of a search has the form linux/ixgbe/KERNEL/PLANT/RING/USECS/EPISODES")]
    Shape,
    /// A number.
    #[error("token: {0} is no number that fits")]
    Number(&'static str),
    /// The episode.
    #[error("token: {0}")]
    Episode(#[from] EpisodeError),
}

/// First words of every token.
const PREFIX: &str = "linux/ixgbe/";

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, plant, ring, rx_usecs, which } = self;
        write!(f, "{PREFIX}{kernel}/{plant}/{ring}/{rx_usecs}/")?;
        match which {
            Which::Search { seed, episodes } => write!(f, "search:{seed}:{episodes}"),
            Which::Around { base, delay_ns } => write!(f, "around:{delay_ns}:{base}"),
            Which::These(episodes) => {
                let all: Vec<String> = episodes.iter().map(ToString::to_string).collect();
                write!(f, "these:{}", all.join("+"))
            }
        }
    }
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let rest = text.strip_prefix(PREFIX).ok_or(TokenError::Shape)?;
        let parts: Vec<&str> = rest.splitn(5, '/').collect();
        let &[kernel, plant, ring, rx_usecs, which] = parts.as_slice() else {
            return Err(TokenError::Shape);
        };
        let number = |text: &str, name| text.parse().map_err(|_| TokenError::Number(name));
        let which = match which.split_once(':').ok_or(TokenError::Shape)? {
            ("these", episodes) => {
                let all: Result<Vec<_>, _> = episodes.split('+').map(str::parse).collect();
                Which::These(all?)
            }
            ("around", rest) => {
                let (delay, base) = rest.split_once(':').ok_or(TokenError::Shape)?;
                let delay_ns = delay.parse().map_err(|_| TokenError::Number("the delay"))?;
                if delay_ns > DELAY_MAX_NS {
                    return Err(TokenError::Number("the delay"));
                }
                Which::Around { base: base.parse()?, delay_ns }
            }
            ("search", rest) => {
                let (seed, episodes) = rest.split_once(':').ok_or(TokenError::Shape)?;
                let seed = seed.parse().map_err(|_| TokenError::Number("the seed"))?;
                Which::Search { seed, episodes: number(episodes, "the number of episodes")? }
            }
            _ => return Err(TokenError::Shape),
        };
        Ok(Self {
            kernel: kernel.chars().take(40).collect(),
            plant: number(plant, "the set of planted bugs")?,
            ring: number(ring, "the size of the ring")?,
            rx_usecs: number(rx_usecs, "the interval of moderation")?,
            which,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_its_text() {
        for text in [
            "linux/ixgbe/planted/1/128/100/these:130x18/67;dma-write=500+2x18/67q;",
            "linux/ixgbe/sanitizers/0/64/1/search:7:200",
            "linux/ixgbe/plain/0/80/100/around:2000:66x18/67q;",
        ] {
            let token: Token = text.parse().expect(text);
            assert_eq!(token.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_token_is_told() {
        for (text, why) in [
            ("", "has the form"),
            ("linux/ixgbe/planted/1/128/100", "has the form"),
            ("linux/ixgbe/planted/x/128/100/these:1x18/67", "planted bugs"),
            ("linux/ixgbe/planted/1/128/100/these:1y18/67", "no burst"),
            ("linux/ixgbe/planted/1/128/100/search:x:1", "the seed"),
            ("linux/ixgbe/planted/1/128/100/many:1", "has the form"),
        ] {
            let error = text.parse::<Token>().expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
