//! The memory store and the layer, from outside.

mod clock;
mod fingerprints;
mod first_look;
mod house;
mod lapses;
mod memory;
mod outages;
#[cfg(feature = "proxy")]
mod proxy;
mod replays;
mod secrets;
mod streams;
