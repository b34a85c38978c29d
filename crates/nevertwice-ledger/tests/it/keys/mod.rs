//! Keys in SQL.

mod conformance;
mod damage;
mod faults;
pub(crate) mod place;
mod within;
