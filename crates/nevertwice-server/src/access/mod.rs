//! Who calls, and what they may do.
//!
//! [`Door`] is the one place that every request passes. It finds out who calls (`configured.rs`, `keys/`, `jwt/`) and asks the rule of
//! the route (`rule.rs`, a table of routes against roles) and the scope of the credential (`scope.rs`); what comes out is a
//! [`Caller`]. Nothing else in the server decides what somebody may do by looking at credentials, and what depends on whose a
//! booking or an account is, is asked of the [`Caller`].

mod caller;
mod configured;
mod door;
mod identity;
mod jwt;
mod keys;
#[cfg(feature = "fuzzing")]
mod opened;
mod rule;
mod scope;

#[cfg(feature = "fuzzing")]
pub(crate) use caller::outside_principal;
pub(crate) use caller::{Caller, CredentialName, OWN_PRINCIPAL};
pub(crate) use door::Door;
pub(crate) use identity::Identity;
#[cfg(feature = "fuzzing")]
pub(crate) use jwt::jwks;
pub use jwt::{JwtAlgorithm, JwtAlgorithms, check_jwt_files};
pub(crate) use keys::PREFIX;
pub use keys::{KeyId, KeyRecord, KeyRole, WantedKey, list_keys, make_key, revoke_key};
#[cfg(feature = "fuzzing")]
pub(crate) use keys::{read as read_keys, write as write_keys};
#[cfg(feature = "fuzzing")]
pub(crate) use opened::Files;
pub use rule::{Access, Role};
pub use scope::shard_of;
pub(crate) use scope::{SHARDS_MAX, Scope};
