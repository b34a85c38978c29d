//! A small HTTP/1.1 client that can lose a reply for real.
//!
//! [`Client`] keeps one connection alive and opens a new one when it breaks. It says exactly what is known of a request
//! ([`Outcome`]): a reply, or why there is none. It never retries anything that the server may have seen: whether to ask
//! again, and with which key, is the caller's business.
//!
//! Two faults are real, not simulated by dropping an answer that was read:
//!
//! - **A lost reply**: [`Client::send_unread`] sends a request completely on a connection of its own and hands back the
//!   connection, of which nothing is ever read; closing it is what a client does whose network died after sending.
//! - **A retry while the first is under way**: keep that connection open, send the same request by [`Client::send`], and
//!   close the first afterwards.

mod client;
mod outcome;
mod request;

pub use client::{Client, Unread};
pub use outcome::{Outcome, Reply};
pub use request::{Request, Target, TargetError};
