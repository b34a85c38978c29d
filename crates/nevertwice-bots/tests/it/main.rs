//! The integration tests of `nevertwice-bots`.

mod demo;
mod http;
mod judge;
mod load;
mod report;
mod server;
mod stub;
mod world;
mod worldcup;
