//! Looks at a folder of keys that nobody runs, or at a copy of one. Never writes, never panics on damage.

use std::sync::Arc;

use nevertwice_core::keys::{BodyKept, KeyState};

use super::answers::answers_name;
use super::change::Kept;
use super::reader::{Unreadable, read};
use super::restore::{Files, KeysRecovered, Restored, restore};
use crate::chance::SystemChance;
use crate::error::OpenError;
use crate::folder::{Holds, JournalId, inspect_marker_of};
use crate::inspect::NamedSnapshot;
use crate::snapshot;
use crate::storage::Storage;

/// A folder of keys, opened for reading.
pub struct KeysInspection {
    storage: Arc<dyn Storage>,
    id: JournalId,
}

/// What a folder of keys was found to be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeysVerdict {
    /// What a start of the store would find.
    pub report: KeysRecovered,
    /// Keys that somebody works on, or did when his lease ended.
    pub claims: u64,
    /// Keys with an answer.
    pub answers: u64,
    /// Of these, those whose bytes were not kept.
    pub tombstones: u64,
    /// The bytes of answers that were read and compared with their digests.
    pub answer_bytes: u64,
    /// What is wrong with it. Empty: all that was acknowledged is there.
    pub faults: Vec<String>,
}

impl KeysInspection {
    /// Opens the folder, unless a process runs on it.
    ///
    /// # Errors
    /// If it is in use, of a newer version, or no folder of keys.
    pub fn open(storage: Arc<dyn Storage>) -> Result<KeysInspection, OpenError> {
        let id = inspect_marker_of(Holds::Keys, storage.as_ref())?;
        Ok(KeysInspection { storage, id })
    }

    /// The journal's number.
    #[must_use]
    pub fn id(&self) -> JournalId {
        self.id
    }

    /// The snapshots, the newest first: what they hold, or why they do not count.
    ///
    /// # Errors
    /// If one cannot be read, or a later version wrote it.
    pub fn snapshots(&self) -> Result<Vec<NamedSnapshot>, OpenError> {
        let verified = snapshot::verify_all(self.storage.as_ref(), self.id)?;
        Ok(verified.into_iter().map(|(batch, verified)| (snapshot::snapshot_name(batch), verified)).collect())
    }

    /// Reads all of it, every byte of every answer included. `seen` hears of each record.
    ///
    /// # Errors
    /// If something cannot be read, or a later version wrote it. Damage is no error, but a fault in the verdict.
    pub fn verify(&self, mut seen: impl FnMut()) -> Result<KeysVerdict, OpenError> {
        let Restored { records, files, recovery, report, damage } = restore(&self.storage, self.id, &SystemChance)?;
        let mut verdict = KeysVerdict { report, ..KeysVerdict::default() };
        verdict.faults.extend(damage.map(|damage| damage.to_string()));
        verdict.faults.extend(recovery.padding_faults()?);
        verdict.faults.extend(files.faults.iter().map(|(number, what)| format!("{}: {what}", answers_name(*number))));
        for (name, snapshot) in self.snapshots()? {
            verdict.faults.extend(snapshot.err().map(|bad| format!("{name} does not count: {bad}")));
        }
        for (_, kept) in records.iter() {
            seen();
            self.judge(kept, &files, &mut verdict)?;
        }
        Ok(verdict)
    }

    fn judge(&self, kept: &Kept, files: &Files, verdict: &mut KeysVerdict) -> Result<(), OpenError> {
        let completion = match &kept.record.state {
            KeyState::Free(_) => return Ok(()),
            KeyState::InProgress(_) => {
                verdict.claims += 1;
                return Ok(());
            }
            KeyState::Completed(completion) => completion,
        };
        verdict.answers += 1;
        verdict.tombstones += u64::from(completion.answer.body == BodyKept::Tombstone);
        // What is said of a whole file is not said again of each answer in it.
        let Some(place) = kept.place.filter(|place| files.faults.iter().all(|(number, _)| *number != place.file)) else {
            return Ok(());
        };
        match read(self.storage.as_ref(), place, &completion.answer) {
            Ok(bytes) => verdict.answer_bytes += (bytes.head.len() + bytes.body.len()) as u64,
            Err(Unreadable::Refused(failure)) => return Err(failure.into()),
            Err(Unreadable::Damaged(what)) => {
                verdict.faults.push(format!("{} at byte {}: {what}", answers_name(place.file), place.offset));
            }
        }
        Ok(())
    }
}
