//! Why a backup is not made, or not restored.

use std::fmt;

use nevertwice_api::ErrorCode;
use nevertwice_core::{Position, ShardId};

use crate::error::{IoFailure, OpenError};
use crate::journal::BadStream;
use crate::source::SourceError;

/// Why a backup is not made, or not restored.
#[derive(Debug)]
#[non_exhaustive]
pub enum BackupError {
    /// What is backed up gives nothing.
    Source(SourceError),
    /// A folder cannot be read or written.
    Open(OpenError),
    /// The folder is no backup, or not as its manifest says (`backup_invalid`).
    Invalid {
        /// What is wrong with it.
        what: String,
    },
    /// The folder holds a backup of another journal, or of another history of the same one (`history_differs`).
    Differs {
        /// In what.
        what: String,
    },
    /// What is to be made anew is not empty.
    NotEmpty,
    /// The batch lies before or after what the backup holds.
    BatchOutside {
        /// Which was asked for.
        batch: u64,
        /// The first at which a restored folder can end.
        first: u64,
        /// The last.
        last: u64,
    },
    /// The position is not in what the backup holds of the shard.
    PositionUnknown {
        /// The shard.
        shard: ShardId,
        /// The position that was asked for.
        position: Position,
        /// The last one that the backup holds.
        last: Position,
    },
}

impl BackupError {
    pub(crate) fn invalid(what: impl Into<String>) -> BackupError {
        BackupError::Invalid { what: what.into() }
    }

    /// The code of its page.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            BackupError::Source(SourceError::Differs) | BackupError::Differs { .. } => ErrorCode::HistoryDiffers,
            BackupError::Source(SourceError::Pruned) => ErrorCode::BatchesPruned,
            BackupError::Source(SourceError::NoSnapshot) => ErrorCode::SnapshotUnknown,
            BackupError::Source(SourceError::ReadersFull) => ErrorCode::ReadersFull,
            BackupError::Source(SourceError::Open(error)) | BackupError::Open(error) => error.code(),
            BackupError::Source(_) => ErrorCode::SourceUnusable,
            BackupError::Invalid { .. } => ErrorCode::BackupInvalid,
            BackupError::NotEmpty => ErrorCode::DataFolderInvalid,
            BackupError::BatchOutside { .. } | BackupError::PositionUnknown { .. } => ErrorCode::PositionUnknown,
        }
    }
}

impl fmt::Display for BackupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackupError::Source(error) => write!(f, "the journal cannot be copied: {error}; what the backup held before still counts"),
            BackupError::Open(error) => error.fmt(f),
            BackupError::Invalid { what } => {
                write!(f, "the backup cannot be used: {what}; nothing was done: make a new one in another folder")
            }
            BackupError::Differs { what } => {
                write!(f, "the backup belongs to another history: {what}; nothing was done: make a new backup in another folder")
            }
            BackupError::NotEmpty => f.write_str("the folder is not empty; nothing was done: name a new one"),
            BackupError::BatchOutside { batch, first, last } => {
                write!(f, "batch {batch} is not in the backup; nothing was done: a restored folder can end at batches {first} to {last}")
            }
            BackupError::PositionUnknown { shard, position, last } => write!(
                f,
                "{shard} has no position {position} after the backup's first snapshot; nothing was done: the last one that the backup \
                 holds is {last}"
            ),
        }
    }
}

impl std::error::Error for BackupError {}

impl From<SourceError> for BackupError {
    fn from(error: SourceError) -> BackupError {
        BackupError::Source(error)
    }
}

impl From<OpenError> for BackupError {
    fn from(error: OpenError) -> BackupError {
        BackupError::Open(error)
    }
}

impl From<IoFailure> for BackupError {
    fn from(failure: IoFailure) -> BackupError {
        BackupError::Open(failure.into())
    }
}

impl From<BadStream> for BackupError {
    fn from(bad: BadStream) -> BackupError {
        BackupError::Source(bad.into())
    }
}
