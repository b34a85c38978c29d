//! The store of keys.

#[cfg(feature = "stepped")]
mod clock;
mod conformance;
mod copies;
#[cfg(feature = "stepped")]
mod crash;
#[cfg(feature = "stepped")]
mod damage;
#[cfg(feature = "stepped")]
mod damage_everywhere;
#[cfg(feature = "stepped")]
mod fixtures;
#[cfg(feature = "stepped")]
mod limits;
#[cfg(feature = "stepped")]
mod steps;
