//! The ledger's tests, on real databases.

mod keys;
