//! The two databases behind one type.
//!
//! - `address`: where a database is, with a password that is never shown.
//! - `open`: pools, and what a database must be before anything is written.
//! - `failure`: why a database did not serve, in words for who has to mend it.
//!
//! SQL that both take is written once and run by `on_both!`; where one of them has a faster way, both are written out beside each
//! other.

mod address;
mod failure;
mod open;

pub use address::{Address, AddressFault};
pub use failure::DatabaseFailure;
pub(crate) use open::on_both;
pub use open::{Database, DatabaseOptions, Durability};
