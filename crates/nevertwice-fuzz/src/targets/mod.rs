//! One file for each reader of foreign bytes.

pub mod answers;
pub mod audit;
pub mod batch;
pub mod body;
pub mod configuration;
pub mod credential;
pub mod entry;
pub mod fingerprint;
pub mod folder;
pub mod following;
pub mod header_lines;
pub mod headers;
pub mod history;
pub mod jwks;
pub mod key_change;
pub mod key_header;
pub mod keys_file;
pub mod manifest;
pub mod marker;
pub mod multipart;
pub mod note;
mod opened;
pub mod proxy;
pub mod query;
pub mod record;
mod respell;
pub mod segment;
pub mod snapshot;
pub mod state;
pub mod traceparent;

pub use opened::ID;
pub(crate) use opened::SMALL;
