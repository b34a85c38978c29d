//! The core against slow twins, seeded workloads and its own promises.

mod bookings;
mod curve;

mod market_edges;
mod orders;
mod precedence;
mod sale_edges;
mod support;

mod workload;
