//! The world of one seed: clients and a network, a machine that dies and comes back, and one queue of events.
//!
//! Every event is handled to its end before the next one; what runs in the API's tasks runs between two events, in an order that
//! is always the same. So a seed is one history.

mod asking;
mod backend;
mod counts;
mod desk;
mod event;
mod faults;
mod intent;
mod process;
mod quiet;
mod traffic;
mod universe;

pub use counts::Counts;
pub(crate) use desk::{Errand, SALE as DESK_SALE};
pub(crate) use intent::{Ask, Intent};
pub use universe::World;
