//! Fetches a snapshot, piece by piece.

use super::pull::{Source, SourceError};
use crate::error::IoFailure;
use crate::folder::{JournalId, remove_if_there};
use crate::snapshot::{self, Verified, snapshot_name};
use crate::storage::Storage;

const FETCHING: &str = "snapshot.tmp";

/// Puts the snapshot after `batch` into a folder as it is there, and reads it back. `progress` hears of how much has come.
pub(crate) fn fetch_snapshot(
    storage: &dyn Storage,
    source: &mut dyn Source,
    id: JournalId,
    batch: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<Verified, SourceError> {
    remove_if_there(storage, FETCHING)?;
    let file = storage.create(FETCHING).map_err(IoFailure::of("creating", FETCHING))?;
    let mut at = 0;
    loop {
        let piece = source.snapshot(batch, at)?;
        if piece.piece.is_empty() {
            if at == piece.bytes {
                break;
            }
            return Err(SourceError::Bad(format!("the snapshot after batch {batch} ended after {at} bytes of {}", piece.bytes)));
        }
        file.write_at(at, &piece.piece).map_err(IoFailure::of("writing", FETCHING))?;
        file.sync_data().map_err(IoFailure::of("syncing", FETCHING))?;
        at += piece.piece.len() as u64;
        progress(at);
    }
    let name = snapshot_name(batch);
    storage.rename(FETCHING, &name).map_err(IoFailure::of("renaming", FETCHING))?;
    storage.sync_folder().map_err(IoFailure::of("syncing the folder of", &name))?;
    let verified = snapshot::verify(storage, id, batch)?;
    verified.map_err(|bad| SourceError::Bad(format!("the snapshot after batch {batch} does not count: {bad}")))
}
