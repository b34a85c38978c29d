//! Conformance suites and fault doubles for the tests of nevertwice. Never a normal dependency.

pub mod clock;
pub mod conformance;
pub mod storage;
