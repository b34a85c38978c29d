//! Keys in SQL: the records behind an `Idempotency-Key`, in SQLite or Postgres.
//!
//! ```text
//! command -> look at the row -> the core decides -> replace the row, if it is still the one that was looked at
//! ```
//!
//! - `options`, `open`, `store`: the store, and how callers see it.
//! - `transition`: one command from its look to its reply; `session` is its connection and its patience, `failure` what an error says.
//! - `statements`, `row`: the statements, and what lies in a row.
//! - `within`: the completion within a handler's own transaction.
//! - `totals`, `sweeper`: the bounds, and what frees room.
//!
//! It differs from the store in a folder in what it can be part of: a handler's own transaction in the same database can hold the
//! record's completion. What it never does: decide anything that the core does not, wait for a row while it has another, or free a
//! record because there is no room.

mod failure;
mod open;
mod options;
mod row;
mod session;
mod statements;
mod store;
mod sweeper;
mod totals;
mod transition;
mod within;

pub use options::{KeyClock, SqlKeyOptions};
pub use store::SqlKeyStore;
pub use within::NotCompleted;
