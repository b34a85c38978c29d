//! JWTs: what is checked of them, with which keys, and what a person may do who comes with one.

mod claims;
mod files;
pub(crate) mod issuer;
mod persons;
mod signatures;
