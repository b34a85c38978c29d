//! The ledger: accepted decisions, keys and messages as rows of SQLite or Postgres.
//!
//! - [`Database`]: the two databases behind one type; opening, and what they say when they can't serve.
//! - [`keys`]: the records behind an `Idempotency-Key`, and their completion within a handler's own transaction.
//! - [`outbox`]: messages that are left in the transaction that makes them true.
//! - [`publisher`]: tells others of them, at least once and in order.
//! - `connection`: one of a service's own connections, for rows of ours within its transaction.
//! - `notes`: what is noted of a database once and compared at each start.
//! - `migrations`: the tables, the same in both.
//! - `truth`: entries and intents, and the fence that lets one writer add to them.
//! - [`LedgerWriter`]: follows a deciding place and writes what is durable there.
//! - [`Ledgered`]: a backend whose "yes" can wait for that.
//! - [`rebuild`]: a state out of the ledger's entries.
//!
//! What this crate never does: hold a business rule, keep an amount in a float, import a backend that makes entries, or write a
//! password anywhere.

mod connection;
mod database;
pub mod keys;
mod ledgered;
mod migrations;
mod notes;
pub mod outbox;
pub mod publisher;
mod rebuild;
mod truth;
mod writer;

pub use connection::SqlDatabase;
pub use database::{Address, AddressFault, Database, DatabaseFailure, DatabaseOptions, Durability};
pub use ledgered::{Ledgered, LedgeredOptions};
pub use rebuild::{RebuildFailure, rebuild};
pub use truth::LedgerEntry;
pub use writer::{LedgerWriter, Now, Watermarks, WriterOptions};
