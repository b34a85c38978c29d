//! Another server, as a source of its journal: what `nevertwice backup` and a standby read from, over HTTP.
//!
//! It blocks: who uses it has a thread of his own, and no runtime around him.
//!
//! - `target`: an address, as an operator writes it.
//! - `trust`: whose certificates are believed.
//! - `connect`: opens a connection, over TLS or not.
//! - `client`: one connection, kept alive and reopened.
//! - `poster`: sends bodies to an address of somebody else's.
//! - `source`: the routes of the journal.

mod client;
mod connect;
mod poster;
mod source;
mod target;
mod trust;

pub(crate) use client::{Ask, Client};
pub use client::{Interrupt, RemoteError};
pub(crate) use connect::Connect;
pub use poster::Poster;
pub use source::Remote;
pub use target::Target;
