//! The journal: numbered segments full of frames, one frame for each batch that is fsynced.
//!
//! - `frame`: the bytes of a frame.
//! - `segment`: names, the zeros that are written beforehand, the thread that does it.
//! - `reader`: frames out of a segment, by position.
//! - `scan`: what a folder's segments prove together; where damage ends and the torn tail begins.
//! - `recovery`: reads, replays, cuts, and hands out a journal that may be written.
//! - `writer`: one positional write and one sync for each batch.
//!
//! The byte layout and the rules of recovery, with their reasons, are in `docs/journal-format.md`.

mod frame;
mod reader;
mod recovery;
mod scan;
mod segment;
mod writer;

pub use frame::{ALIGNMENT, FrameBuffer, HEADER_BYTES};
pub use reader::Frame;
pub use recovery::{Recovery, RecoveryReport};
pub use scan::{Floor, FrameRef};
pub use segment::is_segment;
pub use writer::{Journal, JournalReader, Room};

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
