//! What a running backend shows of its journal to those who copy it: a backup, a standby.
//!
//! They read beside the writer, and only what is durable. No reader slows a decision. Only where answers are to wait for
//! replicas does the backend learn what readers confirm.
//!
//! - `entries`: the entries of all shards, one by one, for the ledger.
//! - `journal`: batches, snapshots, and the list of what there is.
//! - `readers`: who reads, how far he is, and until when that counts.

mod entries;
mod journal;
mod readers;

pub use entries::LocalEntries;
pub use journal::{FeedSource, JournalFeed, JournalHost};
pub(crate) use readers::READERS_MAX;
pub use readers::{ReaderState, Readers};
