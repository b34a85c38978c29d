//! The integration tests of `nevertwice-bots`.

mod http;
mod load;
mod stub;
mod worldcup;
