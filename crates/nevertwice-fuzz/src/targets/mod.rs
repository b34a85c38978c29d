//! One file for each reader of foreign bytes.

pub mod batch;
pub mod body;
pub mod configuration;
pub mod credential;
pub mod entry;
pub mod fingerprint;
pub mod folder;
pub mod headers;
pub mod history;
pub mod jwks;
pub mod key_change;
pub mod keys_file;
pub mod marker;
mod opened;
pub mod query;
pub mod record;
pub mod segment;
pub mod snapshot;
pub mod state;

pub use opened::ID;
pub(crate) use opened::SMALL;
