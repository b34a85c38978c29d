//! Traces: what a collector gets of a request, what it is not told, and that nobody waits for it.

pub(crate) mod collector;
mod settings;
mod spans;
mod trouble;
