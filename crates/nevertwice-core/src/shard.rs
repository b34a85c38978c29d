//! The unit of order.

use core::fmt;
use core::str::FromStr;

use crate::Name;
use crate::fields::{fields, words};

words! {
    /// What a shard is.
    #[derive(Hash)]
    pub enum ShardKind {
        /// Instruments and accounts that trade them.
        1 => Market = "market",
        /// Seats, and candidates who want them.
        2 => Sale = "sale",
    }
}

fields! {
    /// One market or one sale: everything that one decision reads and writes lives in one shard.
    #[derive(PartialOrd, Ord, Hash)]
    pub struct ShardId {
        /// Which of the two.
        pub kind: ShardKind,
        /// Its name, unique within its kind.
        pub name: Name,
    }
}

impl ShardId {
    /// The market of that name.
    #[must_use]
    pub const fn market(name: Name) -> Self {
        Self { kind: ShardKind::Market, name }
    }

    /// The sale of that name.
    #[must_use]
    pub const fn sale(name: Name) -> Self {
        Self { kind: ShardKind::Sale, name }
    }
}

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.word(), self.name)
    }
}

/// A text that names no shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAShard;

impl fmt::Display for NotAShard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a shard is written market/NAME or sale/NAME")
    }
}

impl core::error::Error for NotAShard {}

impl FromStr for ShardId {
    type Err = NotAShard;

    fn from_str(text: &str) -> Result<Self, NotAShard> {
        let (kind, name) = text.split_once('/').ok_or(NotAShard)?;
        let name = Name::new(name).map_err(|_| NotAShard)?;
        match kind {
            "market" => Ok(Self::market(name)),
            "sale" => Ok(Self::sale(name)),
            _ => Err(NotAShard),
        }
    }
}
