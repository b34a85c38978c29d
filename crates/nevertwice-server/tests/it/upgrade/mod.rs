//! What the last released version left: its data folders are read, and its API is answered as it was.
//!
//! The fixtures lie in the testkit. They are made once, with `NVT_WRITE_FIXTURES` set where they are missing, by the version
//! itself; whoever changes the product afterwards must leave them as they are.

mod agree;
mod exchange;
mod fixtures;
mod quiet;
mod script;
