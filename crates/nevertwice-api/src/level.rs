//! When "yes" is said.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What "yes" means. `replicated` and `journaled` do not contain each other; `ledgered` contains both; all contain `decided`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The deciding memory holds it.
    Decided,
    /// The asked number of replicas confirmed it.
    Replicated,
    /// It is fsynced on the deciding node.
    Journaled,
    /// Its row is committed in the ledger.
    Ledgered,
}

impl Level {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Decided, Self::Replicated, Self::Journaled, Self::Ledgered];

    /// The word for it in the API, in configuration and in metrics.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Decided => "decided",
            Self::Replicated => "replicated",
            Self::Journaled => "journaled",
            Self::Ledgered => "ledgered",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Decided => 1,
            Self::Replicated => 2,
            Self::Journaled => 4,
            Self::Ledgered => 8,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A text that names no level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownLevel;

impl fmt::Display for UnknownLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a level is one of decided, replicated, journaled, ledgered")
    }
}

impl std::error::Error for UnknownLevel {}

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        Self::ALL.into_iter().find(|level| level.word() == text).ok_or(UnknownLevel)
    }
}

/// A set of levels: those that an answer has reached, those that a backend offers, or those that a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Levels(u8);

impl Levels {
    /// No level.
    pub const NONE: Self = Self(0);

    /// The level and all that it contains.
    #[must_use]
    pub const fn reached(level: Level) -> Self {
        Self(match level {
            Level::Decided => 1,
            Level::Replicated => 1 | 2,
            Level::Journaled => 1 | 4,
            Level::Ledgered => 1 | 2 | 4 | 8,
        })
    }

    /// Both sets together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the level is in the set.
    #[must_use]
    pub const fn contains(self, level: Level) -> bool {
        self.0 & level.bit() != 0
    }

    /// Whether all of `other` is in the set.
    #[must_use]
    pub const fn contains_all(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// The levels in the set, in the order of declaration.
    pub fn iter(self) -> impl Iterator<Item = Level> {
        Level::ALL.into_iter().filter(move |level| self.contains(*level))
    }
}

impl fmt::Debug for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Level::word)).finish()
    }
}
