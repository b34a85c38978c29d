//! What the contract promises.

mod encoding;
mod errors;
mod facts;
mod fingerprint;
mod keys;
mod levels;
mod person;
mod samples;
mod wire;
