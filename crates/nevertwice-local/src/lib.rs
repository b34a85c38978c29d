//! The in-process backend: what a decision says is fsynced on this machine before anybody hears "yes".
//!
//! - [`LocalBackend`]: the sequencer that decides, the syncer that makes durable and answers, snapshots beside them.
//! - [`LocalKeyStore`]: the store of keys, in a folder of its own.
//! - [`feed`]: what a running backend shows of its journal, and [`source`]: where a copy is read from.
//! - [`backup`]: copies of a journal up to a batch, and data folders made out of them.
//! - [`standby`]: a folder that follows another server's journal, until it is promoted.
//! - [`inspect`]: looks at a stopped or copied folder, and changes nothing.
//! - [`states`]: all shards, out of a snapshot and frames.
//! - [`folder`]: the data folder's marker (`format`) and its claim by one process.
//! - [`journal`]: segments, frames, the writer, the scan at recovery.
//! - [`snapshot`]: files of opaque records that let a recovery start late and a segment go.
//! - `audit`: what operators did, in files that outlive the segments; `history` tells it.
//! - [`storage`]: the only module that touches the disk, behind a trait that tests replace.
//! - [`clock`]: the only module that reads the clock, likewise.
//! - [`chance`]: the only module that draws numbers at random, likewise.
//!
//! What this crate never does: serialise the live state in the sequencer's way, retry a failed fsync, guess about damage, or
//! make durability a matter of `Drop`.

mod audit;
mod backend;
pub mod backup;
pub mod chance;
pub mod clock;
pub mod error;
pub mod feed;
pub mod folder;
mod follow;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod history;
pub mod inspect;
pub mod journal;
mod keys;
#[cfg(feature = "mutants")]
mod mutants;
mod restore;
pub mod snapshot;
pub mod source;
pub mod standby;
pub mod states;
pub mod storage;

pub use audit::is_audit;
pub use backend::{LocalBackend, LocalOptions, REPLICAS_MAX, ReplicasStatus, SnapshotReport};
#[cfg(feature = "stepped")]
pub use backend::{SteppedBackend, Written};
#[cfg(feature = "stepped")]
pub use keys::SteppedKeyStore;
pub use keys::{
    KEYS_FOLDER, KeyStoreOptions, KeysCopied, KeysFolder, KeysInspection, KeysListing, KeysRecovered, KeysSource, KeysVerdict,
    LocalKeyStore, back_up_keys, fetch_keys_snapshot, inspect_keys_copy, is_answers, restore_keys,
};
#[cfg(feature = "mutants")]
pub use mutants::Mutant;
pub use restore::RestoreReport;
