//! The publisher, with a courier that the tests hold to account.

pub(crate) mod house;
mod order;
mod tries;
