//! The writer: follows a deciding place and writes what is durable there into the ledger.
//!
//! - `watermarks`: up to where each shard is in the ledger, and who waits for it.
//! - `follow`: reads, writes, and tries again; it never skips.
//! - `plan`: what of a shard's entries comes next, or why nothing may.
//!
//! It never breaks the order to get on: what can't be written stops its shard.

mod follow;
mod plan;
mod watermarks;

pub use follow::{LedgerWriter, Now, WriterOptions};
pub(crate) use watermarks::Stopped;
pub use watermarks::Watermarks;
