//! The Redis backend, on real servers that the tests start.

mod keys;
mod runner;
