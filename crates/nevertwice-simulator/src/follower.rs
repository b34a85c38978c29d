//! A follower of the durable journal, and what its entries make of nothing.
//!
//! It reads entry by entry what the backend calls durable, and applies it to states of its own. What it has read once must be
//! there for ever, and a recovery must come to the same states.

use std::collections::BTreeMap;

use nevertwice_api::encoding::decode_entry;
use nevertwice_core::{Entry, Position, ShardId, State};
use nevertwice_local::error::OpenError;
use nevertwice_local::journal::{Frame, JournalReader};

use crate::finding::Finding;

/// The seeds of the hash tables: others than any backend's.
const TABLES_SEED: (u64, u64) = (17, 23);

/// One shard, as far as it was followed.
pub(crate) struct Followed {
    pub(crate) state: State,
    /// Its entries, from the first.
    pub(crate) chain: Vec<Entry>,
}

impl Followed {
    /// Whether the position is one of the chain's.
    pub(crate) fn has(&self, position: Position) -> bool {
        position == Position::default() || self.entry(position).is_some()
    }

    /// The entry at a position.
    pub(crate) fn entry(&self, position: Position) -> Option<&Entry> {
        let at = usize::try_from(position.seq.checked_sub(1)?).ok()?;
        self.chain.get(at).filter(|entry| entry.position == position)
    }
}

/// All shards, as far as they were followed.
#[derive(Default)]
pub(crate) struct Follower {
    pub(crate) shards: BTreeMap<ShardId, Followed>,
    /// The last batch that was read.
    pub(crate) cursor: u64,
}

/// Why following ended.
pub(crate) enum Stopped {
    /// The journal could not be read.
    Unread(OpenError),
    /// What was read is wrong.
    Wrong(Finding),
}

impl From<OpenError> for Stopped {
    fn from(error: OpenError) -> Self {
        Self::Unread(error)
    }
}

impl Follower {
    /// Reads what has become durable since the last time, and returns the new entries.
    pub(crate) fn follow(&mut self, journal: &JournalReader) -> Result<Vec<Entry>, Stopped> {
        let durable = journal.durable();
        if durable < self.cursor {
            let what = format!("batch {} was durable, and the journal ends with batch {durable}", self.cursor);
            return Err(Stopped::Wrong(Finding::new(what)));
        }
        let mut new = Vec::new();
        if durable > self.cursor {
            let (cursor, _) = journal.read(self.cursor, durable, |frame| self.take(frame, &mut new).map_err(Stopped::Wrong))?;
            self.cursor = cursor;
        }
        Ok(new)
    }

    fn take(&mut self, frame: &Frame<'_>, new: &mut Vec<Entry>) -> Result<(), Finding> {
        let wrong = |what: String| Finding::new(format!("batch {}: {what}", frame.batch));
        let mut payload = frame.payload;
        while !payload.is_empty() {
            let split = payload.split_first_chunk::<4>().and_then(|(len, rest)| rest.split_at_checked(u32::from_le_bytes(*len) as usize));
            let (bytes, rest) = split.ok_or_else(|| wrong("its payload ends inside an entry".to_owned()))?;
            payload = rest;
            let entry = decode_entry(bytes).map_err(|error| wrong(error.to_string()))?;
            let (shard, epoch) = (entry.shard.clone(), entry.position.epoch);
            let followed = self
                .shards
                .entry(shard)
                .or_insert_with_key(|shard| Followed { state: State::new(shard.clone(), epoch, TABLES_SEED), chain: Vec::new() });
            followed.state.apply(&entry).map_err(|error| {
                wrong(format!("{} {} does not follow {}: {error}", entry.shard, entry.position, followed.state.position()))
                    .about(entry.position)
                    .about(entry.intent.key.as_str())
            })?;
            followed.chain.push(entry.clone());
            new.push(entry);
        }
        Ok(())
    }
}
