//! The core against slow twins, seeded workloads and its own promises.

mod auditor;
mod bookings;
mod curve;
mod documented_limits;
mod export;
mod fields;
mod intents;
mod keys;
mod keys_model;
mod keys_twin;
mod market_edges;
mod orders;
mod origin;
mod precedence;
mod sale_edges;
mod scans;
mod support;
mod text;
mod workload;
