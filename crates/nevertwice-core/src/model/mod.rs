//! A seeded workload and an auditor, for tests, simulators, benchmarks and bots.
//!
//! [`Workload`] yields steps for several markets and sales and is told what became of each, so that it retries, releases real
//! bookings and aims at the edges of real figures. The same seed and the same decisions give the same steps, so it drives any
//! backend beside the core. [`Auditor`] follows one shard's decisions in a slow twin of its own, loops over shares and all, and
//! says which invariant of the design was broken; [`audit_records`] judges a state alone, without its history.
//!
//! Neither asks the core how it did something: the auditor knows the rules a second time, and only the types are shared.

mod audit;
mod random;
mod slow;
mod twin;
mod violation;
mod workload;

pub use audit::{Audited, Auditor, audit_records};
pub use random::Random;
pub use violation::Violation;
pub use workload::{Step, Workload, WorkloadOptions, fingerprint_of};
