//! How a follower reads what a deciding place has made durable.

use std::fmt;

use crate::BoxFuture;
use crate::encoding::EntryHead;

/// An entry as it lies on the deciding node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceEntry {
    /// Where it belongs, and who meant it.
    pub head: EntryHead,
    /// The whole of it, byte for byte.
    pub bytes: Vec<u8>,
}

/// Why a source gives nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceFailure {
    /// The place is not one of its history.
    Differs,
    /// What comes next is not kept any more.
    Pruned {
        /// What was wanted, for people.
        what: String,
    },
    /// It can't be read.
    Unreadable {
        /// Why, for people.
        what: String,
    },
    /// The deciding place has ended: nothing more comes.
    Ended,
}

impl fmt::Display for SourceFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs => f.write_str("the place is not one of this history"),
            Self::Pruned { what } => write!(f, "{what} is not kept any more"),
            Self::Unreadable { what } => write!(f, "it can't be read: {what}"),
            Self::Ended => f.write_str("the deciding place has ended"),
        }
    }
}

impl std::error::Error for SourceFailure {}

/// A deciding place whose durable entries can be followed. Nobody who follows can hold up a decision.
pub trait EntrySource: Send + Sync + 'static {
    /// What tells this place from others, and stays as long as its data: marks belong to it.
    fn id(&self) -> String;

    /// A reader behind that mark of an earlier one, or at the oldest entry that is kept.
    ///
    /// # Errors
    /// [`SourceFailure::Differs`] if the mark is not one of this history's; others if it can't be read.
    fn open(&self, after: Option<&str>) -> Result<Box<dyn EntryReader>, SourceFailure>;
}

/// Reads durable entries in their order; those of one shard have no gap between them.
pub trait EntryReader: Send {
    /// What is durable now behind what was read before: about so many bytes, and less only if there is no more. It does not wait.
    ///
    /// # Errors
    /// If it can't be read.
    fn read(&mut self, bytes_max: usize) -> Result<Vec<SourceEntry>, SourceFailure>;

    /// Waits until there is more to read.
    ///
    /// # Errors
    /// [`SourceFailure::Ended`] once there never will be.
    fn more(&mut self) -> BoxFuture<'_, Result<(), SourceFailure>>;

    /// Behind what was read so far, for a later reader.
    fn mark(&self) -> String;

    /// What was read up to here is needed no more: a later reader begins behind it.
    fn let_go(&mut self);
}
