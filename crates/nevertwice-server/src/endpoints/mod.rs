//! The endpoints, one subject a file.

pub(crate) mod acks;
pub(crate) mod batch;
pub(crate) mod bookings;
pub(crate) mod history;
pub(crate) mod instruments;
pub(crate) mod journal;
mod key_audit;
pub(crate) mod keys;
pub(crate) mod markets;
pub(crate) mod orders;
pub(crate) mod pages;
pub(crate) mod sales;
mod shared;
pub(crate) mod standby;
pub(crate) mod status;

pub use journal::COPIED_NOTES;
pub(crate) use shared::{envelope, position};
