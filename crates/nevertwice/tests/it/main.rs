//! The binary, as whoever starts it sees it.

mod demo;
mod reports;
mod serve;
mod upgrade;
