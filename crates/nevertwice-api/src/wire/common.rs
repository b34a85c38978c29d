//! What every answer has.

use nevertwice_core::Position;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Level, Levels};

/// The answer to a command that was accepted, now or before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Envelope<T> {
    /// What happened: made from the entry alone, the same in every replay.
    pub result: T,
    /// Whether it had happened before, with the same key.
    pub replayed: bool,
    /// The shard's position as of which this is said, `epoch-seq`.
    pub position: String,
    /// The levels that this position has reached.
    pub levels: Vec<Level>,
}

impl<T> Envelope<T> {
    /// Puts an answer together.
    #[must_use]
    pub fn new(result: T, replayed: bool, position: Position, levels: Levels) -> Self {
        Self { result, replayed, position: position.to_string(), levels: levels.iter().collect() }
    }
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Read<T> {
    /// What was read.
    pub result: T,
    /// The shard's position as of which it was read, `epoch-seq`.
    pub position: String,
    /// The levels that this position has reached.
    pub levels: Vec<Level>,
}

impl<T> Read<T> {
    /// Puts what was read together.
    #[must_use]
    pub fn new(result: T, position: Position, levels: Levels) -> Self {
        Self { result, position: position.to_string(), levels: levels.iter().collect() }
    }
}

/// How far a position is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AckLevels {
    /// The position.
    pub position: String,
    /// The levels that it has reached.
    pub levels: Vec<Level>,
}

/// Whether the server lives, and can work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// `ok`, or the code of what is wrong.
    pub status: String,
}
