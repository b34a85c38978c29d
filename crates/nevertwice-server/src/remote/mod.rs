//! Another server, as a source of its journal: what `nevertwice backup` and a standby read from, over HTTP.
//!
//! It blocks: who uses it has a thread of his own, and no runtime around him.
//!
//! - `target`: an address, as an operator writes it.
//! - `client`: one connection, kept alive and reopened.
//! - `source`: the routes of the journal.

mod client;
mod source;
mod target;

pub use client::{Interrupt, RemoteError};
pub use source::Remote;
pub use target::Target;
