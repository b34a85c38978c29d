//! The Redis backend, on real servers that the tests start.

mod conformance;
mod given_time;
mod groups;
mod keys;
mod lost_and_refused;
mod races;
mod runner;
mod sent;
mod stream;
