//! Judges what was told, once all is over: in the order of the positions in the answers.
//!
//! - `history`: each shard's entries from the first, each answer at its position: what the callers of the backend were told;
//! - `replies`: what the clients heard over HTTP, against those entries and answers;
//! - `payments`: what the gateway took, against how the bookings ended.

mod history;
mod payments;
mod replies;
mod verdict;

pub(crate) use history::Judged;
pub(crate) use verdict::judge;
