//! What the contract promises.

mod encoding;
mod errors;
mod fingerprint;
mod levels;
mod person;
mod samples;
mod wire;
