//! The Redis backend, on real servers that the tests start.

mod conformance;
mod given_time;
mod keys;
mod lost_and_refused;
mod runner;
mod sent;
mod stream;
