//! The HTTP server of nevertwice: the API of markets, sales and keys, the sandbox of payments, the steward, and configuration.
//!
//! It is the only place that knows every backend, and it holds no decision: what a command may do is decided in
//! `nevertwice-core`, where it is made durable is the backend's business, and what answers look like is `nevertwice-api`'s.
//! Here requests become commands and decisions become answers.
//!
//! Where to start: [`routes`], the one table of routes; then `endpoints/orders.rs`, the hot path, and `booking.rs`, the longest
//! one. To run a server in your own process: [`Server::bind`].
#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

mod access;
mod alarm;
mod app;
mod attempts;
mod body;
mod booking;
mod calendar;
mod call;
mod certificate;
pub mod config;
mod connection;
mod convert;
mod data_folder;
mod der;
mod endpoints;
mod error;
mod explain;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod honeypot;
mod hosts;
#[cfg(feature = "stepped")]
mod in_process;
mod intent;
mod key_records;
#[cfg(feature = "ledger")]
mod ledger;
mod limits;
mod local;
mod machine;
mod metrics;
mod named;
mod names;
mod openapi;
mod own;
mod payment;
mod peer;
mod person_secret;
mod refusal;
mod refused;
mod remote;
mod reply;
mod router;
mod routes;
mod secret_change;
mod secret_file;
mod server;
mod share;
mod socket;
mod steward;
mod telemetry;
mod tls;
mod trace;
mod watched;

pub use access::{
    Access, JwtAlgorithm, JwtAlgorithms, KeyId, KeyRecord, KeyRole, Role, WantedKey, check_jwt_files, list_keys, make_key, revoke_key,
    shard_of,
};
pub use calendar::{instant_of, instant_text};
pub use certificate::CertificateTimes;
pub use config::Config;
pub use data_folder::check_data_folder;
pub use endpoints::COPIED_NOTES;
pub use error::StartError;
pub use explain::{Known, explain};
#[cfg(feature = "stepped")]
pub use in_process::{InProcess, Sweeper};
pub use key_records::{KEYS_NOTE, KeyParts, LocalKeys, SharedKeysSecret};
#[cfg(feature = "ledger")]
pub use ledger::{LocalLedger, check_ledger, migrate_ledger};
pub use limits::SteadyClock;
pub use local::{open_local, open_standby};
pub use machine::{DiskSpace, Machine, Readings, ThisMachine};
pub use metrics::{KEY_OUTCOMES, Metrics};
pub use openapi::document as openapi_document;
pub use payment::{Closed, GatewayError, PaymentGateway, PaymentStatus, Session};
pub use person_secret::{
    Noted as NotedPersonKey, check as check_person_secret, compare as compare_person_secret, inspect as inspect_person_secret,
    inspect_note as inspect_person_note, is_noted as is_person_secret_noted, load_existing as load_person_secret,
    load_or_create as load_or_create_person_secret, note as note_person_secret, path_of as person_key_of,
};
pub use remote::{Interrupt, Poster, Remote, RemoteError, Target};
pub use routes::{Content, Method, Route, routes};
pub use secret_change::{SecretChangeError, check_secret_change, note_secret_change};
pub use secret_file::write_note;
pub use server::{Bound, Parts, Server};
pub use telemetry::check_otlp_files;
pub use tls::{TlsFiles, check_tls_files};
pub use watched::Reloader;
