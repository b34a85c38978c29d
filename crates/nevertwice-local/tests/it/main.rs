//! The integration tests of the in-process backend, one binary.

mod audit;
mod audit_copies;
mod audit_keys;
mod backend;
mod backend_crash;
mod backend_faults;
mod backend_snapshots;
mod backup;
mod backup_fixture;
mod commands;
mod conformance;
mod damage;
mod follow;
mod journal_crash;
mod journal_damage;
mod journal_limits;
mod keys;
mod newer;
mod real_files;
mod replicas;
mod snapshot;
mod standby;
#[cfg(feature = "stepped")]
mod stepped;
mod support;
