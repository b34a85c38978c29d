//! The readers of single files of a data folder, open to the fuzz targets (feature `fuzzing`). Each is what the backend itself
//! calls: nothing here reads on its own.

use nevertwice_api::PrincipalMark;
use nevertwice_core::keys::{KeyId, KeyRecord};

use crate::backup::Manifest;
use crate::error::OpenError;
use crate::folder::{self, JournalId};
use crate::journal;
pub use crate::keys::CHANGE_BYTES;
use crate::keys::{BadChange, Change, Kept, Place};
use crate::standby::Following;

/// What the file `format` says.
pub fn marker(bytes: &[u8]) -> Result<JournalId, OpenError> {
    folder::parse_marker(bytes)
}

/// The file `format` of that journal.
#[must_use]
pub fn write_marker(id: JournalId) -> String {
    folder::marker_text(id)
}

/// What the file `reach` says: a batch.
#[must_use]
pub fn reach(bytes: &[u8]) -> Option<u64> {
    journal::parse_reach(bytes).map(|reach| reach.0)
}

/// The file `reach` of that batch.
#[must_use]
pub fn write_reach(batch: u64) -> String {
    journal::Reach(batch).text()
}

/// The number in a segment's file name.
#[must_use]
pub fn segment_number(name: &str) -> Option<u64> {
    journal::segment_number(name)
}

/// The file name of a segment.
#[must_use]
pub fn segment_name(number: u64) -> String {
    journal::segment_name(number)
}

/// What was read of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadChange {
    /// It was read, and this is how it is written.
    Written(Box<[u8; CHANGE_BYTES]>),
    /// A later version wrote it.
    TooNew(u8),
    /// Nobody wrote it.
    Malformed,
}

/// Reads a change of a key.
#[must_use]
pub fn key_change(bytes: &[u8; CHANGE_BYTES]) -> ReadChange {
    match Change::decode(bytes) {
        Ok(change) => ReadChange::Written(Box::new(change.encode())),
        Err(BadChange::TooNew(version)) => ReadChange::TooNew(version),
        Err(BadChange::Malformed(_)) => ReadChange::Malformed,
    }
}

/// The change that makes this the record of a key of that principal, with the file of its answer and the place in it.
#[must_use]
pub fn write_key_change(principal: PrincipalMark, id: KeyId, record: KeyRecord, place: Option<(u64, u64)>) -> [u8; CHANGE_BYTES] {
    let place = place.map(|(file, offset)| Place { file, offset });
    Change::Key(id, Kept { record, place, principal }).encode()
}

/// The change that says that a sweep freed something.
#[must_use]
pub fn write_swept(at_ms: i64) -> [u8; CHANGE_BYTES] {
    Change::Swept(at_ms).encode()
}

/// What the manifest of a backup says. The error says what is wrong with it, after "its file".
pub fn manifest(bytes: &[u8]) -> Result<Manifest, String> {
    Manifest::parse(bytes)
}

/// The manifest's file.
#[must_use]
pub fn write_manifest(manifest: &Manifest) -> String {
    manifest.text()
}

/// What the file of a standby says, as it is written.
pub fn following(bytes: &[u8]) -> Result<String, OpenError> {
    Following::parse(bytes).map(|following| following.text())
}
