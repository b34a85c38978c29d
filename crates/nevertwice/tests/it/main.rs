//! The binary, as whoever starts it sees it.

mod demo;
mod key;
mod reports;
mod serve;
mod upgrade;
