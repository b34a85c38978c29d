//! The integration tests of `nevertwice-bots`.

mod demo;
mod judge;
mod load;
mod report;
mod server;
mod world;
mod worldcup;
