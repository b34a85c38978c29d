//! The data folder as a whole: who holds it, which format it has, which journal it is.
//!
//! The `format` file is three lines of text, so that a person can read it:
//!
//! ```text
//! nevertwice data
//! format 1
//! journal 0123456789abcdef
//! ```
//!
//! A folder of keys begins with `nevertwice keys` instead.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::Arc;

use crate::audit::is_audit;
use crate::backup;
use crate::chance::{Chance, SystemChance};
use crate::error::{IoFailure, OpenError};
use crate::journal;
use crate::keys::is_answers;
use crate::snapshot;
use crate::storage::{FolderClaim, Storage};

/// The newest format that this version reads, and the one that it writes.
pub const FORMAT: u32 = 1;

const MARKER: &str = "format";

/// What a folder holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Markets and sales.
    Shards,
    /// Keys.
    Keys,
}

impl Holds {
    const fn first_line(self) -> &'static str {
        match self {
            Holds::Shards => "nevertwice data",
            Holds::Keys => "nevertwice keys",
        }
    }

    const fn refusal(self) -> &'static str {
        match self {
            Holds::Shards => "it holds markets and sales, not keys",
            Holds::Keys => "it holds keys, not markets and sales",
        }
    }

    const fn other(self) -> Holds {
        match self {
            Holds::Shards => Holds::Keys,
            Holds::Keys => Holds::Shards,
        }
    }
}

/// A number drawn at random when the folder is made. It stands in every frame and snapshot, so a file of another
/// folder is not taken for one of this, and nobody outside can write a payload that looks like a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalId(pub u64);

impl fmt::Display for JournalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A text that is no journal's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAJournalId;

impl fmt::Display for NotAJournalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a journal's number is written in 16 hexadecimal digits")
    }
}

impl std::error::Error for NotAJournalId {}

impl FromStr for JournalId {
    type Err = NotAJournalId;

    fn from_str(text: &str) -> Result<JournalId, NotAJournalId> {
        let digits = Some(text).filter(|text| text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).map(JournalId).ok_or(NotAJournalId)
    }
}

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
        Folder::claim_that_holds(Holds::Shards, storage, chance)
    }

    /// The same of a folder that holds this, and nothing else.
    pub(crate) fn claim_that_holds(holds: Holds, storage: Arc<dyn Storage>, chance: &dyn Chance) -> Result<Folder, OpenError> {
        let claim = storage.claim().map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => OpenError::InUse,
            _ => IoFailure::new("claiming", "", error).into(),
        })?;
        if backup::is_backup(storage.as_ref())? {
            let what = "it is a backup: restore it into a folder of its own".to_owned();
            return Err(OpenError::NotServable { what });
        }
        let id = match read_marker(holds, storage.as_ref())? {
            Some(id) => id,
            None => write_marker(holds, storage.as_ref(), chance)?,
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
    inspect_marker_of(Holds::Shards, storage)
}

/// The same of a folder that holds this, and nothing else.
pub(crate) fn inspect_marker_of(holds: Holds, storage: &dyn Storage) -> Result<JournalId, OpenError> {
    if storage.is_claimed().map_err(IoFailure::of("looking for the owner of", ""))? {
        return Err(OpenError::InUse);
    }
    read_marker(holds, storage)?.ok_or_else(|| OpenError::Marker { what: "there is none".to_owned() })
}

/// The largest note that goes with a copy.
pub(crate) const NOTE_BYTES_MAX: usize = 4_096;

/// A small file that lies beside the journal; `None` if it is not there.
pub(crate) fn read_note(storage: &dyn Storage, name: &str) -> Result<Option<Vec<u8>>, IoFailure> {
    let file = match storage.open(name) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(IoFailure::new("opening", name, error)),
    };
    let mut bytes = vec![0; NOTE_BYTES_MAX];
    let read = file.read_at(0, &mut bytes).map_err(IoFailure::of("reading", name))?;
    bytes.truncate(read);
    Ok(Some(bytes))
}

/// Writes a small file, whole or not at all.
pub(crate) fn write_small(storage: &dyn Storage, name: &str, bytes: &[u8]) -> Result<(), IoFailure> {
    let new = format!("{name}.tmp");
    remove_if_there(storage, &new)?;
    let file = storage.create(&new).map_err(IoFailure::of("creating", &new))?;
    file.write_at(0, bytes).map_err(IoFailure::of("writing", &new))?;
    file.sync_data().map_err(IoFailure::of("syncing", &new))?;
    storage.rename(&new, name).map_err(IoFailure::of("renaming", &new))?;
    storage.sync_folder().map_err(IoFailure::of("syncing the folder of", name))
}

/// The number of the journal in a folder that this process holds.
pub(crate) fn folder_id(storage: &dyn Storage) -> Result<JournalId, OpenError> {
    read_marker(Holds::Shards, storage)?.ok_or_else(|| OpenError::Marker { what: "there is none".to_owned() })
}

fn read_marker(holds: Holds, storage: &dyn Storage) -> Result<Option<JournalId>, OpenError> {
    let bytes = match storage.read(MARKER) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let names = storage.list().map_err(IoFailure::of("listing", ""))?;
            let is_data = |name: &str| {
                journal::is_segment(name) || snapshot::is_snapshot(name) || is_audit(name) || is_answers(name) || name == journal::REACH
            };
            return match names.iter().find(|name| is_data(name)) {
                Some(name) => Err(OpenError::Marker { what: format!("it is missing, though {name:?} is there") }),
                None => Ok(None),
            };
        }
        Err(error) => return Err(IoFailure::new("reading", MARKER, error).into()),
    };
    parse_marker_of(holds, &bytes).map(Some)
}

/// Reads the marker of a folder of markets and sales.
#[cfg(feature = "fuzzing")]
pub(crate) fn parse_marker(bytes: &[u8]) -> Result<JournalId, OpenError> {
    parse_marker_of(Holds::Shards, bytes)
}

fn parse_marker_of(holds: Holds, bytes: &[u8]) -> Result<JournalId, OpenError> {
    let bad = |what: &str| OpenError::Marker { what: what.to_owned() };
    let text = std::str::from_utf8(bytes).map_err(|_| bad("it is not text"))?;
    let mut lines = text.lines();
    match lines.next() {
        Some(line) if line == holds.first_line() => {}
        Some(line) if line == holds.other().first_line() => {
            return Err(OpenError::NotServable { what: holds.other().refusal().to_owned() });
        }
        _ => return Err(bad(&format!("its first line is not `{}`", holds.first_line()))),
    }
    let format = lines.next().and_then(|line| line.strip_prefix("format ")).and_then(|text| text.parse::<u32>().ok());
    let found = format.ok_or_else(|| bad("its second line is not `format` and a number"))?;
    if found > FORMAT {
        return Err(OpenError::TooNew { what: "the folder", found, supported: FORMAT });
    }
    if found == 0 {
        return Err(bad("there is no format 0"));
    }
    let id = lines.next().and_then(|line| line.strip_prefix("journal ")).and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let id = id.map(JournalId).ok_or_else(|| bad("its third line is not `journal` and 16 hexadecimal digits"))?;
    // Signs, capitals, further lines: none of it was written by this program.
    if marker_text_of(holds, id) == text {
        Ok(id)
    } else {
        Err(bad("it has something beside its three lines, or spells them in another way"))
    }
}

/// The text of the `format` file of a folder of markets and sales.
pub(crate) fn marker_text(id: JournalId) -> String {
    marker_text_of(Holds::Shards, id)
}

fn marker_text_of(holds: Holds, id: JournalId) -> String {
    format!("{}\nformat {FORMAT}\njournal {:016x}\n", holds.first_line(), id.0)
}

fn write_marker(holds: Holds, storage: &dyn Storage, chance: &dyn Chance) -> Result<JournalId, OpenError> {
    let id = draw_id(chance)?;
    write_small(storage, MARKER, marker_text_of(holds, id).as_bytes())?;
    Ok(id)
}

/// Draws a journal's number.
pub(crate) fn draw_id(chance: &dyn Chance) -> Result<JournalId, IoFailure> {
    Ok(JournalId(chance.draw().map_err(IoFailure::of("drawing a number for", MARKER))?))
}

/// Epochs of a history that goes on from a copy begin with a thousand that nobody used.
const EPOCHS_APART: u32 = 1_000;

/// Draws the epoch with which a history goes on from a copy, where the other one may go on too: a thousand above all that the
/// copy has seen, and not the next one for certain. So the two share no position, however often each of them is started, and
/// neither do two that go on from the same copy.
pub(crate) fn draw_epoch(last: u32, chance: &dyn Chance) -> Result<u32, IoFailure> {
    let drawn = chance.draw().map_err(IoFailure::of("drawing an epoch for", MARKER))?;
    let thousands = last / EPOCHS_APART + 1 + (drawn % u64::from(EPOCHS_APART)) as u32;
    Ok(thousands.saturating_mul(EPOCHS_APART))
}

/// Makes the folder one of that journal. Whoever makes a copy does it last: without it nobody takes the folder for whole.
pub(crate) fn write_marker_of(storage: &dyn Storage, id: JournalId) -> Result<(), IoFailure> {
    write_small(storage, MARKER, marker_text(id).as_bytes())
}

/// The same of a folder that holds this, and nothing else.
pub(crate) fn write_marker_that_holds(holds: Holds, storage: &dyn Storage, id: JournalId) -> Result<(), IoFailure> {
    write_small(storage, MARKER, marker_text_of(holds, id).as_bytes())
}

pub(crate) fn remove_if_there(storage: &dyn Storage, name: &str) -> Result<(), IoFailure> {
    match storage.remove(name) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(IoFailure::new("removing", name, error)),
    }
}
