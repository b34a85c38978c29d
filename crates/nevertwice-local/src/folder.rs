//! The data folder as a whole: who holds it, which format it has, which journal it is.
//!
//! The `format` file is three lines of text, so that a person can read it:
//!
//! ```text
//! nevertwice data
//! format 1
//! journal 0123456789abcdef
//! ```

use std::io;
use std::sync::Arc;

use crate::audit::is_audit;
use crate::chance::{Chance, SystemChance};
use crate::error::{IoFailure, OpenError};
use crate::journal;
use crate::snapshot;
use crate::storage::{FolderClaim, Storage};

/// The newest format that this version reads, and the one that it writes.
pub const FORMAT: u32 = 1;

const MARKER: &str = "format";
const MARKER_NEW: &str = "format.tmp";
const FIRST_LINE: &str = "nevertwice data";

/// A number drawn at random when the folder is made. It stands in every frame and snapshot, so a file of another
/// folder is not taken for one of this, and nobody outside can write a payload that looks like a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalId(pub u64);

/// A data folder that this process holds.
pub struct Folder {
    storage: Arc<dyn Storage>,
    id: JournalId,
    _claim: Box<dyn FolderClaim>,
}

impl Folder {
    /// Claims the folder, and makes it one if it is empty.
    pub fn claim(storage: Arc<dyn Storage>) -> Result<Folder, OpenError> {
        Folder::claim_with(storage, &SystemChance)
    }

    /// The same, with the number of a new journal drawn from there.
    pub(crate) fn claim_with(storage: Arc<dyn Storage>, chance: &dyn Chance) -> Result<Folder, OpenError> {
        let claim = storage.claim().map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => OpenError::InUse,
            _ => IoFailure::new("claiming", "", error).into(),
        })?;
        let id = match read_marker(storage.as_ref())? {
            Some(id) => id,
            None => write_marker(storage.as_ref(), chance)?,
        };
        Ok(Folder { storage, id, _claim: claim })
    }

    /// Its storage.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// Its journal's number.
    pub fn id(&self) -> JournalId {
        self.id
    }
}

/// Reads the marker of a folder that nobody may change: stopped, or a copy. Writes nothing.
pub fn inspect_marker(storage: &dyn Storage) -> Result<JournalId, OpenError> {
    if storage.is_claimed().map_err(IoFailure::of("looking for the owner of", ""))? {
        return Err(OpenError::InUse);
    }
    read_marker(storage)?.ok_or_else(|| OpenError::Marker { what: "there is none".to_owned() })
}

fn read_marker(storage: &dyn Storage) -> Result<Option<JournalId>, OpenError> {
    let bytes = match storage.read(MARKER) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let names = storage.list().map_err(IoFailure::of("listing", ""))?;
            let is_data = |name: &str| journal::is_segment(name) || snapshot::is_snapshot(name) || is_audit(name) || name == journal::REACH;
            return match names.iter().find(|name| is_data(name)) {
                Some(name) => Err(OpenError::Marker { what: format!("it is missing, though {name:?} is there") }),
                None => Ok(None),
            };
        }
        Err(error) => return Err(IoFailure::new("reading", MARKER, error).into()),
    };
    parse_marker(&bytes).map(Some)
}

pub(crate) fn parse_marker(bytes: &[u8]) -> Result<JournalId, OpenError> {
    let bad = |what: &str| OpenError::Marker { what: what.to_owned() };
    let text = std::str::from_utf8(bytes).map_err(|_| bad("it is not text"))?;
    let mut lines = text.lines();
    if lines.next() != Some(FIRST_LINE) {
        return Err(bad("its first line is another"));
    }
    let format = lines.next().and_then(|line| line.strip_prefix("format ")).and_then(|text| text.parse::<u32>().ok());
    let found = format.ok_or_else(|| bad("it names no format"))?;
    if found > FORMAT {
        return Err(OpenError::TooNew { what: "the folder", found, supported: FORMAT });
    }
    if found == 0 {
        return Err(bad("there is no format 0"));
    }
    let id = lines.next().and_then(|line| line.strip_prefix("journal ")).and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let id = id.map(JournalId).ok_or_else(|| bad("it names no journal"))?;
    // Signs, capitals, further lines: none of it was written by this program.
    if marker_text(id) == text { Ok(id) } else { Err(bad("it is not as it was written")) }
}

/// The text of the `format` file.
pub(crate) fn marker_text(id: JournalId) -> String {
    format!("{FIRST_LINE}\nformat {FORMAT}\njournal {:016x}\n", id.0)
}

fn write_marker(storage: &dyn Storage, chance: &dyn Chance) -> Result<JournalId, OpenError> {
    let id = chance.draw().map_err(IoFailure::of("drawing a number for", MARKER))?;
    let text = marker_text(JournalId(id));
    remove_if_there(storage, MARKER_NEW)?;
    let file = storage.create(MARKER_NEW).map_err(IoFailure::of("creating", MARKER_NEW))?;
    file.write_at(0, text.as_bytes()).map_err(IoFailure::of("writing", MARKER_NEW))?;
    file.sync_data().map_err(IoFailure::of("syncing", MARKER_NEW))?;
    storage.rename(MARKER_NEW, MARKER).map_err(IoFailure::of("renaming", MARKER_NEW))?;
    storage.sync_folder().map_err(IoFailure::of("syncing the folder of", MARKER))?;
    Ok(JournalId(id))
}

pub(crate) fn remove_if_there(storage: &dyn Storage, name: &str) -> Result<(), IoFailure> {
    match storage.remove(name) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(IoFailure::new("removing", name, error)),
    }
}
