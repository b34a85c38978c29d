//! JWTs (RFC 7519): people who are known by what an issuer signed about them.
//!
//! [`Issuer`] is asked by the door and by nobody else. What was presented is taken apart (`compact.rs`), its signature checked
//! with a key that was configured for its algorithm (`keys.rs`, from `jwks.rs`, `public_key.rs` and `secret.rs`), and only then its
//! claims are looked at (`claims.rs`). What comes out is a principal; what it may do is the rule's matter and not an issuer's.
//!
//! Signatures themselves are ring's work. Nothing is fetched from anywhere: keys come from files.

mod algorithm;
mod claims;
mod compact;
mod issuer;
mod jwks;
mod keys;
#[cfg(feature = "fuzzing")]
mod opened;
mod public_key;
mod secret;
mod sources;
mod wrong;

pub use algorithm::{JwtAlgorithm, JwtAlgorithms};
pub(crate) use issuer::{Issuer, looks_like_jwt};
#[cfg(feature = "fuzzing")]
pub(crate) use opened::{jwks, jwt_keys};
pub use sources::check_jwt_files;
