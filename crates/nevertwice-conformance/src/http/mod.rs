//! A small HTTP/1.1 client: one connection a request, header lines as bytes and in their order, bodies with a length or in chunks.
//!
//! It repeats nothing, follows nothing and adds nothing but `Host`.

mod answer;
mod ask;
mod base;
mod client;

pub(crate) use answer::Answer;
pub(crate) use ask::Ask;
pub use base::{Base, BaseError};
pub use client::ANSWER_TIME;
pub(crate) use client::{NoAnswer, Opened, open, send};
