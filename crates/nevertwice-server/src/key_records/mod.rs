//! Records of keys, for those who write a guard of their own: under which names the store has them, and how it is asked.
//!
//! What a record may become is decided in `nevertwice_core::keys`, and the store keeps it. The callers' API keys, which `access` knows,
//! are another matter, and so are the intents of markets and sales.

mod changing;
mod local;
mod name;
mod open;
mod secret;
mod store;

pub use local::{KEYS_NOTE, LocalKeys};
pub(crate) use name::{KeyName, KeyScope};
pub use open::KeyParts;
pub use secret::SharedKeysSecret;
pub(crate) use store::KeyRecords;
