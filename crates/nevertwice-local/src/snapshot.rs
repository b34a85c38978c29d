//! Snapshots: files of opaque records that hold the state after some batch.
//!
//! A snapshot counts only when it is complete: written under another name, synced, renamed, the folder synced, and
//! then read back. It says where in the journal it continues (batch number and that frame's checksum, so it is not
//! taken for one of another history). All integers are little-endian.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | magic, `nvtS` |
//! | 4 | 2 | format version, 1 |
//! | 6 | 2 | zero |
//! | 8 | 8 | journal id |
//! | 16 | 8 | the last batch that is in it |
//! | 24 | 4 | CRC32C of that batch's frame |
//! | 28 | 4 | CRC32C of bytes 0 to 27 |
//! | 32 | | records: length (4 bytes, under 2^32 - 1), bytes |
//! | | 4 | the end: 2^32 - 1 in the place of a length |
//! | | 8 | number of records |
//! | | 4 | CRC32C of everything before |

use std::sync::Arc;

use crate::error::{IoFailure, OpenError};
use crate::folder::{JournalId, remove_if_there};
use crate::journal::Floor;
use crate::storage::{Storage, StorageFile};

const PREFIX: &str = "snapshot-";
const SUFFIX: &str = ".records";
const WRITING: &str = "snapshot.tmp";

const MAGIC: [u8; 4] = *b"nvtS";
const VERSION: u16 = 1;
const HEADER_BYTES: usize = 32;
const FOOTER_BYTES: usize = 16;
const END: u32 = u32::MAX;

/// How much is written, synced and read at once: little, so that the syncs of the journal do not queue behind it.
const CHUNK_BYTES: usize = 1 << 20;
/// The largest record.
pub const RECORD_BYTES_MAX: usize = 1 << 26;

/// A snapshot that was read from the disk whole and found good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// What it holds.
    pub floor: Floor,
    /// How many records.
    pub records: u64,
    /// How long it is.
    pub bytes: u64,
}

/// The file name of the snapshot after `batch`.
pub fn snapshot_name(batch: u64) -> String {
    format!("{PREFIX}{batch:020}{SUFFIX}")
}

/// The batch in a snapshot's file name.
pub fn snapshot_batch(name: &str) -> Option<u64> {
    let batch = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok()?;
    // Only the name that it would be given: a file of any other is somebody else's.
    (snapshot_name(batch) == name).then_some(batch)
}

/// Whether a file of this name is a snapshot.
pub fn is_snapshot(name: &str) -> bool {
    snapshot_batch(name).is_some()
}

/// The batches of all snapshots by name, the newest first; whether they are good is not looked at.
pub fn list(storage: &dyn Storage) -> Result<Vec<u64>, IoFailure> {
    let names = storage.list().map_err(IoFailure::of("listing", ""))?;
    let mut batches: Vec<u64> = names.iter().filter_map(|name| snapshot_batch(name)).collect();
    batches.sort_unstable_by(|a, b| b.cmp(a));
    Ok(batches)
}

/// How long the snapshot after `batch` is; `None` if there is none.
pub(crate) fn size(storage: &dyn Storage, batch: u64) -> Result<Option<u64>, IoFailure> {
    let name = snapshot_name(batch);
    match storage.open(&name).and_then(|file| file.size()) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(IoFailure::new("measuring", &name, error)),
    }
}

/// The length of the snapshot after `batch`, and up to `bytes_max` of its bytes from `from` on; `None` if there is none.
pub(crate) fn read_piece(storage: &dyn Storage, batch: u64, from: u64, bytes_max: usize) -> Result<Option<(u64, Vec<u8>)>, IoFailure> {
    let name = snapshot_name(batch);
    let file = match storage.open(&name) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(IoFailure::new("opening", &name, error)),
    };
    let bytes = file.size().map_err(IoFailure::of("measuring", &name))?;
    let wanted = usize::try_from(bytes.saturating_sub(from)).unwrap_or(usize::MAX).min(bytes_max);
    let mut piece = vec![0; wanted];
    let read = file.read_at(from, &mut piece).map_err(IoFailure::of("reading", &name))?;
    piece.truncate(read);
    Ok(Some((bytes, piece)))
}

/// Removes all snapshots but the two that are named.
pub fn prune(storage: &dyn Storage, keep: [u64; 2]) -> Result<(), IoFailure> {
    for batch in list(storage)? {
        if !keep.contains(&batch) {
            remove_if_there(storage, &snapshot_name(batch))?;
        }
    }
    storage.sync_folder().map_err(IoFailure::of("syncing the folder of", WRITING))
}

/// Writes one snapshot.
pub struct SnapshotWriter {
    storage: Arc<dyn Storage>,
    id: JournalId,
    floor: Floor,
    file: Box<dyn StorageFile>,
    chunk: Vec<u8>,
    written: u64,
    crc: u32,
    records: u64,
}

impl SnapshotWriter {
    /// Begins the snapshot after `floor.batch`.
    pub fn create(storage: Arc<dyn Storage>, id: JournalId, floor: Floor) -> Result<SnapshotWriter, IoFailure> {
        remove_if_there(storage.as_ref(), WRITING)?;
        let file = storage.create(WRITING).map_err(IoFailure::of("creating", WRITING))?;
        let mut chunk = Vec::with_capacity(CHUNK_BYTES + HEADER_BYTES);
        chunk.extend_from_slice(&header(id, floor));
        Ok(SnapshotWriter { storage, id, floor, file, chunk, written: 0, crc: 0, records: 0 })
    }

    /// Adds a record.
    pub fn record(&mut self, record: &[u8]) -> Result<(), IoFailure> {
        assert!(record.len() <= RECORD_BYTES_MAX, "a record is at most {RECORD_BYTES_MAX} bytes");
        self.chunk.extend_from_slice(&(record.len() as u32).to_le_bytes());
        self.chunk.extend_from_slice(record);
        self.records += 1;
        if self.chunk.len() >= CHUNK_BYTES { self.write_chunk() } else { Ok(()) }
    }

    /// Ends it, gives it its name, and reads it back. An error leaves the snapshots before it as they were.
    pub fn finish(mut self) -> Result<Verified, OpenError> {
        self.chunk.extend_from_slice(&END.to_le_bytes());
        self.chunk.extend_from_slice(&self.records.to_le_bytes());
        let crc = crc32c::crc32c_append(self.crc, &self.chunk);
        self.chunk.extend_from_slice(&crc.to_le_bytes());
        self.write_chunk()?;
        let name = snapshot_name(self.floor.batch);
        self.storage.rename(WRITING, &name).map_err(IoFailure::of("renaming", WRITING))?;
        self.storage.sync_folder().map_err(IoFailure::of("syncing the folder of", &name))?;
        let unreadable = |what: String| OpenError::Io(IoFailure::new("verifying", &name, std::io::Error::other(what)));
        match verify(self.storage.as_ref(), self.id, self.floor.batch)? {
            Ok(verified) if verified.floor == self.floor && verified.records == self.records => Ok(verified),
            Ok(_) => Err(unreadable("it is not what was written".to_owned())),
            Err(bad) => Err(unreadable(bad)),
        }
    }

    fn write_chunk(&mut self) -> Result<(), IoFailure> {
        self.crc = crc32c::crc32c_append(self.crc, &self.chunk);
        self.file.write_at(self.written, &self.chunk).map_err(IoFailure::of("writing", WRITING))?;
        self.file.sync_data().map_err(IoFailure::of("syncing", WRITING))?;
        self.written += self.chunk.len() as u64;
        self.chunk.clear();
        Ok(())
    }
}

/// The newest snapshot that is good, and the names of newer ones that are not.
///
/// # Errors
/// If one cannot be read, or a later version wrote it: then the one before is no substitute.
pub fn newest(storage: &dyn Storage, id: JournalId) -> Result<(Option<Verified>, Vec<String>), OpenError> {
    let mut bad = Vec::new();
    for batch in list(storage)? {
        match verify(storage, id, batch)? {
            Ok(verified) => return Ok((Some(verified), bad)),
            Err(what) => {
                let name = snapshot_name(batch);
                tracing::warn!(name, what, "a snapshot does not count: falling back to the one before");
                bad.push(name);
            }
        }
    }
    Ok((None, bad))
}

/// A snapshot's batch, and what it holds or why it does not count.
pub type Checked = (u64, Result<Verified, String>);

/// Reads all of them, the newest first.
///
/// # Errors
/// If one cannot be read, or a later version wrote it.
pub fn verify_all(storage: &dyn Storage, id: JournalId) -> Result<Vec<Checked>, OpenError> {
    list(storage)?.into_iter().map(|batch| Ok((batch, verify(storage, id, batch)?))).collect()
}

/// Those that count, the newest last.
///
/// # Errors
/// If one cannot be read, or a later version wrote it.
pub(crate) fn good(storage: &dyn Storage, id: JournalId) -> Result<Vec<Verified>, OpenError> {
    Ok(verify_all(storage, id)?.into_iter().rev().filter_map(|(_, verified)| verified.ok()).collect())
}

/// Reads the snapshot after `batch` whole. The inner error says why it does not count.
///
/// # Errors
/// If it cannot be read, or a later version wrote it.
pub fn verify(storage: &dyn Storage, id: JournalId, batch: u64) -> Result<Result<Verified, String>, OpenError> {
    let mut reader = match SnapshotReader::open(storage, id, batch)? {
        Ok(reader) => reader,
        Err(bad) => return Ok(Err(bad)),
    };
    loop {
        match reader.next_record() {
            Ok(Some(_)) => {}
            Ok(None) => {
                let (floor, records, bytes) = (reader.floor, reader.records, reader.bytes.len);
                return Ok(Ok(Verified { floor, records, bytes }));
            }
            Err(ReadError::Bad(bad)) => return Ok(Err(bad)),
            Err(ReadError::Io(failure)) => return Err(failure.into()),
        }
    }
}

/// Writes a snapshot again as one of another journal, in which `floor` is its batch. The inner error says why it does not count.
pub(crate) fn copy(
    from: &dyn Storage,
    from_id: JournalId,
    batch: u64,
    into: &Arc<dyn Storage>,
    into_id: JournalId,
    floor: Floor,
) -> Result<Result<Verified, String>, OpenError> {
    let mut reader = match SnapshotReader::open(from, from_id, batch)? {
        Ok(reader) => reader,
        Err(bad) => return Ok(Err(bad)),
    };
    let mut writer = SnapshotWriter::create(Arc::clone(into), into_id, floor)?;
    loop {
        match reader.next_record() {
            Ok(Some(record)) => writer.record(record)?,
            Ok(None) => return Ok(Ok(writer.finish()?)),
            Err(ReadError::Bad(bad)) => return Ok(Err(bad)),
            Err(ReadError::Io(failure)) => return Err(failure.into()),
        }
    }
}

/// Why a snapshot is not read on.
#[derive(Debug)]
pub enum ReadError {
    /// It does not count.
    Bad(String),
    /// The operating system refused.
    Io(IoFailure),
}

impl From<IoFailure> for ReadError {
    fn from(failure: IoFailure) -> ReadError {
        ReadError::Io(failure)
    }
}

/// Reads a snapshot's records, in order. The checksum is at the end, so [`verify`] it before acting on what it holds.
pub struct SnapshotReader {
    bytes: Forward,
    floor: Floor,
    records: u64,
    ended: bool,
}

impl SnapshotReader {
    /// Opens the snapshot after `batch`. The inner error says why it does not count.
    ///
    /// # Errors
    /// If it cannot be read, or a later version wrote it.
    pub fn open(storage: &dyn Storage, id: JournalId, batch: u64) -> Result<Result<SnapshotReader, String>, OpenError> {
        let name = snapshot_name(batch);
        let file = storage.open(&name).map_err(IoFailure::of("opening", &name))?;
        let len = file.size().map_err(IoFailure::of("measuring", &name))?;
        let mut bytes = Forward { file, name, len, at: 0, window: Vec::new(), start: 0, crc: 0 };
        let Some(head) = bytes.next(HEADER_BYTES)? else { return Ok(Err("it is shorter than its header".to_owned())) };
        if let Some(found) = later_version(head, id) {
            return Err(OpenError::TooNew { what: "a snapshot", found, supported: u32::from(VERSION) });
        }
        let floor = Floor { batch, crc: u32_at(head, 24) };
        if batch == u64::MAX || head != header(id, floor) {
            return Ok(Err("its header is damaged, or of another folder or version".to_owned()));
        }
        Ok(Ok(SnapshotReader { bytes, floor, records: 0, ended: false }))
    }

    /// What it holds the state after.
    pub fn floor(&self) -> Floor {
        self.floor
    }

    /// The next record; none once all were read and the end was found good.
    pub fn next_record(&mut self) -> Result<Option<&[u8]>, ReadError> {
        let bad = |what: &str| Err(ReadError::Bad(what.to_owned()));
        if self.ended {
            return Ok(None);
        }
        let Some(length) = self.bytes.next(4)? else { return bad("it ends early") };
        let length = u32_at(length, 0);
        if length != END {
            if length as usize > RECORD_BYTES_MAX {
                return bad("a record is longer than any can be");
            }
            self.records += 1;
            return match self.bytes.next(length as usize)? {
                Some(record) => Ok(Some(record)),
                None => bad("it ends inside a record"),
            };
        }
        let Some(count) = self.bytes.next(8)? else { return bad("it ends before its number of records") };
        let count = u64::from(u32_at(count, 0)) | u64::from(u32_at(count, 4)) << 32;
        let crc_here = self.bytes.crc;
        let Some(crc_there) = self.bytes.next(4)? else { return bad("it ends before its checksum") };
        if u32_at(crc_there, 0) != crc_here {
            return bad("its checksum is wrong");
        }
        if count != self.records || self.bytes.at != self.bytes.len {
            return bad("its number of records or its length is wrong");
        }
        self.ended = true;
        Ok(None)
    }
}

const _: () = assert!(FOOTER_BYTES == 4 + 8 + 4);

fn header(id: JournalId, floor: Floor) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[0..4].copy_from_slice(&MAGIC);
    bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
    bytes[8..16].copy_from_slice(&id.0.to_le_bytes());
    bytes[16..24].copy_from_slice(&floor.batch.to_le_bytes());
    bytes[24..28].copy_from_slice(&floor.crc.to_le_bytes());
    let crc = crc32c::crc32c(&bytes[..28]);
    bytes[28..32].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// The version of a good header of this journal that a later version wrote. Whatever it changes, it keeps the magic, the place of
/// the version, the journal id and the header's checksum.
fn later_version(head: &[u8], id: JournalId) -> Option<u32> {
    let version = u16::from_le_bytes([head[4], head[5]]);
    let is_good = head[0..4] == MAGIC && head[8..16] == id.0.to_le_bytes() && u32_at(head, 28) == crc32c::crc32c(&head[..28]);
    (is_good && version > VERSION).then_some(u32::from(version))
}

/// Reads a file once from front to end, summing up the checksum of what was handed out.
struct Forward {
    file: Box<dyn StorageFile>,
    name: String,
    len: u64,
    /// The end of what was handed out.
    at: u64,
    window: Vec<u8>,
    /// Where in the window the next bytes are.
    start: usize,
    crc: u32,
}

impl Forward {
    /// The next `len` bytes, or `None` if the file ends before.
    fn next(&mut self, len: usize) -> Result<Option<&[u8]>, IoFailure> {
        if len as u64 > self.len - self.at {
            return Ok(None);
        }
        if self.window.len() - self.start < len {
            let wanted = len.max(CHUNK_BYTES).min(usize::try_from(self.len - self.at).unwrap_or(len));
            self.window.resize(wanted, 0);
            self.start = 0;
            let read = self.file.read_at(self.at, &mut self.window).map_err(IoFailure::of("reading", &self.name))?;
            self.window.truncate(read);
            if read < len {
                return Ok(None);
            }
        }
        let bytes = &self.window[self.start..self.start + len];
        self.crc = crc32c::crc32c_append(self.crc, bytes);
        self.start += len;
        self.at += len as u64;
        Ok(Some(bytes))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
