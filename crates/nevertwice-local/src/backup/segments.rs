//! Raw frames on their way into a backup's segments, byte for byte as they lie in the journal. A segment gets its name once
//! it is synced, so what the manifest before named is whole until the next one is written.

use std::sync::Arc;

use crate::error::IoFailure;
use crate::folder::remove_if_there;
use crate::journal::{ALIGNMENT, Extent, Frame, segment_name};
use crate::storage::{Storage, StorageFile};

const WRITING: &str = "segment.tmp";
/// How much is copied at once.
const COPY_BYTES: usize = 1 << 20;

/// Writes segments, one after the other.
pub(super) struct Segments {
    storage: Arc<dyn Storage>,
    done: Vec<Extent>,
    writing: Option<Writing>,
}

struct Writing {
    file: Box<dyn StorageFile>,
    extent: Extent,
}

impl Segments {
    /// Goes on after segments that are there already.
    pub(super) fn after(storage: Arc<dyn Storage>, done: Vec<Extent>) -> Segments {
        Segments { storage, done, writing: None }
    }

    /// Adds the frame that comes next.
    pub(super) fn push(&mut self, frame: &Frame<'_>) -> Result<(), IoFailure> {
        if self.writing.as_ref().is_none_or(|writing| writing.extent.segment != frame.segment) {
            self.end_segment()?;
            self.writing = Some(self.begin(frame)?);
        }
        let Some(writing) = &mut self.writing else { return Ok(()) };
        let at = writing.extent.bytes;
        writing.file.write_at(at, frame.raw).map_err(IoFailure::of("writing", WRITING))?;
        writing.extent.bytes = (at + frame.raw.len() as u64).next_multiple_of(ALIGNMENT);
        writing.extent.last_batch = frame.batch;
        Ok(())
    }

    /// Makes all that was added durable, and says what is there.
    pub(super) fn finish(mut self) -> Result<Vec<Extent>, IoFailure> {
        self.end_segment()?;
        Ok(self.done)
    }

    fn begin(&mut self, frame: &Frame<'_>) -> Result<Writing, IoFailure> {
        remove_if_there(self.storage.as_ref(), WRITING)?;
        let file = self.storage.create(WRITING).map_err(IoFailure::of("creating", WRITING))?;
        let mut extent = Extent { segment: frame.segment, first_batch: frame.batch, last_batch: frame.batch, bytes: 0 };
        if let Some(known) = self.done.pop_if(|known| known.segment == frame.segment) {
            self.copy(&known, file.as_ref())?;
            extent = known;
        }
        Ok(Writing { file, extent })
    }

    /// The part that is there already.
    fn copy(&self, known: &Extent, into: &dyn StorageFile) -> Result<(), IoFailure> {
        let name = segment_name(known.segment);
        let from = self.storage.open(&name).map_err(IoFailure::of("opening", &name))?;
        let mut chunk = vec![0; COPY_BYTES];
        let mut at = 0;
        while at < known.bytes {
            let wanted = chunk.len().min(usize::try_from(known.bytes - at).unwrap_or(usize::MAX));
            let read = from.read_at(at, &mut chunk[..wanted]).map_err(IoFailure::of("reading", &name))?;
            if read == 0 {
                // The padding of its last frame was never written: it is read as zeros.
                break;
            }
            into.write_at(at, &chunk[..read]).map_err(IoFailure::of("writing", WRITING))?;
            at += read as u64;
        }
        Ok(())
    }

    fn end_segment(&mut self) -> Result<(), IoFailure> {
        let Some(Writing { file, extent }) = self.writing.take() else { return Ok(()) };
        // Whole blocks, as in a journal: the last frame's padding too.
        let size = file.size().map_err(IoFailure::of("measuring", WRITING))?;
        if size < extent.bytes {
            let padding = vec![0; (extent.bytes - size) as usize];
            file.write_at(size, &padding).map_err(IoFailure::of("writing", WRITING))?;
        }
        file.sync_data().map_err(IoFailure::of("syncing", WRITING))?;
        let name = segment_name(extent.segment);
        self.storage.rename(WRITING, &name).map_err(IoFailure::of("renaming", WRITING))?;
        self.storage.sync_folder().map_err(IoFailure::of("syncing the folder of", &name))?;
        self.done.push(extent);
        Ok(())
    }
}
