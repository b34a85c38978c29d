//! Reads durable batches beside the writer, one after the other, and remembers where it is: who follows a journal does not
//! look for his place again each time.

use std::io;

use super::frame::{HEADER_BYTES, Header};
use super::reader::{Frame, SegmentReader};
use super::writer::JournalReader;
use crate::error::{Damage, IoFailure, OpenError};

/// Why a cursor does not go on.
#[derive(Debug)]
pub enum ReadOnError {
    /// The batch is not there any more: its segment was removed, because snapshots hold what it did.
    Pruned {
        /// The batch that was wanted.
        batch: u64,
    },
    /// It cannot be read.
    Open(OpenError),
}

impl From<IoFailure> for ReadOnError {
    fn from(failure: IoFailure) -> ReadOnError {
        ReadOnError::Open(failure.into())
    }
}

impl From<OpenError> for ReadOnError {
    fn from(error: OpenError) -> ReadOnError {
        ReadOnError::Open(error)
    }
}

/// For who knows that nobody may have removed it.
impl From<ReadOnError> for OpenError {
    fn from(error: ReadOnError) -> OpenError {
        match error {
            ReadOnError::Pruned { batch } => {
                Damage { segment: 0, offset: 0, what: format!("batch {batch} is needed, and was removed") }.into()
            }
            ReadOnError::Open(error) => error,
        }
    }
}

/// A place in a journal: behind one of its batches.
pub struct JournalCursor {
    reader: JournalReader,
    segment: Option<SegmentReader>,
    offset: u64,
    batch: u64,
    crc: Option<u32>,
}

impl JournalReader {
    /// A cursor behind batch `after`, or behind the last durable batch if that comes before.
    ///
    /// # Errors
    /// [`ReadOnError::Pruned`] if the batch that comes next is not there any more.
    pub fn cursor(&self, after: u64) -> Result<JournalCursor, ReadOnError> {
        let first = self.progress.spans().first().map_or(1, |span| span.first_batch);
        if after.saturating_add(1) < first {
            return Err(ReadOnError::Pruned { batch: after + 1 });
        }
        let mut cursor = JournalCursor { reader: self.clone(), segment: None, offset: 0, batch: first - 1, crc: None };
        cursor.batch = cursor.before(after);
        if cursor.batch == 0 {
            cursor.crc = Some(0);
        }
        while cursor.batch < after && cursor.step()?.is_some() {}
        Ok(cursor)
    }
}

impl JournalCursor {
    /// The batch behind which it is.
    pub fn batch(&self) -> u64 {
        self.batch
    }

    /// The checksum of that batch's frame; `None` where the frame itself is not there any more.
    pub fn crc(&self) -> Option<u32> {
        self.crc
    }

    /// The journal that it reads.
    pub fn reader(&self) -> &JournalReader {
        &self.reader
    }

    /// The next durable batch; `None` for now if there is none.
    ///
    /// # Errors
    /// If it is not there any more, or cannot be read.
    pub fn read_next(&mut self) -> Result<Option<Frame<'_>>, ReadOnError> {
        let Some((header, offset)) = self.step()? else { return Ok(None) };
        let whole = HEADER_BYTES + header.payload_len as usize;
        let gone = || IoFailure::new("reading", "a segment", io::ErrorKind::UnexpectedEof.into());
        let segment = self.segment.as_mut().ok_or_else(gone)?;
        let raw = segment.bytes(offset, whole)?.ok_or_else(gone)?;
        Ok(Some(Frame::new(&header, offset, raw)))
    }

    /// The last batch before the segment in which `batch` lies, or would lie.
    fn before(&self, batch: u64) -> u64 {
        let spans = self.reader.progress.spans();
        spans.iter().rev().find(|span| span.first_batch <= batch).map_or(self.batch, |span| span.first_batch - 1)
    }

    /// Goes one batch further, and says where it lies.
    fn step(&mut self) -> Result<Option<(Header, u64)>, ReadOnError> {
        if self.batch >= self.reader.durable() {
            return Ok(None);
        }
        let header = match self.header_here()? {
            Some(header) => header,
            None => {
                self.open_next()?;
                self.header_here()?.ok_or_else(|| self.missing())?
            }
        };
        let offset = self.offset;
        self.offset = header.end(offset);
        self.batch = header.batch;
        self.crc = Some(header.crc);
        Ok(Some((header, offset)))
    }

    /// The header of the next batch, if it lies in the segment that is open.
    fn header_here(&mut self) -> Result<Option<Header>, ReadOnError> {
        let (wanted, crc, offset) = (self.batch + 1, self.crc, self.offset);
        let Some(segment) = &mut self.segment else { return Ok(None) };
        let is_next = |header: &Header| header.batch == wanted && crc.is_none_or(|crc| header.crc_before == crc);
        if let Some((header, _)) = segment.frame_at(offset)?.filter(|(header, _)| is_next(header)) {
            return Ok(Some(header));
        }
        // What was read ahead may be older than the frame.
        segment.forget()?;
        Ok(segment.frame_at(offset)?.map(|(header, _)| header).filter(is_next))
    }

    /// Opens the segment that begins with the next batch.
    fn open_next(&mut self) -> Result<(), ReadOnError> {
        let wanted = self.batch + 1;
        let (first, found) = {
            let spans = self.reader.progress.spans();
            let first = spans.first().map_or(1, |span| span.first_batch);
            (first, spans.iter().rev().find(|span| span.first_batch == wanted).map(|span| span.segment))
        };
        let Some(number) = found else {
            return Err(if wanted < first { ReadOnError::Pruned { batch: wanted } } else { self.missing() });
        };
        match SegmentReader::open(self.reader.storage.as_ref(), number, self.reader.id) {
            Ok(segment) => {
                self.segment = Some(segment.with_short_window());
                self.offset = 0;
                Ok(())
            }
            Err(failure) if failure.source.kind() == io::ErrorKind::NotFound => Err(ReadOnError::Pruned { batch: wanted }),
            Err(failure) => Err(failure.into()),
        }
    }

    fn missing(&self) -> ReadOnError {
        let segment = self.segment.as_ref().map_or(0, SegmentReader::number);
        let what = format!("batch {}, which was durable, cannot be read", self.batch + 1);
        ReadOnError::Open(Damage { segment, offset: self.offset, what }.into())
    }
}
