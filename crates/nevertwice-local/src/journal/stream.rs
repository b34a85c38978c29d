//! Frames one behind the other without their padding, as they go over a network: header and payload are the bytes that lie in
//! the segment, so the checksum still holds.

use std::fmt;

use super::frame::{HEADER_BYTES, Header, checksum};
use super::reader::Frame;
use crate::folder::JournalId;

/// Why the rest of a stream counts for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadStream {
    /// What was found.
    pub what: String,
}

impl fmt::Display for BadStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the stream of batches is not as a journal has them: {}", self.what)
    }
}

impl std::error::Error for BadStream {}

/// The frames in some bytes, each checked by itself and against the one before. After an error nothing more comes.
#[derive(Debug, Clone)]
pub struct FrameStream<'a> {
    rest: &'a [u8],
    id: JournalId,
    batch: u64,
    crc: Option<u32>,
}

impl<'a> FrameStream<'a> {
    /// The frames of journal `id` after batch `after`, whose frame has the checksum `crc` (`None` if that is not known).
    pub fn new(bytes: &'a [u8], id: JournalId, after: u64, crc: Option<u32>) -> FrameStream<'a> {
        FrameStream { rest: bytes, id, batch: after, crc }
    }

    fn frame(&mut self) -> Result<Frame<'a>, String> {
        let header = Header::parse(self.rest, self.id).ok_or("something is no header of a frame of this journal")?;
        let whole = HEADER_BYTES.saturating_add(header.payload_len as usize);
        let (raw, rest) = self.rest.split_at_checked(whole).ok_or("it ends inside a frame")?;
        let (head, payload) = raw.split_at(HEADER_BYTES);
        if checksum(head, payload) != header.crc {
            return Err(format!("the checksum of batch {} is wrong", header.batch));
        }
        if header.batch != self.batch + 1 {
            return Err(format!("batch {} follows batch {}", header.batch, self.batch));
        }
        if self.crc.is_some_and(|crc| crc != header.crc_before) {
            return Err(format!("batch {} continues another history", header.batch));
        }
        self.rest = rest;
        self.batch = header.batch;
        self.crc = Some(header.crc);
        Ok(Frame::new(&header, 0, raw))
    }
}

impl<'a> Iterator for FrameStream<'a> {
    type Item = Result<Frame<'a>, BadStream>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        Some(self.frame().map_err(|what| {
            self.rest = &[];
            BadStream { what }
        }))
    }
}
