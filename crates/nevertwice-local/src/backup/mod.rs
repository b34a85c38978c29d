//! Backups: a folder with the bytes of a journal's segments and snapshots, and a manifest that says up to which batch they
//! count and what the states are there.
//!
//! - `manifest`: what is in a backup, as text.
//! - `audit`: what operators did, in a backup.
//! - `reader`: the frames and states of a backup, by its manifest.
//! - `segments`: raw frames on their way into segments.
//! - `run`: makes a backup, or brings one up to date.
//! - `restore`: makes a data folder that ends at a position.
//!
//! A backup is no data folder: nobody serves it, and what its manifest does not name does not count.

mod audit;
mod error;
mod manifest;
mod reader;
mod restore;
mod run;
mod segments;

pub use crate::audit::CopiedAudit;
pub use error::BackupError;
pub use manifest::{Manifest, ShardAt, StoredAudit, StoredAuditFile, StoredSnapshot};
pub(crate) use manifest::{is_backup, is_note};
pub use reader::{BackupReader, shards_at};
pub use restore::{Goal, Restored, Target, restore_to};
pub use run::{BackupProgress, BackupReport, back_up};
