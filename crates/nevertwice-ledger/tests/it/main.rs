//! The integration tests of the ledger, one binary.

mod database;
mod keys;
mod orders;
mod publisher;
mod support;
