//! Entries on their way into a frame.

use nevertwice_api::encoding::{decode_fact, encode_folder_fact, encode_key_fact, is_no_entry};
use nevertwice_api::{Fact, FolderFact, KeyFact};
use nevertwice_core::Entry;

use crate::states::{Items, push_entry, push_with_length};

/// Entries of operators and what was done to the folder and to keys, in the form of a journal's payload, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    payload: Vec<u8>,
    entries: u32,
    /// What was done to keys in a batch whose number is not known yet.
    unplaced: Vec<KeyFact>,
    /// The first and the last instant of any entry that was ever in here.
    at_ms: Option<(i64, i64)>,
}

impl Facts {
    pub(crate) fn push(&mut self, entry: &Entry) {
        push_entry(&mut self.payload, entry);
        self.count(1, entry.at_ms, entry.at_ms);
    }

    pub(crate) fn push_folder(&mut self, fact: &FolderFact) {
        push_with_length(&mut self.payload, |payload| encode_folder_fact(fact, payload));
        self.count(1, fact.at_ms, fact.at_ms);
    }

    /// Adds what was done to a key, with the batch that tells it.
    pub(crate) fn push_key(&mut self, fact: &KeyFact, batch: u64) {
        let fact = KeyFact { batch, ..fact.clone() };
        push_with_length(&mut self.payload, |payload| encode_key_fact(&fact, payload));
        self.count(1, fact.at_ms, fact.at_ms);
    }

    /// Adds what is done to a key in the batch that is being made.
    pub(crate) fn push_unplaced(&mut self, fact: KeyFact) {
        self.unplaced.push(fact);
    }

    /// Tells those of the batch that was made which one it is.
    pub(super) fn place(&mut self, batch: u64) {
        for fact in std::mem::take(&mut self.unplaced) {
            self.push_key(&fact, batch);
        }
    }

    /// Adds what a batch tells of the folder and of keys, which states don't hear of.
    pub(crate) fn push_no_entries(&mut self, payload: &[u8], batch: u64) {
        // One that can't be read is damage, which whoever applies the batch says.
        for bytes in Items(payload).flatten().filter(|bytes| is_no_entry(bytes)) {
            match decode_fact(bytes) {
                Ok(Fact::Folder(fact)) => self.push_folder(&fact),
                Ok(Fact::Key(fact)) => self.push_key(&fact, batch),
                Ok(Fact::Entry(_)) | Err(_) => {}
            }
        }
    }

    /// Adds entries that were encoded elsewhere.
    pub(super) fn extend(&mut self, payload: &[u8], entries: u32, (first, last): (i64, i64)) {
        self.payload.extend_from_slice(payload);
        if entries > 0 {
            self.count(entries, first, last);
        }
    }

    /// Adds what another has, and leaves that one empty, with its memory.
    pub(crate) fn append(&mut self, other: &mut Facts) {
        self.unplaced.append(&mut other.unplaced);
        if let Some(at_ms) = other.at_ms.take() {
            self.extend(&other.payload, other.entries, at_ms);
            other.payload.clear();
            other.entries = 0;
        }
    }

    /// Takes the first ones away.
    pub(super) fn drop_first(&mut self, bytes: usize, entries: u32) {
        self.payload.drain(..bytes);
        self.entries -= entries;
        if self.entries == 0 {
            self.at_ms = None;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    pub(super) fn entries(&self) -> u32 {
        self.entries
    }

    pub(crate) fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// No entry is outside these instants.
    pub(super) fn at_ms(&self) -> (i64, i64) {
        self.at_ms.unwrap_or((i64::MAX, i64::MIN))
    }

    fn count(&mut self, entries: u32, first: i64, last: i64) {
        self.entries += entries;
        let (from, to) = self.at_ms.unwrap_or((first, last));
        self.at_ms = Some((from.min(first), to.max(last)));
    }
}
