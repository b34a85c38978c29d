//! The integration tests of the ledger, one binary.

mod keys;
mod orders;
