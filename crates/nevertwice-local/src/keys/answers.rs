//! The files in which the bytes of answers lie.
//!
//! Many answers share a file, and those of one group share its sync: an answer is written and synced before the change that names
//! its place. A process writes only to files that it made itself, and each group begins at a multiple of 4096 bytes, so nothing
//! that is still to be written shares a block with something durable. What is written is never changed. A file goes as a whole,
//! once the changes are durable that took away the last answer in it; what a crash leaves over goes at the next start.
//!
//! Answers share a file only if their retentions differ by less than two times: one that is kept for a year would otherwise keep the
//! room of all that are kept for a day beside it.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use nevertwice_api::AnswerBytes;

use super::change::Place;
use crate::error::IoFailure;
use crate::folder::remove_if_there;
use crate::journal::ALIGNMENT;
use crate::storage::{Storage, StorageFile};

const PREFIX: &str = "answers-";
const SUFFIX: &str = ".bytes";

/// A file is a sixty-fourth of all, within these bounds: large enough to be few, small enough to go soon.
const FILE_BYTES_MIN: u64 = 64 << 10;
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The file name of that number.
pub(crate) fn answers_name(number: u64) -> String {
    format!("{PREFIX}{number:020}{SUFFIX}")
}

/// The number in a file's name.
pub(crate) fn answers_number(name: &str) -> Option<u64> {
    let number = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok()?;
    // Only the name that it would be given: a file of any other is somebody else's.
    (answers_name(number) == name).then_some(number)
}

/// Whether a file of this name holds answers of keys.
pub fn is_answers(name: &str) -> bool {
    answers_number(name).is_some()
}

/// Why an answer was not written.
#[derive(Debug)]
pub(crate) enum WriteFault {
    /// There is no room, here or on the disk. Nothing was done.
    Full,
    /// The system refused, and nobody knows what it has done.
    Failed(IoFailure),
}

/// The files, and who writes to them.
pub(crate) struct Answers {
    storage: Arc<dyn Storage>,
    files: BTreeMap<u64, Held>,
    /// The files that are written to, by the logarithm of the retention of what goes into them.
    current: BTreeMap<u32, Current>,
    next: u64,
    bytes: u64,
    bytes_max: u64,
    file_bytes_max: u64,
}

/// What is known of a file.
#[derive(Clone, Copy, Default)]
pub(crate) struct Held {
    /// Where the last answer in it ends.
    pub(crate) bytes: u64,
    /// How many answers in it are kept.
    pub(crate) answers: u64,
}

struct Current {
    number: u64,
    name: String,
    file: Box<dyn StorageFile>,
    /// Whether its name is durable.
    is_named: bool,
    /// Whether something was written that is not synced.
    is_dirty: bool,
}

impl Answers {
    /// Goes on behind `files`, in a file numbered from `next` on.
    pub(crate) fn new(storage: Arc<dyn Storage>, files: BTreeMap<u64, Held>, next: u64, bytes_max: u64) -> Answers {
        let bytes = files.values().map(|held| held.bytes).sum();
        let file_bytes_max = (bytes_max / 64).clamp(FILE_BYTES_MIN, FILE_BYTES_MAX);
        Answers { storage, files, current: BTreeMap::new(), next, bytes, bytes_max, file_bytes_max }
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether anything more may be written.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes < self.bytes_max
    }

    /// Writes an answer that is kept for so long, not yet synced, and says where it lies.
    pub(crate) fn write(&mut self, bytes: &AnswerBytes, retention_ms: i64) -> Result<Place, WriteFault> {
        let length = (bytes.head.len() + bytes.body.len()) as u64;
        let class = retention_ms.max(1).ilog2();
        let end = self.current.get(&class).map(|current| (current, self.end_of(current.number)));
        let offset = match end {
            Some((current, end)) if end == 0 || end.saturating_add(length) <= self.file_bytes_max => {
                if current.is_dirty {
                    end
                } else {
                    end.next_multiple_of(ALIGNMENT)
                }
            }
            _ => {
                if !self.bytes.checked_add(length).is_some_and(|bytes| bytes <= self.bytes_max) {
                    return Err(WriteFault::Full);
                }
                self.begin_file(class)?;
                0
            }
        };
        let Some(current) = self.current.get_mut(&class) else { return Err(WriteFault::Full) };
        let held = self.files.entry(current.number).or_default();
        let others = self.bytes - held.bytes;
        let end = offset.saturating_add(length);
        if others.saturating_add(end) > self.bytes_max {
            return Err(WriteFault::Full);
        }
        for (at, part) in [(offset, &bytes.head), (offset + bytes.head.len() as u64, &bytes.body)] {
            current.file.write_at(at, part).map_err(|error| match error.kind() {
                io::ErrorKind::StorageFull => WriteFault::Full,
                _ => WriteFault::Failed(IoFailure::new("writing", &current.name, error)),
            })?;
        }
        current.is_dirty = true;
        *held = Held { bytes: end, answers: held.answers + 1 };
        self.bytes = others + end;
        Ok(Place { file: current.number, offset })
    }

    /// Makes durable what was written.
    pub(crate) fn sync(&mut self) -> Result<(), IoFailure> {
        let mut dirty: Vec<&mut Current> = self.current.values_mut().filter(|current| current.is_dirty).collect();
        for current in &mut dirty {
            current.file.sync_data().map_err(IoFailure::of("syncing", &current.name))?;
        }
        if let Some(new) = dirty.iter().find(|current| !current.is_named) {
            self.storage.sync_folder().map_err(IoFailure::of("syncing the folder of", &new.name))?;
        }
        for current in dirty {
            (current.is_named, current.is_dirty) = (true, false);
        }
        Ok(())
    }

    /// An answer is not kept any more, and the change that says so is durable. Returns the number of a file that may go.
    #[must_use]
    pub(crate) fn let_go(&mut self, place: Place) -> Option<u64> {
        let held = self.files.get_mut(&place.file)?;
        held.answers = held.answers.saturating_sub(1);
        self.retire(place.file)
    }

    fn retire(&mut self, number: u64) -> Option<u64> {
        let held = self.files.get(&number).filter(|held| held.answers == 0)?;
        let bytes = held.bytes;
        if self.current.values().any(|current| current.number == number && current.is_dirty) {
            return None;
        }
        self.current.retain(|_, current| current.number != number);
        self.files.remove(&number);
        self.bytes -= bytes;
        Some(number)
    }

    fn end_of(&self, number: u64) -> u64 {
        self.files.get(&number).map_or(0, |held| held.bytes)
    }

    /// Ends the current file of a class and begins the next.
    fn begin_file(&mut self, class: u32) -> Result<(), WriteFault> {
        // What was written to the one before would not be found by the sync of its group.
        self.sync().map_err(WriteFault::Failed)?;
        let name = answers_name(self.next);
        let created = self.storage.create(&name).map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull => WriteFault::Full,
            _ => WriteFault::Failed(IoFailure::new("creating", &name, error)),
        });
        self.current.insert(class, Current { number: self.next, name, file: created?, is_named: false, is_dirty: false });
        self.next += 1;
        Ok(())
    }
}

/// Removes a file of answers that nobody needs.
pub(crate) fn remove(storage: &dyn Storage, number: u64) -> Result<(), IoFailure> {
    remove_if_there(storage, &answers_name(number))
}
