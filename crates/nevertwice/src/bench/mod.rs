//! `nevertwice bench`: how fast it is, beside a baseline that was measured in the same run.

mod command;
mod core;
mod figure;
mod http;
mod keys;
mod keys_memory;
mod local;
mod memory;
mod orders;
mod recovery;
mod resident;
mod scratch;
mod standby;

pub(crate) use command::BenchArgs;
pub(crate) use http::{BareArgs, serve_bare};
pub(crate) use keys::{KeysTargetArgs, serve_keys_target};
