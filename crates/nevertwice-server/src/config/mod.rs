//! Configuration: what can be set, where it comes from, and what is refused.
//!
//! Later ones win: the defaults, a TOML file, the environment (`NEVERTWICE_` and the key in capitals), and the flags of the
//! command line. A key that nobody knows is refused, wherever it comes from.

mod check;
mod check_jwt;
mod check_key_records;
mod check_otlp;
mod keys_store;
mod load;
mod renamed;
mod secret;
mod settings;
mod shards;

pub(crate) use check::SWEEPS_A_HOLD;
pub use keys_store::KeysStore;
#[cfg(feature = "fuzzing")]
pub(crate) use load::load_from;
pub use load::{Sources, environment, load};
pub use nevertwice_api::Networks;
pub use secret::Secret;
pub use settings::{Config, SECRET_SETTINGS, SETTINGS, Setting};
pub use shards::Shards;
