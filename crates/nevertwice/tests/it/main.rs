//! The binary, as whoever starts it sees it.

mod serve;
