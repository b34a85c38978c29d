//! The journal while it is written: one positional write and one sync for each batch.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::frame::{ALIGNMENT, FrameBuffer, HEADER_BYTES, Header};
use super::options::JournalOptions;
use super::reach::Reach;
use super::reader::Frame;
use super::segment::{NoSegment, Preparer, Segment, segment_name};
use crate::error::{AppendError, IoFailure, OpenError};
use crate::folder::{JournalId, remove_if_there};
use crate::storage::Storage;

/// A segment, the first batch in it, and where its last durable frame ends (for the segment that is written: not known here).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) segment: u64,
    pub(crate) first_batch: u64,
    pub(crate) end: u64,
}

/// Where a journal goes on.
pub(crate) struct Start {
    pub(crate) offset: u64,
    pub(crate) batch: u64,
    pub(crate) crc: u32,
    pub(crate) epoch: u32,
    pub(crate) spans: Vec<Span>,
}

/// The writer. There is one, and it is driven by one thread.
pub struct Journal {
    pub(super) id: JournalId,
    pub(super) segment: Segment,
    pub(super) offset: u64,
    pub(super) crc: u32,
    pub(super) epoch: u32,
    batch_bytes_max: usize,
    pub(super) poisoned: bool,
    preparer: Arc<Preparer>,
    pub(super) progress: Arc<Progress>,
    storage: Arc<dyn Storage>,
    #[cfg(feature = "mutants")]
    skips_syncs: bool,
    #[cfg(feature = "mutants")]
    pub(super) syncs_late: bool,
}

/// What others may know of the writer.
pub(super) struct Progress {
    durable: watch::Sender<u64>,
    /// What is left in the current segment.
    left_bytes: AtomicU64,
    /// Where the last durable frame ends in the current segment.
    end: AtomicU64,
    spans: Mutex<Vec<Span>>,
}

impl Progress {
    pub(super) fn durable(&self) -> u64 {
        *self.durable.borrow()
    }

    /// The end of what was written to the current segment is durable, up to this batch.
    pub(super) fn reached(&self, batch: u64, segment: &Segment, offset: u64) {
        self.left_bytes.store(segment.len.saturating_sub(offset), Ordering::Relaxed);
        self.end.store(offset, Ordering::Relaxed);
        self.durable.send_replace(batch);
    }

    pub(super) fn spans(&self) -> MutexGuard<'_, Vec<Span>> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal {
    pub(crate) fn start(
        storage: Arc<dyn Storage>,
        id: JournalId,
        segment: Segment,
        start: Start,
        options: &JournalOptions,
    ) -> Result<Journal, IoFailure> {
        let Start { offset, batch, crc, epoch, spans } = start;
        let (ahead, segment_bytes) = (options.segments_ahead, options.segment_bytes);
        let preparer = Preparer::start(Arc::clone(&storage), segment.number + 1, segment_bytes, ahead)?;
        let progress = Progress {
            durable: watch::Sender::new(batch),
            left_bytes: AtomicU64::new(segment.len.saturating_sub(offset)),
            end: AtomicU64::new(offset),
            spans: Mutex::new(spans),
        };
        Ok(Journal {
            id,
            segment,
            offset,
            crc,
            epoch,
            batch_bytes_max: usize::try_from(segment_bytes).unwrap_or(usize::MAX).min(u32::MAX as usize) - HEADER_BYTES,
            poisoned: false,
            preparer: Arc::new(preparer),
            progress: Arc::new(progress),
            storage,
            #[cfg(feature = "mutants")]
            skips_syncs: false,
            #[cfg(feature = "mutants")]
            syncs_late: false,
        })
    }

    /// The same with a planted bug.
    #[cfg(feature = "mutants")]
    pub(crate) fn skipping_syncs(self, skips_syncs: bool) -> Journal {
        Journal { skips_syncs, ..self }
    }

    /// Writes the batch and syncs it; on success it is durable, has the number that is returned, and `batch` is
    /// empty. [`AppendError::Full`] and [`AppendError::TooLarge`] wrote nothing; after any other failure nothing is
    /// written any more.
    pub fn append(&mut self, batch: &mut FrameBuffer) -> Result<u64, AppendError> {
        if self.poisoned {
            return Err(AppendError::Poisoned);
        }
        let bytes = batch.payload().len();
        if bytes > self.batch_bytes_max {
            return Err(AppendError::TooLarge { bytes, bytes_max: self.batch_bytes_max });
        }
        let number = self.durable() + 1;
        if (HEADER_BYTES + bytes) as u64 > self.segment.len - self.offset {
            self.next_segment(number)?;
        }
        let header = Header::of(self.segment.number, number, number - 1, self.crc, self.epoch);
        let (frame, crc) = batch.seal(header, self.id);
        let len = frame.len() as u64;
        let written = self.segment.file.write_at(self.offset, frame);
        let name = &self.segment.name;
        let sync = || self.segment.file.sync_data();
        #[cfg(feature = "mutants")]
        let sync = || if self.skips_syncs && number.is_multiple_of(16) { Ok(()) } else { sync() };
        let synced = written.map_err(IoFailure::of("writing", name)).and_then(|()| sync().map_err(IoFailure::of("syncing", name)));
        if let Err(failure) = synced {
            // Whether a failed sync can be repeated is unknown, so it never is.
            self.poisoned = true;
            tracing::error!(batch = number, %failure, "the journal is poisoned");
            return Err(AppendError::Failed(failure));
        }
        self.offset += len;
        self.crc = crc;
        self.progress.reached(number, &self.segment, self.offset);
        batch.clear();
        Ok(number)
    }

    pub(super) fn next_segment(&mut self, first_batch: u64) -> Result<(), AppendError> {
        match self.preparer.take() {
            Ok(segment) => {
                let mut spans = self.progress.spans();
                if let Some(last) = spans.last_mut() {
                    last.end = self.offset;
                }
                spans.push(Span { segment: segment.number, first_batch, end: 0 });
                drop(spans);
                self.progress.left_bytes.store(segment.len, Ordering::Relaxed);
                self.segment = segment;
                self.offset = 0;
                debug_assert!(self.segment.len.is_multiple_of(ALIGNMENT));
                Ok(())
            }
            Err(NoSegment::Full) => Err(AppendError::Full),
            Err(NoSegment::Failed(failure)) => {
                self.poisoned = true;
                Err(AppendError::Failed(failure))
            }
        }
    }

    /// The last batch that is durable.
    pub fn durable(&self) -> u64 {
        self.progress.durable()
    }

    /// The epoch of this start: how many starts the folder has had.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(super) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// The largest payload of one batch.
    pub fn batch_bytes_max(&self) -> usize {
        self.batch_bytes_max
    }

    /// How much can still be written on a full disk, for who decides.
    pub fn room(&self) -> Room {
        Room { preparer: Arc::clone(&self.preparer), progress: Arc::clone(&self.progress) }
    }

    /// Reads and prunes what is durable, from other threads.
    pub fn reader(&self) -> JournalReader {
        JournalReader { storage: Arc::clone(&self.storage), id: self.id, progress: Arc::clone(&self.progress) }
    }

    /// Ends the journal with a seal: an empty batch, which names the one before it durable. So damage to that one
    /// is found at the next start, where it would pass for a torn tail otherwise. Then it is written down how far the
    /// journal reaches.
    pub fn close(self) -> Result<(), AppendError> {
        self.close_with(&[])
    }

    /// The same with a seal that tells one thing.
    pub(super) fn close_with(mut self, tells: &[u8]) -> Result<(), AppendError> {
        let mut seal = FrameBuffer::new();
        seal.extend(tells, u32::from(!tells.is_empty()));
        let batch = self.append(&mut seal)?;
        Reach(batch).write(self.storage.as_ref()).map_err(AppendError::Failed)
    }
}

/// How much room the journal has.
#[derive(Clone)]
pub struct Room {
    preparer: Arc<Preparer>,
    progress: Arc<Progress>,
}

impl Room {
    /// The bytes that are left in segments that exist, while the disk is full; `None` while it is not.
    pub fn left_bytes(&self) -> Option<u64> {
        self.preparer.is_full().then(|| self.progress.left_bytes.load(Ordering::Relaxed).saturating_add(self.preparer.ready_bytes()))
    }
}

/// Reads durable batches beside the writer, and removes segments that nobody needs any more.
#[derive(Clone)]
pub struct JournalReader {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) id: JournalId,
    pub(super) progress: Arc<Progress>,
}

/// A segment, and how much of it is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Its number.
    pub segment: u64,
    /// The first batch in it.
    pub first_batch: u64,
    /// The last durable batch in it.
    pub last_batch: u64,
    /// Where that batch's frame ends, in bytes.
    pub bytes: u64,
}

impl JournalReader {
    /// The last batch that is durable.
    pub fn durable(&self) -> u64 {
        self.progress.durable()
    }

    /// Hears of every batch that becomes durable from now on.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.progress.durable.subscribe()
    }

    /// The segments that hold anything durable, in order.
    pub fn extents(&self) -> Vec<Extent> {
        let durable = self.durable();
        let spans = self.progress.spans().clone();
        let extent = |(at, span): (usize, &Span)| {
            let (last_batch, bytes) = match spans.get(at + 1) {
                Some(next) => (durable.min(next.first_batch - 1), span.end),
                None => (durable, self.progress.end.load(Ordering::Relaxed)),
            };
            (span.first_batch <= last_batch).then_some(Extent { segment: span.segment, first_batch: span.first_batch, last_batch, bytes })
        };
        spans.iter().enumerate().filter_map(extent).collect()
    }

    /// The first batch that is there.
    pub fn first(&self) -> u64 {
        self.progress.spans().first().map_or(1, |span| span.first_batch)
    }

    /// The folder's storage.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// The journal's number.
    pub fn id(&self) -> JournalId {
        self.id
    }

    /// Hands the batches after `after`, up to `upto` or the last durable one, to `take`, in order, until it fails.
    /// Returns the last batch handed out and the checksum of its frame (`after` and 0 if there was none).
    pub fn read<E: From<OpenError>>(
        &self,
        after: u64,
        upto: u64,
        mut take: impl FnMut(&Frame<'_>) -> Result<(), E>,
    ) -> Result<(u64, u32), E> {
        let upto = upto.min(self.durable());
        let mut done = (after, 0);
        if after >= upto {
            return Ok(done);
        }
        let mut cursor = self.cursor(after).map_err(OpenError::from)?;
        while done.0 < upto {
            let Some(frame) = cursor.read_next().map_err(OpenError::from)? else { break };
            take(&frame)?;
            done = (frame.batch, frame.crc);
        }
        Ok(done)
    }

    /// Removes the segments all of whose batches are at or below `upto`, one by one from the oldest, each removal
    /// durable before the next: a gap in the middle would be damage. Returns how many went.
    pub fn prune(&self, upto: u64) -> Result<usize, IoFailure> {
        let mut removed = 0;
        loop {
            let oldest = {
                let spans = self.progress.spans();
                match spans.as_slice() {
                    [oldest, next, ..] if next.first_batch <= upto.saturating_add(1) => oldest.segment,
                    _ => return Ok(removed),
                }
            };
            let name = segment_name(oldest);
            remove_if_there(self.storage.as_ref(), &name)?;
            self.storage.sync_folder().map_err(IoFailure::of("syncing the folder of", &name))?;
            self.progress.spans().remove(0);
            removed += 1;
        }
    }
}
