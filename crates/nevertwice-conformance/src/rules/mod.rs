//! The rules of the contract, one function each; a file for each part of it.

mod ages;
mod callers;
mod duplicates;
mod effects;
mod endpoints;
mod fingerprints;
mod keys;
mod limits;
mod list;
mod own;
mod replays;
mod rule;

pub use list::rules;
pub(crate) use own::{Own, check_of};
pub use rule::Rule;
