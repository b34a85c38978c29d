//! The integration tests of the ledger, one binary.

mod conformance;
mod database;
mod follower;
mod ledgered;
mod script;
mod support;
