//! What can go wrong with a data folder, closed and typed. Every message says what was wrong, what was done, and what
//! to do.

use std::fmt;
use std::io;

use nevertwice_api::ErrorCode;

use crate::audit::TrailFault;

/// Why a data folder cannot be opened. Nothing was changed in it, unless the message says so.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The operating system refused.
    Io(IoFailure),
    /// Another process holds the folder (`data_folder_in_use`).
    InUse,
    /// The folder was written by a newer version (`data_too_new`).
    TooNew {
        /// What in it has a version of its own.
        what: &'static str,
        /// That version.
        found: u32,
        /// The newest that this program reads.
        supported: u32,
    },
    /// The marker file is missing beside data, or is not readable as one.
    Marker {
        /// What is wrong with it.
        what: String,
    },
    /// The folder is not one that a server runs on (`data_folder_invalid`).
    NotServable {
        /// What it is.
        what: String,
    },
    /// Something that was durable is not there any more, or not as it was written.
    Damage(Damage),
    /// Answers of keys, which were durable, are not there any more (`journal_damaged`).
    Answers {
        /// The file.
        name: String,
        /// What was found.
        what: String,
    },
    /// What operators did can't be told any more, or does not fit the journal (`history_damaged`).
    Audit {
        /// What was found.
        what: String,
    },
    /// The last recorded instant lies far ahead of the clock (`clock_behind`).
    ClockBehind {
        /// The last instant in the journal, in milliseconds.
        last_at_ms: i64,
        /// What the clock says.
        now_ms: i64,
        /// How far ahead it may lie.
        ahead_ms_max: i64,
    },
    /// A setting that cannot work.
    Options {
        /// Which, and why.
        what: String,
    },
}

/// A call to the operating system that failed.
#[derive(Debug)]
pub struct IoFailure {
    /// What was being done.
    pub doing: &'static str,
    /// To which file.
    pub name: String,
    /// What the system said.
    pub source: io::Error,
}

/// A durable frame that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The segment's number; 0 if it is no segment that is damaged.
    pub segment: u64,
    /// Where in the segment the bad frame begins, in bytes.
    pub offset: u64,
    /// What was found.
    pub what: String,
}

/// Why a batch was not made durable.
#[derive(Debug)]
#[non_exhaustive]
pub enum AppendError {
    /// An earlier write or sync failed: nothing is written until a restart (`journal_failed`).
    Poisoned,
    /// This write or sync failed; whether the batch is on the disk is unknown, and the journal is poisoned from now
    /// on (`journal_failed`).
    Failed(IoFailure),
    /// The disk is full and no segment is left; nothing was written and the journal goes on when there is room
    /// (`disk_full`).
    Full,
    /// The batch is larger than a segment; nothing was written.
    TooLarge {
        /// Its payload.
        bytes: usize,
        /// The largest that fits.
        bytes_max: usize,
    },
}

impl IoFailure {
    pub(crate) fn new(doing: &'static str, name: &str, source: io::Error) -> IoFailure {
        IoFailure { doing, name: name.to_owned(), source }
    }

    /// For `map_err`: says what was being done to which file.
    pub(crate) fn of(doing: &'static str, name: &str) -> impl FnOnce(io::Error) -> IoFailure {
        move |source| IoFailure::new(doing, name, source)
    }
}

impl OpenError {
    /// An entry or a record in an encoding that this version does not know.
    pub(crate) fn too_new(version: u8, known: u8) -> OpenError {
        OpenError::TooNew { what: "an entry or a record", found: u32::from(version), supported: u32::from(known) }
    }

    /// The code of its page.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            OpenError::Io(failure) if failure.source.kind() == io::ErrorKind::StorageFull => ErrorCode::StorageFull,
            OpenError::Io(_) | OpenError::Marker { .. } | OpenError::NotServable { .. } => ErrorCode::DataFolderInvalid,
            OpenError::InUse => ErrorCode::DataFolderInUse,
            OpenError::TooNew { .. } => ErrorCode::DataTooNew,
            OpenError::Damage(_) | OpenError::Answers { .. } => ErrorCode::JournalDamaged,
            OpenError::Audit { .. } => ErrorCode::HistoryDamaged,
            OpenError::ClockBehind { .. } => ErrorCode::ClockBehind,
            OpenError::Options { .. } => ErrorCode::ConfigurationInvalid,
        }
    }
}

impl From<IoFailure> for OpenError {
    fn from(failure: IoFailure) -> OpenError {
        OpenError::Io(failure)
    }
}

impl From<TrailFault> for OpenError {
    fn from(TrailFault(what): TrailFault) -> OpenError {
        OpenError::Audit { what }
    }
}

impl From<Damage> for OpenError {
    fn from(damage: Damage) -> OpenError {
        OpenError::Damage(damage)
    }
}

impl fmt::Display for IoFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} failed: {}", self.doing, self.name, self.source)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No segment has the number 0: something beside them is damaged, or there are none.
        match self.segment {
            0 => f.write_str(&self.what),
            segment => write!(f, "segment {segment} is damaged at byte {}: {}", self.offset, self.what),
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Io(failure) => write!(f, "{failure}; nothing was served"),
            OpenError::InUse => f.write_str("another process uses this data folder; nothing was done: stop it, or name another folder"),
            OpenError::TooNew { what, found, supported } => write!(
                f,
                "a newer version of this program wrote the data: {what} has version {found}, and this one reads up to \
                 {supported}; nothing was done: run the version that wrote it, or a newer one"
            ),
            OpenError::Marker { what } => {
                write!(
                    f,
                    "the file `format`, which says what is in the data folder, can't be used: {what}; nothing was done: restore the \
                     file from a backup or a copy of the folder"
                )
            }
            OpenError::NotServable { what } => write!(f, "no server runs on this folder: {what}; nothing was done"),
            OpenError::Damage(damage) => write!(
                f,
                "{damage}; something that was acknowledged is missing, so nothing was done: restore the folder from a \
                 copy, or rebuild it from the ledger"
            ),
            OpenError::Answers { name, what } => write!(
                f,
                "the file {name:?} is damaged: {what}; an answer that was kept is missing, so nothing was done: restore the folder from a \
                 copy"
            ),
            OpenError::Audit { what } => write!(
                f,
                "{what}; what operators did would have a gap, so nothing was done: restore the folder from a copy; to go on \
                 without what can't be read, move the files named audit- out of the folder and keep them"
            ),
            OpenError::ClockBehind { last_at_ms, now_ms, ahead_ms_max } => write!(
                f,
                "the last entry was made at {last_at_ms} ms, more than {ahead_ms_max} ms ahead of the clock ({now_ms} \
                 ms); nothing was done: set the clock right, or wait"
            ),
            OpenError::Options { what } => write!(f, "{what}; nothing was done"),
        }
    }
}

impl fmt::Display for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AppendError::Poisoned => {
                f.write_str("an earlier write to the journal failed, so nothing more is written: restart once the disk is well")
            }
            AppendError::Failed(failure) => write!(
                f,
                "{failure}; whether the batch is durable is unknown, and nothing more is written: restart once the \
                 disk is well"
            ),
            AppendError::Full => f.write_str("the disk is full; nothing was written: make room, and it goes on by itself"),
            AppendError::TooLarge { bytes, bytes_max } => {
                write!(f, "a batch of {bytes} bytes is over the {bytes_max} that a segment holds; nothing was written")
            }
        }
    }
}

impl std::error::Error for IoFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl std::error::Error for Damage {}
impl std::error::Error for OpenError {}
impl std::error::Error for AppendError {}
