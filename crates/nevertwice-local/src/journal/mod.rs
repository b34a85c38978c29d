//! The journal: numbered segments full of frames, one frame for each batch that is fsynced.
//!
//! - `reach`: how far the journal is known to reach, in a file of its own.
//! - `frame`: the bytes of a frame.
//! - `segment`: names, the zeros that are written beforehand, the thread that does it.
//! - `reader`: frames out of a segment, by position.
//! - `cursor`: durable batches one after the other, beside the writer.
//! - `stream`: frames one behind the other, as they go over a network.
//! - `copies`: batches of another journal, written again in this one.
//! - `scan`: what a folder's segments prove together; where damage ends and the torn tail begins.
//! - `recovery`: reads, replays, cuts, and hands out a journal that may be written.
//! - `padding`: what lies between frames.
//! - `writer`: one positional write and one sync for each batch.
//!
//! The byte layout and the rules of recovery, with their reasons, are in `docs/journal-format.md`.

mod copies;
mod cursor;
mod frame;
mod options;
mod padding;
mod reach;
mod reader;
mod recovery;
mod scan;
mod segment;
mod stream;
mod writer;

pub use copies::Copied;
pub use cursor::{JournalCursor, ReadOnError};
pub(crate) use reach::NAME as REACH;
#[cfg(feature = "fuzzing")]
pub(crate) use reach::{Reach, parse as parse_reach};
pub(crate) use segment::segment_name;
#[cfg(feature = "fuzzing")]
pub(crate) use segment::segment_number;

pub use frame::{ALIGNMENT, FrameBuffer, HEADER_BYTES};
pub use options::{JournalOptions, SEGMENT_BYTES};
pub use reader::Frame;
pub(crate) use reader::SegmentReader;
pub use recovery::{Recovery, RecoveryReport};
pub use scan::{Floor, FrameRef};
pub use segment::is_segment;
pub use stream::{BadStream, FrameStream};
pub use writer::{Extent, Journal, JournalReader, Room};
