//! The in-process backend: what a decision says is fsynced on this machine before anybody hears "yes".
//!
//! - [`storage`]: the only module that touches the disk, behind a trait that tests replace.
//! - [`clock`]: the only module that reads the clock, likewise.
//! - [`folder`]: the data folder's marker (`format`) and its claim by one process.
//! - [`journal`]: segments, frames, the writer, the scan at recovery.
//! - [`snapshot`]: files of opaque records that let a recovery start late and a segment go.
//!
//! What this crate never does: serialise the live state in the sequencer's way, retry a failed fsync, guess about
//! damage, or make durability a matter of `Drop`.

pub mod clock;
pub mod error;
pub mod folder;
pub mod journal;
pub mod snapshot;
pub mod storage;
