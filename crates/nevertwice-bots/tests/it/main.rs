//! The integration tests of `nevertwice-bots`.

mod http;
mod judge;
mod load;
mod report;
mod stub;
mod world;
mod worldcup;
