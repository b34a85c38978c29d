//! The backend that is made of Lua scripts on Redis 7 or Valkey: every decision is one script call, so any number of processes may
//! share one server.
//!
//! - [`address`]: where the server is, as operators write it.
//! - [`link`]: one connection, which is made anew when it breaks, with a time-out on everything.
//! - [`script`]: what scripts are made of and called with; [`runner`](Runner) calls them, and loads what the server does not know.
//! - [`keys`]: the only place that spells a key.
//! - [`clock`]: the only place that reads the clock.
//!
//! What lies under the keys is said in `lua/README.md`. What this crate never does: decide anything in Rust, put Lua together out of
//! strings, spell a key outside `keys`.

pub mod address;
mod backend;
pub mod clock;
pub mod failure;
pub mod keys;
pub mod link;
mod lua;
mod runner;
pub mod script;
mod shard;

pub use backend::{OpenError, RedisBackend, RedisOptions};
pub use address::{Address, AddressError};
pub use failure::{LinkFailure, ServerRefusal};
pub use link::{Link, LinkOptions};
pub use runner::{Answers, Runner, RunnerCounts};
