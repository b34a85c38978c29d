//! All that is kept of keys, made out of changes: at the writer, at recovery, for the next snapshot, and for who looks at a folder.

use nevertwice_api::PrincipalShares;
use nevertwice_core::keys::{KeyId, KeyTable};

use super::change::{BadChange, CHANGE_BYTES, Change, Kept, Place, VERSION};
use crate::error::{Damage, IoFailure, OpenError};
use crate::folder::JournalId;
use crate::journal::Frame;
use crate::snapshot::{ReadError, SnapshotReader, SnapshotWriter};
use crate::states::Seed;
use crate::storage::Storage;

/// What one key takes in memory, in bytes, beside its share of the index: docs/keys.md states it.
const _: () = assert!(KeyTable::<Kept>::SLOT_BYTES == 240);

/// The records of all keys.
pub(crate) struct Records {
    table: KeyTable<Kept>,
    /// The last sweep that freed something: the store's time does not run back behind it, or what was freed would be remembered again.
    swept_at: i64,
    /// The last instant in any change.
    last_at_ms: i64,
    /// The highest number of a file that any change named.
    last_file: u64,
    claims: u64,
    /// How much each principal holds.
    shares: PrincipalShares,
}

impl Records {
    pub(crate) fn new(seed: Seed) -> Records {
        Records { table: KeyTable::new(seed), swept_at: 0, last_at_ms: 0, last_file: 0, claims: 0, shares: PrincipalShares::default() }
    }

    pub(crate) fn len(&self) -> u64 {
        self.table.len() as u64
    }

    /// Keys that somebody works on, or did when his lease ended.
    pub(crate) fn claims(&self) -> u64 {
        self.claims
    }

    /// How much each principal holds.
    pub(crate) fn shares(&self) -> &PrincipalShares {
        &self.shares
    }

    pub(crate) fn swept_at(&self) -> i64 {
        self.swept_at
    }

    pub(crate) fn last_at_ms(&self) -> i64 {
        self.last_at_ms
    }

    pub(crate) fn last_file(&self) -> u64 {
        self.last_file
    }

    pub(crate) fn slots(&self) -> u32 {
        self.table.slots()
    }

    pub(crate) fn at(&self, slot: u32) -> Option<(&KeyId, &Kept)> {
        self.table.at(slot)
    }

    pub(crate) fn get(&self, id: &KeyId) -> Option<&Kept> {
        self.table.get(id)
    }

    /// All places of answers, with how many bytes lie there.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&KeyId, Place, u64)> {
        self.table.iter().filter_map(|(id, kept)| Some((id, kept.place?, kept.answer_bytes())))
    }

    /// Every key that is kept, in the order of their slots.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&KeyId, &Kept)> {
        self.table.iter()
    }

    /// Makes a change, and returns what was kept of the key before.
    pub(crate) fn apply(&mut self, change: Change) -> Option<Kept> {
        match change {
            Change::Swept(at_ms) => {
                self.swept_at = self.swept_at.max(at_ms);
                self.last_at_ms = self.last_at_ms.max(at_ms);
                None
            }
            Change::Key(id, kept) => {
                self.last_at_ms = self.last_at_ms.max(kept.record.changed_at);
                self.last_file = self.last_file.max(kept.place.map_or(0, |place| place.file));
                self.claims += u64::from(kept.is_claim());
                self.shares.add(kept.principal, 1, kept.answer_bytes());
                let before = self.table.insert(id, kept);
                if let Some(before) = &before {
                    self.let_go(before);
                }
                before
            }
        }
    }

    /// Frees what is kept of a key.
    pub(crate) fn remove(&mut self, id: &KeyId) -> Option<Kept> {
        let removed = self.table.remove(id)?;
        self.let_go(&removed);
        Some(removed)
    }

    /// Counts what is not kept any more.
    fn let_go(&mut self, before: &Kept) {
        self.claims -= u64::from(before.is_claim());
        self.shares.remove(before.principal, 1, before.answer_bytes());
    }

    /// Frees whatever the last sweep may have freed.
    pub(crate) fn free_swept(&mut self) {
        for slot in 0..self.table.slots() {
            if let Some((id, kept)) = self.table.at(slot)
                && kept.record.forgotten_at() <= self.swept_at
            {
                let id = *id;
                self.remove(&id);
            }
        }
    }

    /// Applies a frame's changes, and says how many there were.
    pub(crate) fn replay(&mut self, frame: &Frame<'_>) -> Result<u64, OpenError> {
        let damage = |what: String| Damage { segment: frame.segment, offset: frame.offset, what };
        // The version's place is all that a later one keeps.
        if let Some(version) = frame.payload.first().filter(|version| **version > VERSION) {
            return Err(too_new(*version));
        }
        let (changes, rest) = frame.payload.as_chunks::<CHANGE_BYTES>();
        if !rest.is_empty() || changes.len() != frame.entries as usize {
            let what = format!("batch {} has {} bytes for {} changes", frame.batch, frame.payload.len(), frame.entries);
            return Err(damage(what).into());
        }
        for (number, bytes) in changes.iter().enumerate() {
            match Change::decode(bytes) {
                Ok(change) => drop(self.apply(change)),
                Err(BadChange::TooNew(version)) => return Err(too_new(version)),
                Err(BadChange::Malformed(what)) => return Err(damage(format!("batch {}, change {number}: {what}", frame.batch)).into()),
            }
        }
        Ok(changes.len() as u64)
    }

    /// Writes all of it into a snapshot.
    pub(crate) fn save(&self, writer: &mut SnapshotWriter) -> Result<(), IoFailure> {
        writer.record(&Change::Swept(self.swept_at).encode())?;
        for (id, kept) in self.table.iter() {
            writer.record(&Change::Key(*id, kept.clone()).encode())?;
        }
        Ok(())
    }

    /// Loads a snapshot that was verified. The inner error says why it does not count in spite of that.
    pub(crate) fn load(storage: &dyn Storage, id: JournalId, batch: u64, seed: Seed) -> Result<Result<Records, String>, OpenError> {
        let mut reader = match SnapshotReader::open(storage, id, batch)? {
            Ok(reader) => reader,
            Err(bad) => return Ok(Err(bad)),
        };
        let mut records = Records::new(seed);
        loop {
            let bytes = match reader.next_record() {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return Ok(Ok(records)),
                Err(ReadError::Io(failure)) => return Err(failure.into()),
                Err(ReadError::Bad(bad)) => return Ok(Err(bad)),
            };
            if let Some(version) = bytes.first().filter(|version| **version > VERSION) {
                return Err(too_new(*version));
            }
            let Ok(bytes) = <&[u8; CHANGE_BYTES]>::try_from(bytes) else { return Ok(Err("a record is no change's length".to_owned())) };
            match Change::decode(bytes) {
                Ok(change) => drop(records.apply(change)),
                Err(BadChange::TooNew(version)) => return Err(too_new(version)),
                Err(BadChange::Malformed(what)) => return Ok(Err(what.to_owned())),
            }
        }
    }
}

fn too_new(version: u8) -> OpenError {
    OpenError::TooNew { what: "a record of a key", found: u32::from(version), supported: u32::from(VERSION) }
}
