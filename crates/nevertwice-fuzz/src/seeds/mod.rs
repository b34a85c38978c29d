//! The first inputs of every target, made from the product itself: real entries, real folders, requests as the docs have them.

mod copies;
mod credentials;
pub mod house;
mod journal;
mod key_layer;
mod keys;
mod list;
mod texts;

pub use list::of;
