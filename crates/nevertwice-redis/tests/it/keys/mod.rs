//! The store of keys.

mod conformance;
mod support;
