//! Rules of this project's own, as a test that reads every file.
//!
//! What rustfmt, clippy and rustdoc can see is left to them. Here is what they can't: which words a crate may use, which
//! files nobody names, which links lead nowhere. Every rule says why it stands and what to write instead, and carries an
//! example that it must catch and one that it must pass; the unit tests hold each rule to its examples.

mod bans;
mod check;
mod documents;
mod finding;
mod modules;
mod names;
mod shape;
mod tokens;
mod tree;
mod words;

pub(crate) use check::run;
