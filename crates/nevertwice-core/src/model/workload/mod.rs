//! Steps that follow from a seed and from what became of the steps before.

mod generator;
mod market;
mod names;
mod options;
mod sale;

pub use generator::{Step, Workload};
pub use names::fingerprint_of;
pub use options::WorkloadOptions;
