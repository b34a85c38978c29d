//! A store of keys in a folder of its own: what a reply says is fsynced on this machine before anybody hears it.
//!
//! ```text
//! callers -> queue -> writer -> answers
//!                     (decides, writes, fsyncs)
//!                        |   \-> reader -> replays
//!                        v
//!                     journal -> snapshots
//! ```
//!
//! - `change`: the bytes of a change, in a batch and in a snapshot.
//! - `records`: all that is kept, made out of changes.
//! - `answers`: the files in which the bytes of answers lie; `reader` reads them for replays.
//! - `writer`: the thread that decides a group, makes it safe and answers; `commands` and `sweeper` are what it does.
//! - `restore`: from a folder to records and a journal. `snapshots` let it start late, and segments go.
//! - `copies`: backups of a folder, and what is made out of them.
//! - `open`, `store`: the whole, and how callers see it. `inspect` looks at a folder that nobody runs.
//!
//! The journal, its recovery, the snapshots and the folder are those of the backend; what differs is what they carry. The layout is
//! in `docs/journal-format.md`.
//!
//! What it never does: decide anything that the core does not, make a claim whose answer it could not keep track of, or free a key
//! because there is no room.

mod answers;
mod change;
mod commands;
mod copies;
mod gauges;
mod inspect;
mod open;
mod options;
mod queue;
mod reader;
mod records;
mod restore;
mod snapshots;
#[cfg(feature = "stepped")]
mod stepped;
mod store;
mod sweeper;
mod writer;

pub use answers::is_answers;
#[cfg(feature = "fuzzing")]
pub use change::CHANGE_BYTES;
#[cfg(feature = "fuzzing")]
pub(crate) use change::{BadChange, Change, Kept, Place};
pub use copies::{KeysCopied, KeysFolder, KeysListing, KeysSource, back_up_keys, fetch_keys_snapshot, inspect_keys_copy, restore_keys};
pub use inspect::{KeysInspection, KeysVerdict};
pub use open::{KEYS_FOLDER, LocalKeyStore};
pub use options::KeyStoreOptions;
pub use restore::KeysRecovered;
#[cfg(feature = "stepped")]
pub use stepped::SteppedKeyStore;
