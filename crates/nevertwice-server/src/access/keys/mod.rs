//! API keys: what they look like, the file in which their digests stand, and looking one up.

mod edit;
mod file;
mod store;
mod text;

pub use edit::{WantedKey, list_keys, make_key, revoke_key};
#[cfg(feature = "fuzzing")]
pub(crate) use file::write;
pub(crate) use file::{FILE_BYTES_MAX, read};
pub use file::{KeyRecord, KeyRole};
pub(crate) use store::{Keys, Presented};
pub use text::KeyId;
pub(crate) use text::PREFIX;
