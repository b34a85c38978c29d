//! `nevertwice publish`: tells webhooks what services have left in their outboxes.
//!
//! - `settings`: the file that says from where and to whom.
//! - `courier`: carries one message to one webhook.
//! - `command`: the loop, dead letters, and the end.

mod command;
mod courier;
mod settings;

pub(crate) use command::PublishArgs;
