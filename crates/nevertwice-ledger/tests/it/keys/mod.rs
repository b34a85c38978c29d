//! Keys in SQL.

mod conformance;
mod place;
