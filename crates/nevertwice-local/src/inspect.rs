//! Looks at a data folder that nobody runs, or at a copy of one. Never writes, never panics on damage.

use std::sync::Arc;

use nevertwice_api::encoding::{DecodeError, decode_entry};
use nevertwice_core::{Entry, State};

use crate::chance::{SystemChance, draw_seed};
use crate::error::{Damage, IoFailure, OpenError};
use crate::folder::{JournalId, inspect_marker};
use crate::journal::{Floor, Frame, FrameRef, Recovery};
use crate::restore::{RestoreReport, restore};
use crate::snapshot::{self, Verified};
use crate::states::{Entries, States};
use crate::storage::Storage;

/// A folder, opened for reading.
pub struct Inspection {
    storage: Arc<dyn Storage>,
    id: JournalId,
}

/// A snapshot's file name, and what it holds or why it does not count.
pub type NamedSnapshot = (String, Result<Verified, String>);

/// One batch of the journal.
pub struct Batch<'a> {
    /// Where and what it is.
    pub frame: &'a Frame<'a>,
    /// Its entries, or why one cannot be read (then it is the last).
    pub entries: Vec<Result<Entry, DecodeError>>,
}

/// What is in a folder, up to the first damage.
pub struct Contents {
    /// The shards.
    pub states: States,
    /// What was read.
    pub report: RestoreReport,
    /// A bad frame where none may be.
    pub damage: Option<Damage>,
}

/// The end of a journal.
pub struct Last {
    /// The last entry that is in it, if there is one.
    pub entry: Option<Entry>,
    /// A bad frame where none may be.
    pub damage: Option<Damage>,
}

impl Inspection {
    /// Opens the folder, unless a process runs on it.
    pub fn open(storage: Arc<dyn Storage>) -> Result<Inspection, OpenError> {
        let id = inspect_marker(storage.as_ref())?;
        Ok(Inspection { storage, id })
    }

    /// The journal's number.
    pub fn id(&self) -> JournalId {
        self.id
    }

    /// The snapshots, the newest first: what they hold, or why they do not count.
    pub fn snapshots(&self) -> Result<Vec<NamedSnapshot>, IoFailure> {
        let batches = snapshot::list(self.storage.as_ref())?;
        let checked = batches.into_iter().map(|batch| {
            let verified = snapshot::verify(self.storage.as_ref(), self.id, batch)?;
            Ok((snapshot::snapshot_name(batch), verified))
        });
        checked.collect()
    }

    /// Hands out all batches in order, until the end, the first damage (which is returned), or until `take` says `false`.
    pub fn batches(&self, mut take: impl FnMut(&Batch<'_>) -> bool) -> Result<Option<Damage>, OpenError> {
        let (recovery, damage) = self.recovery()?;
        let stopped = recovery.replay(0, |frame| {
            let entries = Entries(frame.payload).map(|bytes| match bytes {
                Ok(bytes) => decode_entry(bytes),
                Err(_) => Err(DecodeError::Malformed(nevertwice_core::fields::Malformed::CutShort)),
            });
            if take(&Batch { frame, entries: entries.collect() }) { Ok(()) } else { Err(()) }
        })?;
        Ok(if stopped.is_ok() { damage } else { None })
    }

    /// Where the frames lie.
    pub fn frames(&self) -> Result<Vec<FrameRef>, OpenError> {
        Ok(self.recovery()?.0.frames().to_vec())
    }

    /// The last entry, without making any states.
    pub fn last_entry(&self) -> Result<Last, OpenError> {
        let (recovery, damage) = self.recovery()?;
        let Some(last) = recovery.frames().iter().rev().find(|frame| frame.entries > 0).copied() else {
            return Ok(Last { entry: None, damage });
        };
        let unreadable = |what: String| Damage { segment: last.segment, offset: last.offset, what };
        let mut found = None;
        // Behind it there are only seals.
        recovery.replay(last.batch.saturating_sub(1), |frame| {
            found = Entries(frame.payload).last().map(|bytes| bytes.map(decode_entry)).or(found.take());
            Ok::<(), std::convert::Infallible>(())
        })?;
        match found {
            Some(Ok(Ok(entry))) => Ok(Last { entry: Some(entry), damage }),
            Some(Ok(Err(DecodeError::TooNew { version }))) => Err(OpenError::too_new(version)),
            Some(Ok(Err(error))) => Ok(Last { entry: None, damage: Some(unreadable(error.to_string())) }),
            Some(Err(bad)) => Ok(Last { entry: None, damage: Some(unreadable(bad.to_owned())) }),
            None => Ok(Last { entry: None, damage }),
        }
    }

    /// The states as a start of the server would have them: from the newest good snapshot and the frames after it.
    pub fn contents(&self) -> Result<Contents, OpenError> {
        let restored = restore(&self.storage, self.id, &SystemChance)?;
        Ok(Contents { states: restored.states, report: restored.report, damage: restored.damage })
    }

    /// The states from the oldest good snapshot on (from nothing where the journal is whole), so that as much as there is
    /// gets applied again. `seen` hears of every entry, with the state after it.
    pub fn replay(&self, mut seen: impl FnMut(&State, &Entry)) -> Result<Contents, OpenError> {
        let (recovery, damage) = self.recovery()?;
        let whole = recovery.frames().first().is_none_or(|frame| frame.batch == 1);
        let mut report = RestoreReport { journal: recovery.report(), ..RestoreReport::default() };
        let (mut states, floor) =
            if whole { (States::new(draw_seed(&SystemChance)?), Floor::default()) } else { self.oldest(&mut report)? };
        let mut entries = 0;
        recovery.replay(floor.batch, |frame| {
            entries += states.apply(frame, &mut seen)?;
            Ok::<(), OpenError>(())
        })??;
        report.entries = entries;
        Ok(Contents { states, report, damage })
    }

    fn oldest(&self, report: &mut RestoreReport) -> Result<(States, Floor), OpenError> {
        for batch in snapshot::list(self.storage.as_ref())?.into_iter().rev() {
            let Ok(verified) = snapshot::verify(self.storage.as_ref(), self.id, batch)? else { continue };
            match States::load(self.storage.as_ref(), self.id, batch, draw_seed(&SystemChance)?)? {
                Ok(states) => {
                    report.snapshot = Some(batch);
                    return Ok((states, verified.floor));
                }
                Err(bad) => report.bad_snapshots.push(format!("{}: {bad}", snapshot::snapshot_name(batch))),
            }
        }
        Ok((States::new(draw_seed(&SystemChance)?), Floor::default()))
    }

    fn recovery(&self) -> Result<(Recovery, Option<Damage>), OpenError> {
        let newest = snapshot::newest(self.storage.as_ref(), self.id)?.0;
        let floor = newest.map_or(Floor::default(), |verified| verified.floor);
        Recovery::inspect(Arc::clone(&self.storage), self.id, floor)
    }
}
