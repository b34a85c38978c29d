//! Frames out of one segment, by position. Never panics on what it reads, never allocates more than the file holds.

use std::io;

use super::frame::{HEADER_BYTES, Header, VERSION, checksum};
use super::segment::segment_name;
use crate::error::{IoFailure, OpenError};
use crate::folder::JournalId;
use crate::storage::{Storage, StorageFile};

/// How much is read at once.
const WINDOW_BYTES: usize = 1 << 20;

/// A good frame, as it lies in its segment.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The segment's number.
    pub segment: u64,
    /// Where it begins.
    pub offset: u64,
    /// The batch's number.
    pub batch: u64,
    /// The highest batch that was durable when it was written.
    pub durable: u64,
    /// How many entries the payload holds.
    pub entries: u32,
    /// The entries.
    pub payload: &'a [u8],
}

/// Reads a segment through a window that moves forward.
pub(crate) struct SegmentReader {
    file: Box<dyn StorageFile>,
    name: String,
    number: u64,
    id: JournalId,
    len: u64,
    window: Vec<u8>,
    window_at: u64,
}

impl SegmentReader {
    pub(crate) fn open(storage: &dyn Storage, number: u64, id: JournalId) -> Result<SegmentReader, IoFailure> {
        let name = segment_name(number);
        let file = storage.open(&name).map_err(IoFailure::of("opening", &name))?;
        let len = file.size().map_err(IoFailure::of("measuring", &name))?;
        Ok(SegmentReader { file, name, number, id, len, window: Vec::new(), window_at: 0 })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The bytes at `offset`, or `None` if the file ends before.
    fn bytes(&mut self, offset: u64, len: usize) -> Result<Option<&[u8]>, IoFailure> {
        let Some(end) = offset.checked_add(len as u64).filter(|end| *end <= self.len) else {
            return Ok(None);
        };
        let window_end = self.window_at + self.window.len() as u64;
        if offset < self.window_at || end > window_end {
            let left = self.len - offset;
            let wanted = usize::try_from(left.min(len.max(WINDOW_BYTES) as u64)).unwrap_or(len);
            self.window.resize(wanted, 0);
            self.window_at = offset;
            let read = match self.file.read_at(offset, &mut self.window) {
                Ok(read) => read,
                Err(error) => {
                    self.window.clear();
                    return Err(IoFailure::new("reading", &self.name, error));
                }
            };
            self.window.truncate(read);
            if read < len {
                let error = io::Error::from(io::ErrorKind::UnexpectedEof);
                return Err(IoFailure::new("reading", &self.name, error));
            }
        }
        let start = (offset - self.window_at) as usize;
        Ok(Some(&self.window[start..start + len]))
    }

    /// The frame that begins at `offset`, with its header; `None` if no good one does. A good one of a later version is refused:
    /// to take it for nothing would be to cut it off.
    pub(crate) fn frame_at(&mut self, offset: u64) -> Result<Option<(Header, Frame<'_>)>, OpenError> {
        let (id, number) = (self.id, self.number);
        let Some(head) = self.bytes(offset, HEADER_BYTES)? else {
            return Ok(None);
        };
        let is_here = |header: &Header| header.segment == number || header.version > VERSION;
        let Some(header) = Header::parse(head, id).filter(is_here) else {
            return Ok(None);
        };
        let whole = HEADER_BYTES + header.payload_len as usize;
        let Some(bytes) = self.bytes(offset, whole)? else {
            return Ok(None);
        };
        let (head, payload) = bytes.split_at(HEADER_BYTES);
        if checksum(head, payload) != header.crc {
            return Ok(None);
        }
        if header.version > VERSION {
            let (found, supported) = (u32::from(header.version), u32::from(VERSION));
            return Err(OpenError::TooNew { what: "a frame of the journal", found, supported });
        }
        let frame = Frame { segment: number, offset, batch: header.batch, durable: header.durable, entries: header.entries, payload };
        Ok(Some((header, frame)))
    }

    /// The end of the last byte in `offset..offset + len` that is not zero; `None` if all are. Cut at the file's end.
    pub(crate) fn end_of_data(&mut self, offset: u64, len: u64) -> Result<Option<u64>, IoFailure> {
        let len = len.min(self.len.saturating_sub(offset));
        let Some(bytes) = self.bytes(offset, len as usize)? else {
            return Ok(None);
        };
        Ok(bytes.iter().rposition(|byte| *byte != 0).map(|at| offset + at as u64 + 1))
    }
}
