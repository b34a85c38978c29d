//! The integration tests of the ledger, one binary.

mod conformance;
mod database;
mod follower;
mod keys;
mod ledgered;
mod orders;
mod publisher;
mod script;
mod support;
