//! A second shard, slow and obvious, that follows entries and checks every figure in them against its own.

mod check;
mod market;
mod records;
mod sale;
mod shard;

use check::{allow, expect, narrow};
pub(crate) use market::{MarketTwin, TwinInstrument};
pub(crate) use records::label;
pub(crate) use sale::{SaleTwin, TwinBooking};
pub(crate) use shard::Twin;
