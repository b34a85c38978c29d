//! The `Idempotency-Key` contract around any handler, as a tower layer.
//!
//! A client sends a key with what it means once, and the same key with every retry. The first request runs; a retry gets the first
//! answer, byte for byte; a duplicate while it runs is told how long to wait; another request under the same key is refused. The
//! handler runs on when the client hangs up, and a process that dies leaves a key that says so instead of a second charge.
//!
//! ```
//! use std::sync::Arc;
//! use nevertwice_idempotency::{Caller, Keys, KeysLayer, MemoryStore, Routes};
//!
//! # fn main() -> Result<(), nevertwice_idempotency::KeysError> {
//! let keys = Keys::new(Arc::new(MemoryStore::default()), None, Routes::ietf())?
//!     .with_identity(|parts: &http::request::Parts| {
//!         let principal = parts.headers.get("x-user")?.to_str().ok()?.to_owned();
//!         Some(Caller { tenant: String::new(), principal })
//!     });
//! let app: axum::Router = axum::Router::new()
//!     .route("/charges", axum::routing::post(|| async { "charged" }))
//!     .layer(KeysLayer::new(keys));
//! # let _ = app;
//! # Ok(())
//! # }
//! ```
//!
//! The layer sees a [`KeyStore`] and never a backend; what it keeps, frees and does not know is in
//! `docs/keys.md`. It belongs behind authentication, and never decides who may call. It does not retry, and it does not make a
//! handler's effect and its record one step: between the two a crash leaves an unknown outcome, which it tells instead of hiding.
//! It goes around services of axum, hyper and tonic: whatever body comes, the service behind it gets a [`RequestBody`] of it. Of gRPC it
//! guards unary calls ([`Policy::grpc`]), whose refusals it tells as gRPC does.
#![forbid(unsafe_code)]

mod agreement;
mod answer;
mod body;
mod breaker;
mod claim;
mod clock;
mod detached;
mod effect;
mod fingerprint;
mod flights;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod gather;
mod grpc;
mod guard;
mod heartbeat;
mod identity;
mod joined;
mod key_age;
mod keys;
mod layer;
mod memory;
mod observer;
mod openapi;
mod policy;
#[cfg(feature = "proxy")]
pub mod proxy;
mod read;
mod request_body;
mod routes;
mod run;
mod tee;
mod tiered;
mod timers;

pub use agreement::Warning;
pub use body::KeysBody;
pub use clock::{Clock, MachineClock};
pub use fingerprint::{FINGERPRINT_VERSION, FingerprintRules};
pub use guard::KeysFuture;
pub use identity::{Caller, CallerExtension, Identify, Secrets};
pub use keys::{Keys, KeysError, StoreLimits};
pub use layer::{KeysLayer, KeysService};
pub use memory::{MemoryBounds, MemoryStore};
pub use observer::{KeyObserver, NoKeyObserver, Outcome};
pub use policy::{AskWhatBecame, AuthoriseReplay, Became, Oversize, Policy, Query, Scope, StoreDown, Trailers};
pub use request_body::RequestBody;
pub use routes::{Route, Routes};
pub use run::{Generation, HeldKeys};
pub use tiered::TieredStore;

// What a policy and a store are made of, so that whoever uses the layer needs no other crate of ours.
pub use nevertwice_api::{BoxFuture, HeldKey, KeyStore, Level, Levels};
pub use nevertwice_core::keys::LapsePolicy;
