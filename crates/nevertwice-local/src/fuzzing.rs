//! The readers of single files of a data folder, open to the fuzz targets (feature `fuzzing`). Each is what the backend itself
//! calls: nothing here reads on its own.

use crate::error::OpenError;
use crate::folder::{self, JournalId};
use crate::journal;

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
