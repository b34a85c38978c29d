//! How the store of keys is set up.

use nevertwice_api::{Level, ShareBounds};
use nevertwice_core::limits::{KEY_BODY_BYTES_MAX, KEY_HEAD_BYTES_MAX};

use super::change::CHANGE_BYTES;
use crate::error::OpenError;
use crate::journal::JournalOptions;

/// How the store of keys is set up.
#[derive(Debug, Clone)]
pub struct KeyStoreOptions {
    /// When a reply is sent, unless a command asks for more: `journaled` or `decided`.
    pub level: Level,
    /// How many keys it holds. At the bound new claims are refused, and none is thrown away.
    pub records_max: u64,
    /// How many bytes the files of answers may have together. At the bound new claims are refused, and answers that come are not
    /// kept whole.
    pub answers_bytes_max: u64,
    /// How much of both one principal may hold, where claims name theirs: at its bound its new claims are refused, and those of others
    /// are not. A bound of 0 is half of the store.
    pub of_one: ShareBounds,
    /// How many bytes one answer may have, head and body together.
    pub answer_bytes_max: u64,
    /// How many commands may wait to be decided, and how many replays to be read; one more is answered `Unavailable`.
    pub queue_max: usize,
    /// How many of them make one group, which shares one sync, at most.
    pub group_items_max: usize,
    /// How far the last recorded instant may lie ahead of the clock at the start, in milliseconds.
    pub clock_ahead_ms_max: i64,
    /// A snapshot is made after so many bytes of changes; 0: only when it is asked for.
    pub snapshot_bytes: u64,
    /// The journal's layout.
    pub journal: JournalOptions,
    /// A planted bug.
    #[cfg(feature = "mutants")]
    pub mutant: Option<crate::Mutant>,
}

impl Default for KeyStoreOptions {
    fn default() -> KeyStoreOptions {
        KeyStoreOptions {
            level: Level::Journaled,
            records_max: 1_000_000,
            answers_bytes_max: 1 << 30,
            of_one: ShareBounds { records_max: 0, answers_bytes_max: 0 },
            answer_bytes_max: 1 << 20,
            queue_max: 16_384,
            group_items_max: 256,
            clock_ahead_ms_max: 60_000,
            snapshot_bytes: 256 << 20,
            journal: JournalOptions::default(),
            #[cfg(feature = "mutants")]
            mutant: None,
        }
    }
}

/// The smallest segment: two groups fit, and room for what is under way besides.
const SEGMENT_BYTES_MIN: u64 = 64 << 10;

/// Slots of a table are numbered in 32 bits, and the index holds a few more than there are.
const RECORDS_MAX: u64 = 1 << 30;

const ANSWER_BYTES_MAX: u64 = KEY_HEAD_BYTES_MAX as u64 + KEY_BODY_BYTES_MAX;

impl KeyStoreOptions {
    pub(super) fn check(&self) -> Result<(), OpenError> {
        let bad = |what: String| Err(OpenError::Options { what });
        if !matches!(self.level, Level::Decided | Level::Journaled) {
            return bad(format!("the level {} is not one that this store can reach", self.level));
        }
        if self.queue_max == 0 || self.group_items_max == 0 {
            return bad("a queue or a group of nothing".to_owned());
        }
        // Each may bring a sweep besides its own change.
        let group_bytes_max = self.group_items_max.saturating_mul(2 * CHANGE_BYTES) as u64;
        if group_bytes_max > self.journal.segment_bytes / 4 {
            let segment_bytes = self.journal.segment_bytes;
            return bad(format!("a group of {} is more than a quarter of a segment of {segment_bytes} bytes", self.group_items_max));
        }
        if self.records_max > RECORDS_MAX {
            return bad(format!("{} keys are over {RECORDS_MAX}", self.records_max));
        }
        if self.answer_bytes_max > ANSWER_BYTES_MAX {
            return bad(format!("an answer of {} bytes is over {ANSWER_BYTES_MAX}", self.answer_bytes_max));
        }
        if self.journal.segment_bytes < SEGMENT_BYTES_MIN {
            return bad(format!("a segment of {} bytes is under {SEGMENT_BYTES_MIN}", self.journal.segment_bytes));
        }
        if self.clock_ahead_ms_max < 0 {
            return bad("a clock that must be ahead of the journal".to_owned());
        }
        Ok(())
    }
}
