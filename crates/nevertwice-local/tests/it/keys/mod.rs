//! The store of keys.

mod conformance;
