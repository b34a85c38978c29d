//! The binary, as whoever starts it sees it.

mod copies;
mod demo;
mod reports;
mod serve;
