//! Tells others what has happened: at least once, and in order within each stream.
//!
//! ```text
//! outbox -> places -> cursor of each endpoint -> courier
//! ```
//!
//! - `numbering`: gives each committed message its place in its topic. A cursor over numbers that are drawn before the commit passes over
//!   a transaction that ends late; places are given afterwards, so it can't.
//! - `delivery`: one message on its way, with an id that follows from its place: whoever gets it twice sees that.
//! - `courier`: who carries it; `webhook`: how it is signed for the way.
//! - `lease`: one process publishes, under a number that fences off the one before it.
//! - `step`: what one step does; `options` are its patience.
//! - `cursors`, `dead_letters`: how far each endpoint has been told, and what it did not take.
//!
//! What it never does: pass over a message to get on with the next one before its tries are used up, or touch what it tells of.

mod courier;
mod cursors;
mod dead_letters;
mod delivery;
mod lease;
mod numbering;
mod options;
mod step;
mod webhook;

pub use courier::{Courier, Undelivered};
pub use dead_letters::DeadLetter;
pub use delivery::Delivery;
pub use options::PublisherOptions;
pub use step::{Publisher, Stepped};
pub use webhook::{BadWebhookSecret, WebhookSecret};
