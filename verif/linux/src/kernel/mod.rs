//! The kernels: built once from Debian's source package, kept in the user's cache.
//!
//! What a kernel is made of (configuration, edits, the guest's source) is hashed into the name of
//! its folder, so an old one is never taken for a new one. A folder gets its name by a rename once
//! it is whole; what was cut short has another name and is gone on with.

mod build;
mod cache;
mod command;
mod config;
pub mod cpio;
mod edits;
mod guest;
mod source;
mod tools;

pub use build::{build, Options, Stage, Watch};
pub use cache::{find, Built, Cache};
pub use command::BuildError;

/// Which kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// As Linux is.
    Plain,
    /// With everything that watches: KASAN, UBSAN, lockdep, RCU, debug objects, the DMA API.
    Sanitizers,
    /// As the sanitizers', and its ixgbe has bugs that `ixgbe.plant` switches on.
    Planted,
}

impl Kind {
    /// All, in the order in which they are built: the second shares the objects of the first.
    pub const ALL: [Kind; 3] = [Kind::Sanitizers, Kind::Planted, Kind::Plain];

    /// Its name in file names and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Plain => "plain",
            Kind::Sanitizers => "sanitizers",
            Kind::Planted => "planted",
        }
    }

    /// The edits that its source has.
    fn edits(self) -> Vec<edits::Edit> {
        let planted = if self == Kind::Planted { edits::PLANTED } else { &[] };
        edits::COMMON.iter().chain(planted).copied().collect()
    }

    /// What it is made of, but for the version of the source.
    fn key(self) -> String {
        key(&[&config::fragment(self), &format!("{:?}", self.edits()), source::LEFT_OUT_VERSION])
    }
}

/// A content key: 16 digits over all parts.
fn key(parts: &[&str]) -> String {
    let joined = parts.join("\0");
    format!("{:016x}", crate::fnv1a(joined.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kernel_has_a_key_of_its_own() {
        let keys = Kind::ALL.map(Kind::key);
        assert_eq!(keys, Kind::ALL.map(Kind::key));
        assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2]);
    }
}
