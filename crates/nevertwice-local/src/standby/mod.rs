//! A standby: a data folder that follows the journal of another server. It writes the same batches, under the same numbers, in
//! a journal of its own, makes them durable, and applies them. It decides nothing, until an operator promotes it.
//!
//! ```text
//! source -> copy (writes, fsyncs, confirms) -> own journal -> applier (states)
//!                                                  |
//!                                                  +--------> snapshots
//! ```
//!
//! - `following`: the file that makes a folder a standby's.
//! - `copy`: the batches of a source in a folder, without threads.
//! - `applier`: the thread that applies the copy's journal.
//! - `follower`: the thread that copies.
//! - `host`: the standby as a backend that decides nothing, and its promotion.

mod applier;
mod copy;
mod error;
mod follower;
mod following;
mod host;

pub use copy::{Asker, Begun, JournalCopy, Progress};
pub use error::CopyError;
pub use follower::Phase;
pub(crate) use following::Following;
pub use host::{Standby, StandbyOptions, StandbyStatus};
