//! How far the journal is known to reach: a file of its own, beside the segments.
//!
//! Frames witness the frames before them, so a frame that is damaged in the middle is found. Nothing in the segments tells
//! that their end is gone: a copy that was cut off, segments that were removed. So every start and every orderly stop writes
//! down, after its seal is durable, which batch that was. A journal that ends before it is damaged.

use std::io;

use super::scan::FrameRef;
use crate::error::{Damage, IoFailure, OpenError};
use crate::folder::remove_if_there;
use crate::storage::Storage;

/// The file's name.
pub(crate) const NAME: &str = "reach";
const NAME_NEW: &str = "reach.tmp";

/// The version of the file. The first has no number in it; a later one begins with a line `reach N`.
const VERSION: u32 = 1;

/// The number of a batch that was durable. (Not its checksum: a recovery writes what was not proven again, in another frame.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reach(pub(crate) u64);

impl Reach {
    /// Writes it down, whole or not at all. The batch is durable by now.
    pub(crate) fn write(self, storage: &dyn Storage) -> Result<(), IoFailure> {
        remove_if_there(storage, NAME_NEW)?;
        let file = storage.create(NAME_NEW).map_err(IoFailure::of("creating", NAME_NEW))?;
        file.write_at(0, self.text().as_bytes()).map_err(IoFailure::of("writing", NAME_NEW))?;
        file.sync_data().map_err(IoFailure::of("syncing", NAME_NEW))?;
        storage.rename(NAME_NEW, NAME).map_err(IoFailure::of("renaming", NAME_NEW))?;
        storage.sync_folder().map_err(IoFailure::of("syncing the folder of", NAME))
    }

    /// The file's text.
    pub(crate) fn text(self) -> String {
        format!("batch {}\n", self.0)
    }

    /// What was last written down; none in a folder that nobody has served yet.
    pub(crate) fn read(storage: &dyn Storage) -> Result<Option<Result<Reach, Damage>>, OpenError> {
        let bytes = match storage.read(NAME) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(IoFailure::new("reading", NAME, error).into()),
        };
        if let Some(found) = later_version(&bytes) {
            return Err(OpenError::TooNew { what: "the file `reach`", found, supported: VERSION });
        }
        let damage = || Damage {
            segment: 0,
            offset: 0,
            what: format!(
                "the file `{NAME}`, which says how far the journal reaches, is not the line `batch` and a number that was written, so the journal's end may be missing"
            ),
        };
        Ok(Some(parse(&bytes).ok_or_else(damage)))
    }

    /// What a journal that consists of these frames lacks.
    pub(crate) fn missing(self, chain: &[FrameRef]) -> Option<Damage> {
        let (segment, offset, batch) = chain.last().map_or((0, 0, 0), |last| (last.segment, last.end, last.batch));
        let what = || format!("the journal ends with batch {batch}, and had reached batch {}", self.0);
        (batch < self.0).then(|| Damage { segment, offset, what: what() })
    }
}

/// The number of a later version that wrote the file.
fn later_version(bytes: &[u8]) -> Option<u32> {
    let first = std::str::from_utf8(bytes).ok()?.lines().next()?;
    first.strip_prefix("reach ")?.parse().ok().filter(|version| *version > VERSION)
}

/// Reads the file's text.
pub(crate) fn parse(bytes: &[u8]) -> Option<Reach> {
    let number = std::str::from_utf8(bytes).ok()?.strip_prefix("batch ")?.strip_suffix('\n')?;
    let reach = Reach(number.parse().ok()?);
    // A sign or a zero in front were written by nobody here.
    (reach.text().as_bytes() == bytes).then_some(reach)
}
