//! How the backend is set up.

use nevertwice_api::Level;
use nevertwice_api::encoding::ENTRY_BYTES_MAX;

use crate::error::OpenError;
use crate::feed::READERS_MAX;
use crate::journal::{HEADER_BYTES, JournalOptions};

/// How the backend is set up. The defaults are those of the docs.
#[derive(Debug, Clone)]
pub struct LocalOptions {
    /// When "yes" is said, unless a request asks for more: `journaled`, `decided`, or `replicated` where replicas confirm.
    pub level: Level,
    /// How many commands and reads may wait to be decided; one more is answered `overloaded`.
    pub queue_max: usize,
    /// How many of them make one group, which shares one sync, at most.
    pub group_items_max: usize,
    /// How far the last recorded instant may lie ahead of the clock at the start, in milliseconds.
    pub clock_ahead_ms_max: i64,
    /// A snapshot is made after so many bytes of entries; 0: only when it is asked for.
    pub snapshot_bytes: u64,
    /// After how long a silence who reads the journal, and confirms what it has, counts as gone; in milliseconds.
    pub reader_lease_ms: i64,
    /// How many readers, each with a name of its own, have to confirm a batch before it is `replicated`; 0: the level is not
    /// offered. At most [`REPLICAS_MAX`].
    pub replicas_min: usize,
    /// How long an answer waits for them before its outcome is told to be unknown, in milliseconds.
    pub replicas_wait_ms: u64,
    /// The journal's layout.
    pub journal: JournalOptions,
    /// A planted bug.
    #[cfg(feature = "mutants")]
    pub mutant: Option<crate::Mutant>,
}

impl Default for LocalOptions {
    fn default() -> LocalOptions {
        LocalOptions {
            level: Level::Journaled,
            queue_max: 16_384,
            group_items_max: 4_096,
            clock_ahead_ms_max: 60_000,
            snapshot_bytes: 512 << 20,
            reader_lease_ms: 5_000,
            replicas_min: 0,
            replicas_wait_ms: 1_000,
            journal: JournalOptions::default(),
            #[cfg(feature = "mutants")]
            mutant: None,
        }
    }
}

/// How many replicas can be asked for: half of the readers that can have a name.
pub const REPLICAS_MAX: usize = READERS_MAX / 2;

/// The smallest segment: two groups and the largest entry fit besides what waits already.
pub(super) const SEGMENT_BYTES_MIN: u64 = 64 << 10;

// What waits and a group are each a quarter of it (see `group_bytes_max`), before their last entry.
const _: () = assert!(SEGMENT_BYTES_MIN as usize / 4 * 2 + ENTRY_BYTES_MAX + HEADER_BYTES <= SEGMENT_BYTES_MIN as usize);

impl LocalOptions {
    pub(super) fn check(&self) -> Result<(), OpenError> {
        let bad = |what: String| Err(OpenError::Options { what });
        let is_offered = match self.level {
            Level::Decided | Level::Journaled => true,
            Level::Replicated => self.replicas_min > 0,
            Level::Ledgered => false,
        };
        if !is_offered {
            return bad(format!("the level {} is not one that this node can reach", self.level));
        }
        if self.replicas_min > REPLICAS_MAX {
            return bad(format!("{} replicas are over {REPLICAS_MAX}", self.replicas_min));
        }
        if self.queue_max == 0 || self.group_items_max == 0 {
            return bad("a queue or a group of nothing".to_owned());
        }
        if self.journal.segment_bytes < SEGMENT_BYTES_MIN {
            return bad(format!("a segment of {} bytes is under {SEGMENT_BYTES_MIN}", self.journal.segment_bytes));
        }
        if self.clock_ahead_ms_max < 0 {
            return bad("a clock that must be ahead of the journal".to_owned());
        }
        Ok(())
    }

    /// What one group may hold, and what may wait for the syncer: together with the largest entry they fit one segment.
    pub(super) fn group_bytes_max(&self) -> usize {
        usize::try_from(self.journal.segment_bytes / 4).unwrap_or(usize::MAX).min(1 << 20)
    }
}
