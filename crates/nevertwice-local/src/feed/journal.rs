//! Batches, snapshots, and the list of what there is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::readers::{ReaderState, Readers};
use crate::audit::Trail;
use crate::backend::{Replicas, ReplicasStatus};
use crate::clock::Clock;
use crate::journal::{JournalCursor, JournalReader};
use crate::source::{Listing, PIECE_BYTES, Piece, Pull, Pulled, Source, SourceError, notes, piece, snapshots};

/// How much journal is kept for readers that is not needed otherwise.
const KEPT_BYTES_MAX: u64 = 8 << 30;

/// How many places in the journal are remembered, so that who comes back need not be looked for.
const CURSORS_MAX: usize = 16;

/// Where a journal can be copied from, if there is one at the time.
pub trait JournalHost: Send + Sync {
    /// What is shown of it.
    fn feed(&self) -> Option<Arc<JournalFeed>>;
}

/// What a running backend shows of its journal.
pub struct JournalFeed {
    reader: JournalReader,
    trail: Trail,
    epoch: u32,
    clock: Arc<dyn Clock>,
    readers: Arc<Readers>,
    /// Who waits for what readers confirm; none where nobody does.
    replicas: Option<Arc<Replicas>>,
    cursors: Mutex<Vec<JournalCursor>>,
}

impl JournalFeed {
    pub(crate) fn new(reader: JournalReader, trail: Trail, epoch: u32, clock: Arc<dyn Clock>, readers: Arc<Readers>) -> JournalFeed {
        JournalFeed { reader, trail, epoch, clock, readers, replicas: None, cursors: Mutex::default() }
    }

    /// The same, whose readers are replicas too.
    pub(crate) fn with_replicas(self, replicas: Option<Arc<Replicas>>) -> JournalFeed {
        JournalFeed { replicas, ..self }
    }

    /// What there is now. `with` names the small files beside the journal that go with a copy.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn listing(&self, with: &[&str]) -> Result<Listing, SourceError> {
        let storage = self.reader.storage().as_ref();
        let with: Vec<String> = with.iter().map(|name| (*name).to_owned()).collect();
        Ok(Listing {
            id: self.reader.id(),
            epoch: self.epoch,
            durable: self.reader.durable(),
            now_ms: self.clock.now_ms(),
            segments: self.reader.extents(),
            snapshots: snapshots(storage)?,
            notes: notes(storage, &with)?,
        })
    }

    /// The batches after one that are durable now; none if there are none. It reads files, and does not wait.
    ///
    /// # Errors
    /// If they are not there any more, belong to another history, or cannot be read.
    pub fn batches(&self, pull: &Pull) -> Result<Pulled, SourceError> {
        let durable = self.reader.durable();
        if pull.after > durable {
            return Err(SourceError::Differs);
        }
        let mut cursor = match self.take(pull.after) {
            Some(cursor) => cursor,
            None => self.reader.cursor(pull.after)?,
        };
        let differs = |known: Option<u32>| known.is_some_and(|known| pull.crc.is_some_and(|crc| crc != known));
        if differs(cursor.crc()) {
            return Err(SourceError::Differs);
        }
        if pull.confirmed.is_some_and(|batch| batch > pull.after) {
            return Err(SourceError::Bad("a reader confirms more than it has read".to_owned()));
        }
        if let Some(name) = &pull.reader {
            // What is confirmed counts once it is seen that it is this history's.
            let confirmed = pull.confirmed.filter(|_| pull.crc.is_some() && pull.crc == cursor.crc());
            if !self.readers.heard(name, pull.after, confirmed, self.clock.now_ms()) {
                return Err(SourceError::ReadersFull);
            }
            if let Some(replicas) = &self.replicas {
                replicas.heard();
            }
        }
        let mut frames = Vec::new();
        while frames.len() < pull.bytes_max {
            let Some(frame) = cursor.read_next()? else { break };
            if frames.is_empty() && differs(Some(frame.crc_before)) {
                return Err(SourceError::Differs);
            }
            frames.extend_from_slice(frame.raw);
        }
        self.keep(cursor);
        Ok(Pulled { durable, frames })
    }

    /// Waits until a batch after that one is durable.
    pub async fn beyond(&self, batch: u64) {
        // The sender lives as long as the reader does.
        let mut durable = self.reader.watch();
        let _reached = durable.wait_for(|durable| *durable > batch).await;
    }

    /// What operators did, from the first frame of the audit on that begins after that batch or a later one: as much as is given at
    /// once. What is durable in the journal is in it a moment later.
    ///
    /// # Errors
    /// If it is damaged, or cannot be read.
    pub fn audit(&self, after: u64) -> Result<Vec<u8>, SourceError> {
        Ok(self.trail.frames_after(after, PIECE_BYTES)?)
    }

    /// A piece of a snapshot's bytes.
    ///
    /// # Errors
    /// If there is no such snapshot, or it cannot be read.
    pub fn snapshot(&self, batch: u64, from: u64) -> Result<Piece, SourceError> {
        piece(self.reader.storage().as_ref(), batch, from, PIECE_BYTES)
    }

    /// Who reads.
    pub fn readers(&self) -> Vec<ReaderState> {
        self.readers.list(self.clock.now_ms())
    }

    /// How those are whose confirmation answers wait for; none where they wait for nobody's.
    pub fn replicas(&self) -> Option<ReplicasStatus> {
        self.replicas.as_ref().map(|replicas| replicas.status())
    }

    /// From which batch on readers need what could go up to `upto`. Who lags further behind than [`KEPT_BYTES_MAX`] is not
    /// waited for: it begins anew from a snapshot.
    pub(crate) fn keep_from(&self, upto: u64) -> u64 {
        let Some(keep_from) = self.readers.keep_from(self.clock.now_ms()).filter(|batch| *batch <= upto) else { return u64::MAX };
        let kept = self.reader.extents().into_iter().filter(|extent| extent.last_batch >= keep_from && extent.first_batch <= upto);
        let kept_bytes: u64 = kept.map(|extent| extent.bytes).sum();
        if kept_bytes > KEPT_BYTES_MAX {
            tracing::warn!(keep_from, kept_bytes, "a reader of the journal is too far behind: what it needs is removed");
            return u64::MAX;
        }
        keep_from
    }

    /// The last durable batch.
    pub fn durable(&self) -> u64 {
        self.reader.durable()
    }

    /// A cursor that stands behind that batch, if somebody left one there.
    fn take(&self, after: u64) -> Option<JournalCursor> {
        let mut cursors = self.cursors();
        let at = cursors.iter().position(|cursor| cursor.batch() == after)?;
        Some(cursors.remove(at))
    }

    fn keep(&self, cursor: JournalCursor) {
        let mut cursors = self.cursors();
        // Two who read in step need one.
        cursors.retain(|kept| kept.batch() != cursor.batch());
        if cursors.len() >= CURSORS_MAX {
            cursors.remove(0);
        }
        cursors.push(cursor);
    }

    fn cursors(&self) -> MutexGuard<'_, Vec<JournalCursor>> {
        self.cursors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A backend of this process as a source. It does not wait for batches, and names no small files.
pub struct FeedSource(pub Arc<JournalFeed>);

impl Source for FeedSource {
    fn listing(&mut self) -> Result<Listing, SourceError> {
        self.0.listing(&[])
    }

    fn batches(&mut self, pull: &Pull) -> Result<Pulled, SourceError> {
        self.0.batches(pull)
    }

    fn audit(&mut self, after: u64) -> Result<Vec<u8>, SourceError> {
        self.0.audit(after)
    }

    fn snapshot(&mut self, batch: u64, from: u64) -> Result<Piece, SourceError> {
        self.0.snapshot(batch, from)
    }
}
