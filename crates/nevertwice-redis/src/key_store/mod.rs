//! The store of keys: one hash per record, one script call per command.
//!
//! The record is the whole truth about its key. Whether it is remembered, and whether its lease is over, is decided in the scripts by
//! the caller's clock, which must be near the server's; the server's own expiry only frees memory, and comes later.
//!
//! - `calls`: the scripts and what they take. `replies`: what they say. `fields`: how a record lies in its hash.
//! - `store`: the store as callers see it, and `asked`: how a call is made at its levels.
//! - `open`: what is looked at before the first call. `mark`: how a store that lost its data is recognised.
//! - `replicas`: waiting for them, and what happens while they are short.
//! - `secret`: with which secret its keys were named.
//! - `gauges`: how full it is, as far as this process knows. `sweep`: who counts, and frees what is over.

mod asked;
mod calls;
mod fields;
mod gauges;
mod mark;
mod open;
mod options;
mod replicas;
mod replies;
mod secret;
mod store;
mod sweep;

pub(crate) use calls::ALL;
pub use open::{KeyStoreOpenError, RedisKeyStore};
pub use options::RedisKeyOptions;
