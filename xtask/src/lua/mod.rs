//! What the Lua scripts of the Redis backend are held to: rules of our own about their shape, and a linter for the language.
//!
//! A script that fails half way keeps what it has written, and one that touches a key that it did not declare works on one server and
//! fails on a cluster. Neither is seen by running it once, so both are looked for in the text. That a script decides what the core
//! decides is shown by the suites, and that it touches only its declared keys also by an ACL user, in the crate's tests.

mod check;
mod linter;
mod parse;
mod rules;

pub(crate) use check::run;
