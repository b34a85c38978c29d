//! Where a copy of a journal is read from: a running server, or a folder that nobody runs.
//!
//! - `pull`: what is asked and what comes.
//! - `fetch`: a whole snapshot, by pieces.
//! - `folder`: a stopped folder as a source.
//!
//! A backend of this process is one too, by its [`FeedSource`](crate::feed::FeedSource); a server on another machine is
//! reached over HTTP, which is not this crate's business.

mod fetch;
mod folder;
mod pull;

pub(crate) use fetch::fetch_snapshot;
pub use folder::FolderSource;
pub(crate) use folder::{PIECE_BYTES, notes, piece, snapshots};
pub use pull::{Listing, Note, Piece, Pull, Pulled, SnapshotExtent, Source, SourceError};
