//! What lasts, in SQL: the records of keys, in SQLite or Postgres.
//!
//! - [`Database`]: a database that is open and has the schema;
//! - [`keys`]: the records behind an `Idempotency-Key`.
//!
//! The crate holds no business rule: what a command on a key comes to is decided by `nevertwice-core`. It has no number but whole ones,
//! and reads no clock but the database's.
#![forbid(unsafe_code)]

mod database;
pub mod keys;
mod schema;

pub use database::{Database, DatabaseError, DatabaseOptions};
