//! The binary, as whoever starts it sees it.

mod reports;
mod serve;
