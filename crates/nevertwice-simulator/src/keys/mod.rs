//! The store of keys alone: contenders, leases that lapse, owners that come late, a process that dies at any call to the disk, and
//! the record of what the contenders were told.
//!
//! - `plan`: what a seed draws.
//! - `command`: what is asked of the store, what it says, and how one becomes the other.
//! - `twin`: what the store has to hold: each command decided by the core's transition function, and kept in the plainest way.
//! - `contender`: who asks, and what he asks next.
//! - `world`: what happens in which order. `process`: how it dies and comes back. `judge`: whether what was told is true.

mod command;
mod contender;
mod judge;
mod plan;
mod process;
mod twin;
mod world;

pub use plan::KeysPlan;
pub use world::KeysWorld;
