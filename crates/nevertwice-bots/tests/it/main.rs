//! The integration tests of `nevertwice-bots`.

mod worldcup;
