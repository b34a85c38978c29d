//! The nevertwice binary.
fn main() {}
