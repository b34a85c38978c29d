//! How the journal is laid out.

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
