//! Personas that trade and book through the public API, the load that benchmarks use, and the reports that judge a run.
//!
//! This crate is **black-box**: it knows the wire and nothing of what stands behind it, so whatever it proves about a
//! server it proves as a client could. It never imports a backend or the server.
//!
//! - [`worldcup`]: real input, the squads and goals of 2026, with scorers looked up by a stated rule.
//! - [`demo`]: a market and a flash sale over HTTP, with lost replies and a killed server.
//! - [`http`]: a client that says what is known of a request, and loses replies for real; it is that of `nevertwice-client`.
//! - [`load`]: closed and open loops of requests, measured, for the benchmarks.
//! - [`record`]: what clients were told, and the judge that holds the server to it.
//! - [`report`]: the verdict and what it rests on, for a terminal and as one HTML file.
//! - [`seed`]: the seeded randomness behind every plan.

pub mod demo;
pub mod load;
pub mod record;
pub mod report;
pub mod seed;
pub mod worldcup;

pub use nevertwice_client::http;
