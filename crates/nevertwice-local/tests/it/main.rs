//! The integration tests of the in-process backend, one binary.

mod journal_crash;
mod journal_damage;
mod journal_limits;
mod real_files;
mod snapshot;
mod support;
