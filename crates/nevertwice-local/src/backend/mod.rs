//! The backend: threads and what they share.
//!
//! ```text
//! callers -> queue -> sequencer -> handoff -> syncer -> answers
//!                     (decides)              (writes, fsyncs)
//!                                               |
//!                      snapshots <- journal <---+
//! ```
//!
//! Answers at the level `replicated` go from the syncer to `replicas`, where they wait until enough standbys have confirmed.

mod handoff;
mod open;
mod options;
mod queue;
mod replicas;
mod replicated;
mod sequencer;
mod shard;
mod snapshots;
#[cfg(feature = "stepped")]
mod stepped;
mod syncer;

pub use open::LocalBackend;
pub use options::{LocalOptions, REPLICAS_MAX};
pub(crate) use replicas::Replicas;
pub use replicas::ReplicasStatus;
pub use snapshots::SnapshotReport;
pub(crate) use snapshots::{Snapshots, Wish};
#[cfg(feature = "stepped")]
pub use stepped::{SteppedBackend, Written};
