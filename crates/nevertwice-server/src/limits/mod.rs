//! How much a caller may ask at once and how often, and whose turn it is when everybody asks at once.
//!
//! Three bounds, in this order: a rate (`rate.rs`), a number of requests under way (`in_flight.rs`), and the server's own
//! number of requests under way, beyond which callers take turns (`turns.rs`). The first two count in tables of a fixed size:
//! callers without number cost no memory, and there is nothing to evict. Time comes in from outside (`steady.rs`).

mod cells;
mod connections;
mod in_flight;
mod limiter;
mod rate;
mod round;
mod steady;
mod turns;

pub(crate) use connections::{Connections, Place};
pub(crate) use limiter::{Bounds, Limiter, LimiterOptions};
pub(crate) use rate::Rate;
pub use steady::SteadyClock;
pub(crate) use turns::TurnsOptions;
