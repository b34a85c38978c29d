//! What can be asked about what has happened: who did what, and what became of one tap.
//!
//! It is read from what is durable, beside whoever decides, and nothing of it is needed to decide.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use nevertwice_core::{Entry, IdempotencyKey, Position, Principal, ShardId};

use crate::ErrorCode;
use crate::folder_fact::Fact;

/// Entries on one page of an audit.
pub const AUDIT_PAGE_MAX: usize = 100;

/// How often one intent is found: it may have been accepted in several shards, and again after its memory had ended.
pub const FOUND_MAX: usize = 8;

/// Later entries of one booking or holding that are shown: the newest.
pub const LATER_MAX: usize = 50;

/// Reads what has happened. Its calls read the disk and wait for it: make them where that is allowed.
pub trait History: Send + Sync + 'static {
    /// A page of what operators did, the oldest first.
    ///
    /// # Errors
    /// If it can't be read.
    fn audit(&self, asked: &AuditAsk) -> Result<AuditPage, HistoryFailure>;

    /// What became of one intent. It gives up after `within`, and says how far it came.
    ///
    /// # Errors
    /// If it can't be read.
    fn follow(&self, sought: &Sought, within: Duration) -> Result<Finding, HistoryFailure>;
}

/// Which of what operators did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditAsk {
    /// Of this shard alone, and not of keys or of the folder as a whole.
    pub shard: Option<ShardId>,
    /// From this instant on, in milliseconds since 1970.
    pub from_ms: Option<i64>,
    /// Before this instant.
    pub until_ms: Option<i64>,
    /// Where the page before ended.
    pub cursor: Option<AuditCursor>,
}

/// A place in the audit, written `batch.entries`: after that batch of the journal, and so many of the entries behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditCursor {
    /// The batch.
    pub after: u64,
    /// How many entries behind it were handed out.
    pub taken: u32,
}

impl fmt::Display for AuditCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.after, self.taken)
    }
}

/// A text that is no place in the audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotACursor;

impl fmt::Display for NotACursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a cursor is the `next` of the page before, as it stood there")
    }
}

impl std::error::Error for NotACursor {}

impl FromStr for AuditCursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        let (after, taken) = text.split_once('.').ok_or(NotACursor)?;
        if !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return Err(NotACursor);
        }
        Ok(Self { after: after.parse().map_err(|_| NotACursor)?, taken: taken.parse().map_err(|_| NotACursor)? })
    }
}

/// Some of what operators did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditPage {
    /// What was done, at most [`AUDIT_PAGE_MAX`]; a page may be empty although more follow.
    pub facts: Vec<Fact>,
    /// Where the next page begins; none on the last.
    pub next: Option<AuditCursor>,
    /// The journal was kept for the audit from the batch after this one; 0: from the first. What was done before is not in it.
    pub begins_after: u64,
    /// False: something that was done most recently is missing, since it could not be written; a restart adds it.
    pub is_whole: bool,
}

/// Which intent to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sought {
    /// In this shard alone.
    pub shard: Option<ShardId>,
    /// Whose.
    pub principal: Principal,
    /// Which of the principal's.
    pub key: IdempotencyKey,
    /// Entries of the intent that are known already, from the memory of intents; what came later is looked for although the
    /// journal may not have them any more.
    pub known: Vec<Entry>,
}

/// What was found of an intent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// The entries that it made, the oldest first, at most [`FOUND_MAX`]; those that were known are among them.
    pub found: Vec<Found>,
    /// More were found than are shown.
    pub is_cut: bool,
    /// The journal that was read begins with this batch; 1: with the first there was.
    pub first_batch: u64,
    /// The last batch that was read.
    pub read_to: u64,
    /// The last batch that there is.
    pub last_batch: u64,
}

impl Finding {
    /// Whether the journal was read to its end.
    #[must_use]
    pub const fn is_read_to_end(&self) -> bool {
        self.read_to >= self.last_batch
    }
}

/// One entry that an intent made, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The entry.
    pub entry: Entry,
    /// Whether the journal has it still. One that only the memory of intents has is without its origin.
    pub is_in_journal: bool,
    /// Later entries about the same booking or the same holding, the newest last, at most [`LATER_MAX`].
    pub later: Vec<Entry>,
    /// How many earlier ones of them are not shown.
    pub later_left_out: u64,
}

impl Found {
    /// An entry of which nothing more is known yet.
    #[must_use]
    pub const fn new(entry: Entry, is_in_journal: bool) -> Self {
        Self { entry, is_in_journal, later: Vec::new(), later_left_out: 0 }
    }

    /// Its place.
    #[must_use]
    pub const fn place(&self) -> (&ShardId, Position) {
        (&self.entry.shard, self.entry.position)
    }
}

/// Why what has happened can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryFailure {
    /// Something that was durable is not there any more, or not as it was written.
    Damaged {
        /// What was found.
        what: String,
    },
    /// The operating system refused.
    Unreadable {
        /// What it said.
        what: String,
    },
}

impl HistoryFailure {
    /// The code that the API shows.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Damaged { .. } => ErrorCode::HistoryDamaged,
            Self::Unreadable { .. } => ErrorCode::HistoryUnreadable,
        }
    }
}

impl fmt::Display for HistoryFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Damaged { what } | Self::Unreadable { what }) = self;
        write!(f, "{}: {what}", self.code().title())
    }
}

impl std::error::Error for HistoryFailure {}
