//! The steward: the one runner in the background that ends holds, closes payments, pays holders and sweeps the records of keys, in
//! bounded steps.
//!
//! It proposes from what it reads, and the core checks each step; its intents are made from what they name. So a step that is
//! repeated, or that comes too late, changes nothing. It makes every decision to release; a payment's page may only confirm.

mod closings;
mod holds;
mod keys;
mod payouts;
mod runner;
mod step;

pub(crate) use runner::Steward;
