//! What is asked of a source, and what comes.

use std::fmt;

use crate::error::{IoFailure, OpenError};
use crate::folder::JournalId;
use crate::journal::{BadStream, Extent, ReadOnError};

/// A snapshot that a source has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotExtent {
    /// The last batch in it.
    pub batch: u64,
    /// Its length.
    pub bytes: u64,
}

/// A small file that lies in a data folder beside the journal, and belongs to whoever runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// What a source has, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The journal's number.
    pub id: JournalId,
    /// The epoch of new entries.
    pub epoch: u32,
    /// The last durable batch.
    pub durable: u64,
    /// The clock there, in milliseconds.
    pub now_ms: i64,
    /// The segments that hold anything durable, in order.
    pub segments: Vec<Extent>,
    /// The snapshots, the newest first. Whether they are good is known once they were read.
    pub snapshots: Vec<SnapshotExtent>,
    /// Small files that go with the data.
    pub notes: Vec<Note>,
}

impl Listing {
    /// The first batch whose frame is still there; one more than the last for none.
    pub fn first_batch(&self) -> u64 {
        self.segments.first().map_or(self.durable + 1, |extent| extent.first_batch)
    }
}

/// Asks for the batches after one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pull {
    /// The last batch that is here already.
    pub after: u64,
    /// The checksum of its frame, so that another history is not taken for its continuation; `None` if it is not known.
    pub crc: Option<u32>,
    /// How much may come at once; a batch that is larger comes alone.
    pub bytes_max: usize,
    /// How long to wait for the first batch where there is none yet, in milliseconds.
    pub wait_ms: u64,
    /// The name under which what is still to be read is kept, for a while.
    pub reader: Option<String>,
    /// Up to which batch, at most `after`, the reader has made everything durable on its own disk: it counts as a replica. With
    /// a checksum only, for it must be this history.
    pub confirmed: Option<u64>,
}

/// Batches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    /// The last durable batch there.
    pub durable: u64,
    /// Frames one behind the other; see [`FrameStream`](crate::journal::FrameStream).
    pub frames: Vec<u8>,
}

/// A piece of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The length of the whole.
    pub bytes: u64,
    /// The bytes from where they were asked for; none at the end.
    pub piece: Vec<u8>,
}

/// Why a source gives nothing.
#[derive(Debug)]
#[non_exhaustive]
pub enum SourceError {
    /// The batches after that one are not there any more: a snapshot holds what they did. Begin with one.
    Pruned,
    /// The journal there has another batch of that number, or fewer batches: it is another history.
    Differs,
    /// There is no such snapshot, or not any more.
    NoSnapshot,
    /// As many readers have a name there as may.
    ReadersFull,
    /// What operators did is not given there: an older version runs.
    NoAudit,
    /// Nobody answered, or not in time; asking again later may help.
    Unreachable(String),
    /// Whoever answered refuses, for good.
    Refused(String),
    /// What came is not what a journal has.
    Bad(String),
    /// It cannot be read, or not be written here.
    Open(OpenError),
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceError::Pruned => f.write_str("the batches that come next are not there any more"),
            SourceError::Differs => f.write_str("the journal there is another history than the copy here"),
            SourceError::NoSnapshot => f.write_str("the snapshot is not there any more"),
            SourceError::ReadersFull => f.write_str("as many readers have a name there as may"),
            SourceError::NoAudit => f.write_str("what operators did is not given there"),
            SourceError::Unreachable(what) => write!(f, "there is no answer: {what}"),
            SourceError::Refused(what) => f.write_str(what),
            SourceError::Bad(what) => write!(f, "what came is not what a journal has: {what}"),
            SourceError::Open(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SourceError {}

impl From<OpenError> for SourceError {
    fn from(error: OpenError) -> SourceError {
        SourceError::Open(error)
    }
}

impl From<IoFailure> for SourceError {
    fn from(failure: IoFailure) -> SourceError {
        SourceError::Open(failure.into())
    }
}

impl From<BadStream> for SourceError {
    fn from(bad: BadStream) -> SourceError {
        SourceError::Bad(bad.what)
    }
}

impl From<ReadOnError> for SourceError {
    fn from(error: ReadOnError) -> SourceError {
        match error {
            ReadOnError::Pruned { .. } => SourceError::Pruned,
            ReadOnError::Open(error) => SourceError::Open(error),
        }
    }
}

/// A journal that can be copied. Its calls block.
pub trait Source: Send {
    /// What there is.
    fn listing(&mut self) -> Result<Listing, SourceError>;

    /// The batches after one.
    fn batches(&mut self, pull: &Pull) -> Result<Pulled, SourceError>;

    /// Whether asking for batches waits as long as it was told to; if not, whoever asks has to.
    fn waits(&self) -> bool {
        false
    }

    /// What operators did, from the first frame of the audit on that begins after that batch or a later one: frames one behind the
    /// other, without padding, as many as the source likes to give at once. None: it knows of nothing later.
    fn audit(&mut self, after: u64) -> Result<Vec<u8>, SourceError>;

    /// The bytes of the snapshot after `batch`, from `from` on: as many as the source likes to give at once.
    fn snapshot(&mut self, batch: u64, from: u64) -> Result<Piece, SourceError>;
}
