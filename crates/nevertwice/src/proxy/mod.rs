//! `nevertwice proxy`: the `Idempotency-Key` contract in front of a service in any language.
//!
//! The proxy itself is in `nevertwice-idempotency`. Here are its command line, its files, the address of health and metrics, and its
//! end.

mod admin;
mod command;
mod database;
mod metrics;
mod redis_store;
mod store;

pub(crate) use command::{ProxyArgs, run, settings_of};
pub(crate) use store::{check_change, check_note};
