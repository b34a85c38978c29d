//! The backend that is made of Lua scripts on Redis 7 or Valkey: every decision is one script call, so any number of processes may
//! share one server.
//!
//! - [`address`]: where the server is, as operators write it.
//! - [`link`]: one connection, which is made anew when it breaks, with a time-out on everything.
//! - [`script`]: what scripts are made of and called with; [`runner`](Runner) calls them, and loads what the server does not know.
//! - [`keys`]: the only place that spells a key.
//! - [`RedisBackend`]: the backend of markets and sales.
//! - [`RedisKeyStore`]: the store of keys.
//! - [`server_facts`]: what a server says of itself, and whether it is as it must be.
//! - [`clock`]: the only place that reads the clock.
//!
//! What lies under the keys is said in `lua/README.md`. What this crate never does: decide anything in Rust, put Lua together out of
//! strings, spell a key outside `keys`.

mod acl;
pub mod address;
mod backend;
mod catalogue;
pub mod clock;
pub mod failure;
mod key_store;
pub mod keys;
pub mod link;
mod lua;
mod runner;
pub mod script;
pub mod server_facts;
mod shard;

pub use acl::key_store_rules;
pub use address::{Address, AddressError};
pub use backend::{BackendOpenError, RedisBackend, RedisOptions};
pub use catalogue::scripts;
pub use failure::{LinkFailure, ServerRefusal};
pub use key_store::{KeyStoreOpenError, RedisKeyOptions, RedisKeyStore};
pub use link::{Link, LinkOptions};
pub use runner::{Answers, Runner, RunnerCounts};
