//! The truth: entries and intents, and the fence that lets one writer add to them.
//!
//! - `fence`: who may write a shard, and behind which entry.
//! - `insert`: many entries in one transaction that moves their fences.
//! - `read`: entries as they were written.
//! - `doubles`: keys that came twice.

mod doubles;
mod fence;
mod insert;
mod read;

pub(crate) use doubles::Double;
pub(crate) use fence::{Fence, Taken};
pub(crate) use insert::{Inserted, ShardRows};
pub use read::LedgerEntry;
