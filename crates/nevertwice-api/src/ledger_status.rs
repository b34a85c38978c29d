//! How a ledger follows a deciding place.

use nevertwice_core::{Position, ShardId};

/// One shard and its ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardLag {
    /// Which.
    pub shard: ShardId,
    /// The last entry that is in the ledger.
    pub watermark: Position,
    /// Entries that were decided and are not known to be in it.
    pub entries_at_risk: u64,
    /// Why nothing more of it is written; none while all is well.
    pub stopped: Option<String>,
}

/// How a ledger follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerStatus {
    /// How old the oldest entry is that is decided and not in the ledger, in milliseconds; 0 if there is none.
    pub lag_ms: u64,
    /// Why the last write failed; none once one has succeeded since.
    pub trouble: Option<String>,
    /// Entries that were written since the start.
    pub entries_written: u64,
    /// Batches that were written since the start, each in one unit of work of the database.
    pub batches_written: u64,
    /// Writes that failed since the start and were tried again.
    pub failures: u64,
    /// Entries that were stored since the start although their key was remembered.
    pub doubled: u64,
    /// Each shard that was heard of, in the order of their names.
    pub shards: Vec<ShardLag>,
}

/// What tells how a ledger follows.
pub trait LedgerWatch: Send + Sync + 'static {
    /// How it follows, at that instant in milliseconds.
    fn status(&self, now_ms: i64) -> LedgerStatus;
}
