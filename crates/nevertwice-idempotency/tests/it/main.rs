//! The memory store and the layer, from outside.

mod bodies;
mod clock;
mod examples;
mod fingerprints;
mod first_look;
mod house;
mod lapses;
mod memory;
mod openapi;
mod outages;
#[cfg(feature = "proxy")]
mod proxy;
mod replays;
mod reported;
mod secrets;
mod streams;
mod tiered;
