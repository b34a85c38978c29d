//! Clients, API, backend and disk of nevertwice in one process, under one seeded clock and scheduler.
//!
//! A seed is one history: it draws the workload, the faults and how often they come ([`Plan`]), the order in which the parts of
//! the product run, and what is lost on the way ([`World`]). In the end nothing goes wrong any more, and everything has to come to
//! its end. Then all that the clients were told is judged, in the order of the positions in the answers. The same seed makes the
//! same trace, byte for byte, so a seed that finds something is all that one needs to see it again.
//!
//! What it does not do: run threads, sockets or a real disk; measure anything. `docs/proof.md` says what it covers.
#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

mod chance;
mod failover;
mod finding;
mod follower;
mod gateway;
mod http;
mod judge;
mod keys;
mod machine;
mod plan;
mod queue;
mod record;
mod run;
mod trace;
mod world;

pub use finding::Finding;
pub use keys::{KeysPlan, KeysWorld};
#[cfg(feature = "mutants")]
pub use nevertwice_local::Mutant;
pub use plan::Plan;
pub use run::{Campaign, Found, Report};
pub use trace::Trace;
pub use world::{Counts, World};
