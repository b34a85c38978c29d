//! The core against slow twins, seeded workloads and its own promises.

mod support;
mod workload;
