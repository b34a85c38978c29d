//! Frames on their way into files: each is durable when it is written.

use std::io;
use std::sync::Arc;

use super::chain::{FrameRef, file_name};
use super::facts::Facts;
use super::frame::seal;
use crate::error::IoFailure;
use crate::folder::{JournalId, remove_if_there};
use crate::storage::{Storage, StorageFile};

/// What a file is called while its first frame is written.
const WRITING: &str = "audit.tmp";

/// Writes frames that link, into a file of its own, and into the next one once that is long enough.
pub(crate) struct FrameWriter {
    storage: Arc<dyn Storage>,
    id: JournalId,
    file_bytes: u64,
    file: Option<Written>,
    /// A file that is there, how much of it counts: it is written again with what comes behind it.
    continued: Option<(u64, u64)>,
    next_file: u64,
    crc: u32,
    /// The files that were written: up to which batch, and how long they are.
    written: Vec<(u64, u64, u64)>,
}

struct Written {
    file: Box<dyn StorageFile>,
    name: String,
    number: u64,
    end: u64,
}

impl FrameWriter {
    /// Goes on behind a frame with this checksum (0 for none), in a file behind that one. A file is not begun over `file_bytes`.
    pub(crate) fn after(storage: Arc<dyn Storage>, id: JournalId, file_bytes: u64, last_file: u64, crc: u32) -> FrameWriter {
        FrameWriter { storage, id, file_bytes, file: None, continued: None, next_file: last_file + 1, crc, written: Vec::new() }
    }

    /// The same, but a last file of `bytes` that is not long enough yet is gone on with. It is replaced whole or not at all.
    pub(crate) fn going_on(self, bytes: u64) -> FrameWriter {
        let last_file = self.next_file - 1;
        let continued = (last_file > 0 && bytes < self.file_bytes).then_some((last_file, bytes));
        FrameWriter { continued, ..self }
    }

    /// Writes what operators did in the batches after `after`, up to `upto`.
    pub(crate) fn write(&mut self, after: u64, upto: u64, facts: &Facts) -> Result<FrameRef, IoFailure> {
        let seal_for = |file| seal(self.id, file, after, upto, facts, self.crc);
        let (offset, header) = match &mut self.file {
            Some(written) if written.end < self.file_bytes => {
                let (bytes, header) = seal_for(written.number);
                let offset = written.end;
                // Without room it is written at the same place again.
                written.file.write_at(offset, &bytes).map_err(IoFailure::of("writing", &written.name))?;
                synced(written.file.sync_data()).map_err(IoFailure::of("syncing", &written.name))?;
                written.end = header.end(offset);
                (offset, header)
            }
            _ => {
                let storage = self.storage.as_ref();
                let (number, mut bytes) = self.head()?;
                let name = file_name(number);
                let offset = bytes.len() as u64;
                let (frame, header) = seal_for(number);
                bytes.extend_from_slice(&frame);
                remove_if_there(storage, WRITING)?;
                let file = storage.create(WRITING).map_err(IoFailure::of("creating", WRITING))?;
                file.write_at(0, &bytes).map_err(IoFailure::of("writing", WRITING))?;
                synced(file.sync_data()).map_err(IoFailure::of("syncing", WRITING))?;
                storage.rename(WRITING, &name).map_err(IoFailure::of("renaming", WRITING))?;
                storage.sync_folder().map_err(IoFailure::of("syncing the folder of", &name))?;
                self.file = Some(Written { file, name, number, end: header.end(offset) });
                self.continued = None;
                self.next_file = number + 1;
                (offset, header)
            }
        };
        self.crc = header.crc;
        self.written.pop_if(|(number, ..)| *number == header.file);
        self.written.push((header.file, upto, header.end(offset)));
        Ok(FrameRef { header, offset })
    }

    /// The files that were written to, in order: their numbers, up to which batch they go, and how long they are.
    pub(crate) fn written(&self) -> &[(u64, u64, u64)] {
        &self.written
    }

    /// The number of the file that is begun, and what stands in it already.
    fn head(&self) -> Result<(u64, Vec<u8>), IoFailure> {
        let Some((number, bytes)) = self.continued else { return Ok((self.next_file, Vec::new())) };
        let name = file_name(number);
        let mut head = self.storage.read(&name).map_err(IoFailure::of("reading", &name))?;
        head.truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok((number, head))
    }
}

/// Whether a failed sync can be repeated is unknown, so it is never taken for a full disk.
fn synced(result: io::Result<()>) -> io::Result<()> {
    result.map_err(|error| io::Error::other(error.to_string()))
}
