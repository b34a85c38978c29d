//! Real Redis servers for tests: each on a free port of the loopback, in a folder of its own, and gone with its owner.
//!
//! It speaks to them by a few lines of its own, so that no client library stands between a test and what a server says.

mod client;
mod server;

pub use client::{RedisClient, RedisReply};
pub use server::{RedisServer, pair};
