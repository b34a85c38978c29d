//! The backend: threads and what they share.
//!
//! ```text
//! callers -> queue -> sequencer -> handoff -> syncer -> answers
//!                     (decides)              (writes, fsyncs)
//!                                               |
//!                      snapshots <- journal <---+
//! ```

mod handoff;
mod open;
mod options;
mod queue;
mod sequencer;
mod snapshots;
#[cfg(feature = "stepped")]
mod stepped;
mod syncer;

pub use open::LocalBackend;
pub use options::LocalOptions;
pub use snapshots::SnapshotReport;
pub(crate) use snapshots::{Snapshots, Wish};
#[cfg(feature = "stepped")]
pub use stepped::{SteppedBackend, Written};
