//! The publisher, with a courier that the tests hold to account.

mod house;
mod order;
mod tries;
