//! How a store of keys in SQL is set up.

use std::fmt;
use std::sync::Arc;

/// What the store's clock shows.
#[derive(Clone, Default)]
pub enum KeyClock {
    /// The database's clock, which is read with each record: all processes that share the database share it.
    #[default]
    Database,
    /// Milliseconds since 1970, as somebody else tells them.
    Given(Arc<dyn Fn() -> i64 + Send + Sync>),
}

impl fmt::Debug for KeyClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Database => "Database",
            Self::Given(_) => "Given",
        })
    }
}

/// How a store of keys in SQL is set up.
#[derive(Clone, Debug)]
pub struct SqlKeyOptions {
    /// How many records it holds. At the bound new claims are refused, and none is thrown away. Each process counts for itself between
    /// two rounds of its sweeps, so several may go past it by what they add meanwhile.
    pub records_max: u64,
    /// How many bytes all answers may have together; counted in the same way. At the bound new claims are refused, and answers that
    /// come are not kept whole.
    pub answers_bytes_max: u64,
    /// How many bytes one answer may have, head and body together.
    pub answer_bytes_max: u64,
    /// How long one command may take, in milliseconds. One that takes longer before it writes has done nothing; one that takes longer
    /// while it writes has an outcome that nobody knows.
    pub command_ms_max: u64,
    /// What its clock shows.
    pub clock: KeyClock,
}

impl Default for SqlKeyOptions {
    fn default() -> Self {
        Self {
            records_max: 10_000_000,
            answers_bytes_max: 16 << 30,
            answer_bytes_max: 1 << 20,
            command_ms_max: 1_500,
            clock: KeyClock::Database,
        }
    }
}
