//! A place in a shard's history.

use core::fmt;
use core::str::FromStr;

use crate::fields::fields;

fields! {
    /// The place of an entry in its shard's history, written `epoch-seq`.
    ///
    /// `seq` has no gaps; `epoch` counts adoptions. Two histories of a failover share their `seq`s, so positions are compared
    /// whole, never by `seq` alone.
    #[derive(Copy, PartialOrd, Ord, Hash, Default)]
    pub struct Position {
        /// How often a deciding place was adopted for the shard, up to this entry.
        pub epoch: u32,
        /// The number of the entry in its shard, from 1; 0 before the first.
        pub seq: u64,
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.seq)
    }
}

/// A text that is not a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAPosition;

impl fmt::Display for NotAPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a position is written epoch-seq, two whole numbers without signs or leading zeros")
    }
}

impl core::error::Error for NotAPosition {}

impl FromStr for Position {
    type Err = NotAPosition;

    fn from_str(text: &str) -> Result<Self, NotAPosition> {
        fn is_plain(digits: &str) -> bool {
            digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits.len() == 1 || !digits.starts_with('0'))
        }
        let (epoch, seq) = text.split_once('-').ok_or(NotAPosition)?;
        if !is_plain(epoch) || !is_plain(seq) {
            return Err(NotAPosition);
        }
        Ok(Self { epoch: epoch.parse().map_err(|_| NotAPosition)?, seq: seq.parse().map_err(|_| NotAPosition)? })
    }
}
