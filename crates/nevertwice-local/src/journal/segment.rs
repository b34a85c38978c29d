//! Segments: their names, and the zeros that are written before they are used.
//!
//! A segment is filled and synced under another name, then renamed, and the folder is synced: so whoever finds a
//! segment finds its whole length allocated, and a sync of a frame has no metadata to write. (`fallocate` alone was
//! measured to be no faster than appending: its first write to each block still changes metadata.)

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::IoFailure;
use crate::folder::remove_if_there;
use crate::storage::{Storage, StorageFile};

const PREFIX: &str = "journal-";
const SUFFIX: &str = ".segment";
/// What a segment is called while it is being filled.
pub(crate) const FILLING: &str = "segment.tmp";

/// How much is filled between two syncs: little, so that the syncs of frames do not queue behind a long one. (Measured: with
/// 1 MiB one sync in twenty took over 2 ms, with 128 KiB one in three hundred.)
const FILL_BYTES: usize = 128 << 10;
/// The same where nobody is served yet.
const FILL_AT_ONCE_BYTES: usize = 4 << 20;
/// How long to wait before a full disk is tried again.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// The file name of a segment.
pub(crate) fn segment_name(number: u64) -> String {
    format!("{PREFIX}{number:020}{SUFFIX}")
}

/// The number in a segment's file name.
pub(crate) fn segment_number(name: &str) -> Option<u64> {
    let number = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok()?;
    // Only the name that it would be given: a file of any other is somebody else's.
    (segment_name(number) == name).then_some(number)
}

/// Whether a file of this name is a segment.
pub fn is_segment(name: &str) -> bool {
    segment_number(name).is_some()
}

/// A segment that is allocated, synced and named.
pub(crate) struct Segment {
    pub(crate) number: u64,
    pub(crate) name: String,
    pub(crate) len: u64,
    pub(crate) file: Box<dyn StorageFile>,
}

/// Makes a segment that begins with `head` (as one does that a recovery makes) and is zeros from there on. It appears under its name whole or not at all.
pub(crate) fn make_segment(storage: &dyn Storage, number: u64, head: &[u8], len: u64) -> Result<Segment, IoFailure> {
    let step = if head.is_empty() { FILL_BYTES } else { FILL_AT_ONCE_BYTES };
    let name = segment_name(number);
    remove_if_there(storage, FILLING)?;
    let made = fill(storage, head, len, step).and_then(|file| {
        storage.rename(FILLING, &name).map_err(IoFailure::of("renaming", FILLING))?;
        storage.sync_folder().map_err(IoFailure::of("syncing the folder of", &name))?;
        Ok(file)
    });
    match made {
        Ok(file) => Ok(Segment { number, name, len, file }),
        Err(failure) => {
            // A half-filled file would keep the disk full.
            let _ = storage.remove(FILLING);
            Err(failure)
        }
    }
}

fn fill(storage: &dyn Storage, head: &[u8], len: u64, step: usize) -> Result<Box<dyn StorageFile>, IoFailure> {
    let file = storage.create(FILLING).map_err(IoFailure::of("creating", FILLING))?;
    if !head.is_empty() {
        file.write_at(0, head).map_err(IoFailure::of("writing", FILLING))?;
    }
    let zeros = vec![0; step.min(len as usize)];
    let mut at = head.len() as u64;
    while at < len {
        let more = zeros.len().min((len - at) as usize);
        file.write_at(at, &zeros[..more]).map_err(IoFailure::of("filling", FILLING))?;
        file.sync_data().map_err(IoFailure::of("syncing", FILLING))?;
        at += more as u64;
    }
    if head.len() as u64 >= len {
        file.sync_data().map_err(IoFailure::of("syncing", FILLING))?;
    }
    Ok(file)
}

/// Why there is no next segment.
pub(crate) enum NoSegment {
    /// The disk is full; it is tried again.
    Full,
    /// Anything else, for good.
    Failed(IoFailure),
}

/// Fills segments ahead of need, on a thread of its own unless `ahead` is 0.
pub(crate) struct Preparer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    storage: Arc<dyn Storage>,
    segment_bytes: u64,
    ahead: usize,
    shelf: Mutex<Shelf>,
    changed: Condvar,
}

struct Shelf {
    ready: VecDeque<Segment>,
    next_number: u64,
    full: bool,
    failed: Option<IoFailure>,
    stop: bool,
}

impl Preparer {
    pub(crate) fn start(storage: Arc<dyn Storage>, next_number: u64, segment_bytes: u64, ahead: usize) -> Result<Preparer, IoFailure> {
        let shelf = Shelf { ready: VecDeque::new(), next_number, full: false, failed: None, stop: false };
        let shared = Arc::new(Shared { storage, segment_bytes, ahead, shelf: Mutex::new(shelf), changed: Condvar::new() });
        let thread = if ahead == 0 {
            None
        } else {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name("segment-preparer".to_owned()).spawn(move || shared.run());
            Some(thread.map_err(IoFailure::of("starting a thread for", FILLING))?)
        };
        Ok(Preparer { shared, thread })
    }

    /// The next segment: at once if one is ready, else as soon as it is filled.
    pub(crate) fn take(&self) -> Result<Segment, NoSegment> {
        let shared = &self.shared;
        let mut shelf = shared.shelf();
        if shared.ahead == 0 {
            return shared.make_next(&mut shelf);
        }
        loop {
            if let Some(segment) = shelf.ready.pop_front() {
                shared.changed.notify_all();
                return Ok(segment);
            }
            if let Some(failure) = shelf.failed.take() {
                return Err(NoSegment::Failed(failure));
            }
            if shelf.full {
                return Err(NoSegment::Full);
            }
            shelf = shared.changed.wait(shelf).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether the disk was full when a segment was last filled.
    pub(crate) fn is_full(&self) -> bool {
        self.shared.shelf().full
    }

    /// The bytes that are ready.
    pub(crate) fn ready_bytes(&self) -> u64 {
        self.shared.shelf().ready.iter().map(|segment| segment.len).sum()
    }
}

impl Drop for Preparer {
    fn drop(&mut self) {
        self.shared.shelf().stop = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Without a thread: fills the next segment while the writer waits.
    fn make_next(&self, shelf: &mut Shelf) -> Result<Segment, NoSegment> {
        match make_segment(self.storage.as_ref(), shelf.next_number, &[], self.segment_bytes) {
            Ok(segment) => {
                shelf.next_number += 1;
                shelf.full = false;
                Ok(segment)
            }
            Err(failure) if failure.source.kind() == io::ErrorKind::StorageFull => {
                shelf.full = true;
                Err(NoSegment::Full)
            }
            Err(failure) => Err(NoSegment::Failed(failure)),
        }
    }

    fn run(&self) {
        let mut shelf = self.shelf();
        while !shelf.stop && shelf.failed.is_none() {
            if shelf.ready.len() >= self.ahead {
                shelf = self.changed.wait(shelf).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let number = shelf.next_number;
            drop(shelf);
            let made = make_segment(self.storage.as_ref(), number, &[], self.segment_bytes);
            shelf = self.shelf();
            match made {
                Ok(segment) => {
                    shelf.next_number += 1;
                    shelf.full = false;
                    shelf.ready.push_back(segment);
                }
                Err(failure) if failure.source.kind() == io::ErrorKind::StorageFull => {
                    if !shelf.full {
                        tracing::warn!(segment = number, "no room for the next segment: the disk is full");
                    }
                    shelf.full = true;
                    self.changed.notify_all();
                    let waited = self.changed.wait_timeout(shelf, RETRY_AFTER);
                    shelf = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                Err(failure) => {
                    tracing::error!(segment = number, %failure, "the next segment cannot be made");
                    shelf.failed = Some(failure);
                }
            }
            self.changed.notify_all();
        }
    }
}
