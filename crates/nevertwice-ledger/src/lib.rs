//! The ledger: accepted decisions as rows of SQLite or Postgres.
//!
//! - [`Database`]: the two databases behind one type; opening, and what they say when they can't serve.
//! - `migrations`: the tables, the same in both.
//! - `truth`: entries and intents, and the fence that lets one writer add to them.
//! - [`LedgerWriter`]: follows a deciding place and writes what is durable there.
//! - [`Ledgered`]: a backend whose "yes" can wait for that.
//! - [`rebuild`]: a state out of the ledger's entries.
//!
//! What this crate never does: hold a business rule, keep an amount in a float, import a backend that makes entries, or write a
//! password anywhere.

mod database;
mod ledgered;
mod migrations;
mod rebuild;
mod truth;
mod writer;

pub use database::{Address, AddressFault, Database, DatabaseFailure, DatabaseOptions, Durability};
pub use ledgered::{Ledgered, LedgeredOptions};
pub use rebuild::{RebuildFailure, rebuild};
pub use truth::LedgerEntry;
pub use writer::{LedgerWriter, Now, Watermarks, WriterOptions};
