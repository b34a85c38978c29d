//! The outbox: messages that a service leaves in the transaction that makes them true, so that none is lost and none is invented.
//!
//! - `message`: what a service leaves.

mod message;

pub use message::{Message, PAYLOAD_BYTES_MAX, WORD_BYTES_MAX};
