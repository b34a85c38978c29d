//! The unit of order.

use core::fmt;

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
