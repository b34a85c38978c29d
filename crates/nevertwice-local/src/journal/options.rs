//! How the journal is laid out.

use super::frame::ALIGNMENT;
use crate::error::OpenError;

/// The size of a segment unless told otherwise: 64 MiB.
pub const SEGMENT_BYTES: u64 = 64 << 20;

/// How the journal is laid out.
#[derive(Debug, Clone)]
pub struct JournalOptions {
    /// The length of a segment; at least one batch must fit into it.
    pub segment_bytes: u64,
    /// How many segments are filled with zeros ahead of need, by a thread of their own. 0 has no thread: the writer
    /// fills each segment when it comes to it (for tests that count every write).
    pub segments_ahead: usize,
}

impl Default for JournalOptions {
    fn default() -> JournalOptions {
        JournalOptions { segment_bytes: SEGMENT_BYTES, segments_ahead: 1 }
    }
}

impl JournalOptions {
    pub(super) fn check(&self) -> Result<(), OpenError> {
        if self.segment_bytes >= 2 * ALIGNMENT && self.segment_bytes.is_multiple_of(ALIGNMENT) {
            return Ok(());
        }
        Err(OpenError::Options { what: format!("a segment of {} bytes is no multiple of {ALIGNMENT} over it", self.segment_bytes) })
    }
}
