//! The file that makes a folder a standby's, and says which journal it follows and from where it can be sure to go on.
//!
//! ```text
//! nevertwice standby
//! format 1
//! journal 0123456789abcdef
//! behind 4181 crc 1a2b3c4d
//! ```
//!
//! While the folder is still being made its last line is `unfinished`: then nothing in it counts.

use std::io;

use crate::error::{IoFailure, OpenError};
use crate::folder::{JournalId, remove_if_there, write_small};
use crate::storage::Storage;

const NAME: &str = "following";
const FIRST_LINE: &str = "nevertwice standby";
const FORMAT: u32 = 1;

/// A place in a source's journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Behind which batch.
    pub(crate) batch: u64,
    /// The checksum of its frame there; not known for the batch before a snapshot's.
    pub(crate) crc: Option<u32>,
}

/// What the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Following {
    /// The journal that is followed.
    pub(crate) journal: JournalId,
    /// A batch that is here and that the source cannot write again; none while the folder is being made.
    pub(crate) behind: Option<Place>,
}

impl Following {
    /// What it is called until it is whole.
    pub(crate) const NEW_NAME: &str = "following.tmp";

    /// Writes it, whole or not at all.
    pub(crate) fn write(&self, storage: &dyn Storage) -> Result<(), IoFailure> {
        write_small(storage, NAME, self.text().as_bytes())
    }

    pub(crate) fn text(&self) -> String {
        let place = match self.behind {
            Some(Place { batch, crc: Some(crc) }) => format!("behind {batch} crc {crc:08x}"),
            Some(Place { batch, crc: None }) => format!("behind {batch}"),
            None => "unfinished".to_owned(),
        };
        format!("{FIRST_LINE}\nformat {FORMAT}\njournal {}\n{place}\n", self.journal)
    }

    /// What it says; none in a folder that is no standby's.
    pub(crate) fn read(storage: &dyn Storage) -> Result<Option<Following>, OpenError> {
        let bytes = match storage.read(NAME) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(IoFailure::new("reading", NAME, error).into()),
        };
        Following::parse(&bytes).map(Some)
    }

    /// What a file with these bytes says.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Following, OpenError> {
        match parse(bytes) {
            Some((format, _)) if format > FORMAT => {
                Err(OpenError::TooNew { what: "the file `following`", found: format, supported: FORMAT })
            }
            // Signs, capitals, further lines: none of it was written by this program.
            Some((_, Some(following))) if following.text().as_bytes() == bytes => Ok(following),
            _ => Err(OpenError::NotServable { what: format!("its file {NAME:?} cannot be read") }),
        }
    }

    /// The folder is a standby's no more.
    pub(crate) fn remove(storage: &dyn Storage) -> Result<(), IoFailure> {
        remove_if_there(storage, NAME)?;
        storage.sync_folder().map_err(IoFailure::of("syncing the folder of", NAME))
    }
}

/// The format, and what it says if the format is one that is known.
fn parse(bytes: &[u8]) -> Option<(u32, Option<Following>)> {
    let mut lines = std::str::from_utf8(bytes).ok()?.strip_prefix(FIRST_LINE)?.strip_prefix('\n')?.lines();
    let format = lines.next()?.strip_prefix("format ")?.parse().ok()?;
    let rest = || -> Option<Following> {
        let mut lines = lines;
        let journal = lines.next()?.strip_prefix("journal ")?.parse().ok()?;
        let place = lines.next()?;
        let behind = match place.split(' ').collect::<Vec<_>>().as_slice() {
            ["behind", batch, "crc", crc] => Some(Place { batch: batch.parse().ok()?, crc: Some(u32::from_str_radix(crc, 16).ok()?) }),
            ["behind", batch] => Some(Place { batch: batch.parse().ok()?, crc: None }),
            ["unfinished"] => None,
            _ => return None,
        };
        lines.next().is_none().then_some(Following { journal, behind })
    };
    Some((format, rest()))
}
