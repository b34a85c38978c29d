//! Entries on their way into a frame.

use nevertwice_api::encoding::{decode_fact, encode_folder_fact, is_folder_fact};
use nevertwice_api::{Fact, FolderFact};
use nevertwice_core::Entry;

use crate::states::{Items, push_entry, push_with_length};

/// Entries of operators and what was done to the folder, in the form of a journal's payload, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    payload: Vec<u8>,
    entries: u32,
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

    /// Adds what a batch tells of the folder, which states don't hear of.
    pub(crate) fn push_folders(&mut self, payload: &[u8]) {
        // A seal holds nothing else; one that can't be read is damage, which whoever applies the batch says.
        for bytes in Items(payload).flatten().take_while(|bytes| is_folder_fact(bytes)) {
            if let Ok(Fact::Folder(fact)) = decode_fact(bytes) {
                self.push_folder(&fact);
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
