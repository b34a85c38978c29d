//! The ledger: accepted decisions, keys and messages as rows of SQLite or Postgres.
//!
//! - [`Database`]: the two databases behind one type; opening, and what they say when they can't serve.
//! - [`keys`]: the records behind an `Idempotency-Key`, and their completion within a handler's own transaction.
//! - [`outbox`]: messages that are left in the transaction that makes them true.
//! - [`publisher`]: tells others of them, at least once and in order.
//! - `connection`: one of a service's own connections, for rows of ours within its transaction.
//! - `notes`: what is noted of a database once and compared at each start.
//! - `migrations`: the tables, the same in both.
//!
//! What this crate never does: hold a business rule, keep an amount in a float, import a backend that makes entries, or write a
//! password anywhere.

mod connection;
mod database;
pub mod keys;
mod migrations;
mod notes;
pub mod outbox;
pub mod publisher;

pub use connection::SqlDatabase;
pub use database::{Address, AddressFault, Database, DatabaseFailure, DatabaseOptions, Durability};
