//! A state out of the ledger's entries.

use std::fmt;

use nevertwice_api::encoding::decode_entry;
use nevertwice_core::{Position, ShardId, State};

use crate::{Database, DatabaseFailure};

/// How many entries are fetched at once.
const FETCHED_MAX: u32 = 2_000;

/// Why a state can't be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RebuildFailure {
    /// The database did not serve.
    Database(DatabaseFailure),
    /// The ledger has nothing of the shard.
    Unknown,
    /// An entry can't be read, or does not follow from those before it.
    Damaged {
        /// Which.
        position: Position,
        /// What was found.
        what: String,
    },
}

impl fmt::Display for RebuildFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(failure) => failure.fmt(f),
            Self::Unknown => f.write_str("the ledger has no entry of this shard"),
            Self::Damaged { position, what } => write!(f, "entry {position} of the ledger: {what}"),
        }
    }
}

impl std::error::Error for RebuildFailure {}

impl From<DatabaseFailure> for RebuildFailure {
    fn from(failure: DatabaseFailure) -> RebuildFailure {
        RebuildFailure::Database(failure)
    }
}

/// Makes a shard's state by applying its entries from the first on. `seen` hears after each piece how many there were. Nothing is
/// decided anew.
///
/// # Errors
/// If there are none, or one does not follow from those before it.
pub async fn rebuild(database: &Database, shard: &ShardId, seed: (u64, u64), mut seen: impl FnMut(u64)) -> Result<State, RebuildFailure> {
    let mut state: Option<State> = None;
    let (mut last, mut count) = (Position::default(), 0);
    loop {
        let piece = database.entries_after(shard, last.seq, FETCHED_MAX).await?;
        if piece.is_empty() {
            return state.ok_or(RebuildFailure::Unknown);
        }
        for row in piece {
            let damaged = |what: String| RebuildFailure::Damaged { position: row.position, what };
            let entry = decode_entry(&row.bytes).map_err(|error| damaged(error.to_string()))?;
            if entry.position != row.position || entry.shard != *shard {
                return Err(damaged(format!("its bytes are those of {} of {}", entry.position, entry.shard)));
            }
            let state = state.get_or_insert_with(|| State::new(shard.clone(), entry.position.epoch, seed));
            state.apply(&entry).map_err(|error| damaged(error.to_string()))?;
            last = row.position;
            count += 1;
        }
        seen(count);
    }
}
