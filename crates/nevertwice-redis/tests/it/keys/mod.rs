//! The store of keys.

mod acl;
mod conformance;
mod faults;
mod relay;
mod rules;
mod support;
