//! Batches of another journal, written again in this one: under their own numbers and epochs, in frames of this journal,
//! which witness what was durable *here*. Many share one sync, for nobody waits for each of them.

use std::sync::Arc;

use super::frame::{FrameBuffer, HEADER_BYTES, Header};
use super::options::JournalOptions;
use super::reach::Reach;
use super::reader::Frame;
use super::scan::Floor;
use super::segment::make_segment;
use super::writer::{Journal, Span, Start};
use crate::error::{AppendError, IoFailure, OpenError};
use crate::folder::JournalId;
use crate::storage::Storage;

/// The number of a new folder's first segment.
const FIRST_SEGMENT: u64 = 1;

/// A batch that is written again.
#[derive(Debug, Clone, Copy)]
pub struct Copied<'a> {
    /// Its number.
    pub batch: u64,
    /// The epoch in which it was made.
    pub epoch: u32,
    /// How many entries the payload holds.
    pub entries: u32,
    /// The entries.
    pub payload: &'a [u8],
}

impl<'a> From<&Frame<'a>> for Copied<'a> {
    fn from(frame: &Frame<'a>) -> Copied<'a> {
        Copied { batch: frame.batch, epoch: frame.epoch, entries: frame.entries, payload: frame.payload }
    }
}

impl Journal {
    /// Begins a journal in a folder without segments: with nothing, or with the batch after which a snapshot was made
    /// elsewhere. Returns what a snapshot after that batch has to say of it.
    pub(crate) fn begin(
        storage: Arc<dyn Storage>,
        id: JournalId,
        first: Option<&Frame<'_>>,
        options: &JournalOptions,
    ) -> Result<(Journal, Floor), OpenError> {
        options.check()?;
        let mut buffer = FrameBuffer::new();
        let (mut head, mut floor, mut epoch) = (Vec::new(), Floor::default(), 0);
        if let Some(first) = first {
            buffer.refill(first);
            let header = Header::of(FIRST_SEGMENT, first.batch, first.batch - 1, first.crc_before, first.epoch);
            let (bytes, crc) = buffer.seal(header, id);
            head.extend_from_slice(bytes);
            (floor, epoch) = (Floor { batch: first.batch, crc }, first.epoch);
        }
        let len = head.len() as u64 + options.segment_bytes;
        let segment = make_segment(storage.as_ref(), FIRST_SEGMENT, &head, len)?;
        let spans = vec![Span { segment: FIRST_SEGMENT, first_batch: floor.batch.max(1), end: 0 }];
        let start = Start { offset: head.len() as u64, batch: floor.batch, crc: floor.crc, epoch, spans };
        Ok((Journal::start(storage, id, segment, start, options)?, floor))
    }

    /// Ends a copy: with a seal of that epoch, which tells where the folder comes from, and with how far the journal reaches.
    pub(crate) fn close_in(mut self, epoch: u32, tells: &[u8]) -> Result<(), AppendError> {
        self.epoch = epoch;
        self.close_with(tells)
    }

    /// Ends a copy that is gone on with: no batch of its own, only how far it reaches.
    pub(crate) fn leave(self) -> Result<(), IoFailure> {
        Reach(self.durable()).write(self.storage().as_ref())
    }

    /// Writes batches that follow the last one without a gap, and syncs once; then all of them are durable. After an error
    /// other than [`AppendError::TooLarge`] and [`AppendError::Full`] nothing is written any more. Of a group that found no
    /// room, what came before may be there and counts for nothing until a later call is done.
    ///
    /// # Panics
    /// If a batch is not the one that comes next: who reads a stream has checked that.
    pub fn append_copies<'a>(&mut self, copies: impl IntoIterator<Item = Copied<'a>>) -> Result<u64, AppendError> {
        if self.poisoned {
            return Err(AppendError::Poisoned);
        }
        #[cfg(feature = "mutants")]
        if self.syncs_late {
            self.segment.file.sync_data().map_err(|source| AppendError::Failed(IoFailure::new("syncing", &self.segment.name, source)))?;
        }
        let durable = self.durable();
        let place = (self.segment.number, self.offset, self.crc);
        match self.write_copies(durable, copies) {
            Ok(last) if last == durable => Ok(last),
            #[cfg(feature = "mutants")]
            Ok(last) if self.syncs_late => {
                self.progress.reached(last, &self.segment, self.offset);
                Ok(last)
            }
            Ok(last) => {
                self.sync_segment()?;
                self.progress.reached(last, &self.segment, self.offset);
                Ok(last)
            }
            Err(error @ (AppendError::TooLarge { .. } | AppendError::Full)) if place.0 == self.segment.number => {
                // Nothing of it was synced; the next call writes over it.
                (self.offset, self.crc) = (place.1, place.2);
                Err(error)
            }
            Err(error) => {
                self.poisoned = true;
                Err(error)
            }
        }
    }

    /// A planted bug: what was copied is synced with the next copies, and called durable before.
    #[cfg(feature = "mutants")]
    pub(crate) fn sync_copies_late(&mut self) {
        self.syncs_late = true;
    }

    fn write_copies<'a>(&mut self, durable: u64, copies: impl IntoIterator<Item = Copied<'a>>) -> Result<u64, AppendError> {
        let mut buffer = FrameBuffer::new();
        let mut last = durable;
        for copy in copies {
            assert_eq!(copy.batch, last + 1, "batches are copied in order");
            let bytes = copy.payload.len();
            if bytes > self.batch_bytes_max() {
                return Err(AppendError::TooLarge { bytes, bytes_max: self.batch_bytes_max() });
            }
            if (HEADER_BYTES + bytes) as u64 > self.segment.len - self.offset {
                self.sync_segment()?;
                self.next_segment(copy.batch)?;
            }
            buffer.clear();
            buffer.extend(copy.payload, copy.entries);
            let (frame, crc) = buffer.seal(Header::of(self.segment.number, copy.batch, durable, self.crc, copy.epoch), self.id);
            let written = self.segment.file.write_at(self.offset, frame);
            written.map_err(|source| AppendError::Failed(IoFailure::new("writing", &self.segment.name, source)))?;
            self.offset += frame.len() as u64;
            self.crc = crc;
            self.epoch = copy.epoch;
            last = copy.batch;
        }
        Ok(last)
    }

    fn sync_segment(&mut self) -> Result<(), AppendError> {
        self.segment.file.sync_data().map_err(|source| {
            self.poisoned = true;
            AppendError::Failed(IoFailure::new("syncing", &self.segment.name, source))
        })
    }
}
