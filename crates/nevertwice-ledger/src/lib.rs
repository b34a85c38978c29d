//! The ledger: accepted decisions as rows of SQLite or Postgres.
//!
//! - [`Database`]: the two databases behind one type; opening, and what they say when they can't serve.
//! - `migrations`: the tables, the same in both.
//!
//! What this crate never does: hold a business rule, keep an amount in a float, import a backend that makes entries, or write a
//! password anywhere.

mod database;
mod migrations;

pub use database::{Address, AddressFault, Database, DatabaseFailure, DatabaseOptions, Durability};
