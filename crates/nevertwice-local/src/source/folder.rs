//! A folder that nobody runs, as a source.

use std::sync::Arc;

use super::pull::{Listing, Note, Piece, Pull, Pulled, SnapshotExtent, Source, SourceError};
use crate::audit::Trail;
use crate::error::OpenError;
use crate::folder::{JournalId, inspect_marker, read_note};
use crate::journal::{Extent, Floor, FrameRef, Recovery};
use crate::restore::read_trail;
use crate::snapshot;
use crate::storage::Storage;

/// How much of a snapshot or of the audit is read at once.
pub(crate) const PIECE_BYTES: usize = 4 << 20;

/// A stopped or copied folder. Nothing is changed in it.
pub struct FolderSource {
    storage: Arc<dyn Storage>,
    id: JournalId,
    notes: Vec<String>,
    recovery: Recovery,
    trail: Trail,
}

impl FolderSource {
    /// Reads the folder, unless a process runs on it. `notes` names the small files beside the journal that go with it.
    ///
    /// # Errors
    /// If it is in use, of a newer version, or damaged.
    pub fn open(storage: Arc<dyn Storage>, notes: &[&str]) -> Result<FolderSource, OpenError> {
        let id = inspect_marker(storage.as_ref())?;
        let newest = snapshot::newest(storage.as_ref(), id)?.0;
        let floor = newest.map_or(Floor::default(), |verified| verified.floor);
        let recovery = Recovery::scan(Arc::clone(&storage), id, floor)?;
        let (trail, fault) = read_trail(&storage, id, &recovery)?;
        if let Some(fault) = fault {
            return Err(fault.into());
        }
        recovery.replay(trail.cursor(), |frame| trail.take(frame))??;
        Ok(FolderSource { storage, id, notes: notes.iter().map(|name| (*name).to_owned()).collect(), recovery, trail })
    }

    fn frames(&self) -> &[FrameRef] {
        self.recovery.frames()
    }

    fn last(&self) -> u64 {
        self.frames().last().map_or(0, |frame| frame.batch)
    }
}

impl Source for FolderSource {
    fn listing(&mut self) -> Result<Listing, SourceError> {
        let mut segments: Vec<Extent> = Vec::new();
        for frame in self.frames() {
            match segments.last_mut() {
                Some(extent) if extent.segment == frame.segment => (extent.last_batch, extent.bytes) = (frame.batch, frame.end),
                _ => {
                    let (segment, batch) = (frame.segment, frame.batch);
                    segments.push(Extent { segment, first_batch: batch, last_batch: batch, bytes: frame.end });
                }
            }
        }
        Ok(Listing {
            id: self.id,
            epoch: self.recovery.last_epoch(),
            durable: self.last(),
            now_ms: 0,
            segments,
            snapshots: snapshots(self.storage.as_ref())?,
            notes: notes(self.storage.as_ref(), &self.notes)?,
        })
    }

    fn batches(&mut self, pull: &Pull) -> Result<Pulled, SourceError> {
        let (first, durable) = (self.frames().first().map_or(1, |frame| frame.batch), self.last());
        if pull.after > durable {
            return Err(SourceError::Differs);
        }
        if pull.after + 1 < first {
            return Err(SourceError::Pruned);
        }
        let before = pull.after.checked_sub(first).and_then(|at| self.frames().get(at as usize));
        if before.is_some_and(|frame| pull.crc.is_some_and(|crc| crc != frame.crc)) {
            return Err(SourceError::Differs);
        }
        let mut frames = Vec::new();
        // A failure ends the replay: here it says that enough was read.
        let _enough = self.recovery.replay(pull.after, |frame| {
            frames.extend_from_slice(frame.raw);
            if frames.len() < pull.bytes_max { Ok(()) } else { Err(()) }
        })?;
        Ok(Pulled { durable, frames })
    }

    fn audit(&mut self, after: u64) -> Result<Vec<u8>, SourceError> {
        Ok(self.trail.frames_after(after, PIECE_BYTES)?)
    }

    fn snapshot(&mut self, batch: u64, from: u64) -> Result<Piece, SourceError> {
        piece(self.storage.as_ref(), batch, from, PIECE_BYTES)
    }
}

/// The snapshots of a folder, the newest first.
pub(crate) fn snapshots(storage: &dyn Storage) -> Result<Vec<SnapshotExtent>, SourceError> {
    let mut found = Vec::new();
    for batch in snapshot::list(storage)? {
        // One that goes meanwhile is not there.
        if let Some(bytes) = snapshot::size(storage, batch)? {
            found.push(SnapshotExtent { batch, bytes });
        }
    }
    Ok(found)
}

/// The small files that are there.
pub(crate) fn notes(storage: &dyn Storage, names: &[String]) -> Result<Vec<Note>, SourceError> {
    let mut notes = Vec::new();
    for name in names {
        if let Some(bytes) = read_note(storage, name)? {
            notes.push(Note { name: name.clone(), bytes });
        }
    }
    Ok(notes)
}

/// A piece of a snapshot's bytes.
pub(crate) fn piece(storage: &dyn Storage, batch: u64, from: u64, bytes_max: usize) -> Result<Piece, SourceError> {
    match snapshot::read_piece(storage, batch, from, bytes_max)? {
        Some((bytes, piece)) => Ok(Piece { bytes, piece }),
        None => Err(SourceError::NoSnapshot),
    }
}
