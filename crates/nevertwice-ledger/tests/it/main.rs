//! The integration tests of the ledger, one binary.

mod database;
mod support;
