//! The demonstration: a World Cup market and a flash sale, over HTTP, with lost replies and a killed server.
//!
//! [`run`] drives a server that is empty and listens at [`Options::base_url`]. It opens a market with 1,248 players and a sale
//! with 40,000 candidates, lets a crowd trade and book at once, and loses replies for real. When half of the plan is done it
//! calls the caller's hook, which kills the server and starts it again on the same folder; the clients go on with the same
//! keys. In the end it asks again whatever it does not know, reads the final state, and judges ([`crate::record`]).
//!
//! The seed fixes the plan: who trades in which manner, who books what and when. What the crowd meets, and which request loses
//! its reply, depends on the interleaving of the run, as in life: two runs of a seed have the same plan and not the same fills.
//! `docs/demo.md` tells the whole with its figures.
//!
//! Reading order: [`Options`], then `run`, `ask` (one intent until its fate is known), `market` and `sale`.

mod ask;
mod crowd;
mod goals;
mod market;
mod options;
mod outcome;
mod persona;
mod read;
mod run;
mod sale;
mod setup;
mod shared;
mod wire;

pub use options::{DemoError, LevelPlan, Options};
pub use outcome::Demo;
pub use persona::Persona;
pub use run::run;
