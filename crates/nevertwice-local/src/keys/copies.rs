//! Copies of a folder of keys: from one that nobody runs, or from a running store, into a backup; and from there into a folder anew.
//!
//! A copy is a snapshot, whose batch says as of when it is, the files of answers that it names, and a small manifest that comes last.
//! Files of answers never change what is in them: a later copy fetches what they have grown by, and those that are new. A file that
//! went while it was to be fetched held answers that were forgotten by then, or the copy is refused.
//!
//! A copy is no folder of keys: nobody serves it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use nevertwice_core::keys::KeyId;

use super::answers::{answers_name, is_answers};
use super::change::{Change, Kept};
use super::inspect::KeysInspection;
use super::reader::{Unreadable, read};
use super::records::Records;
use super::restore::restore;
use crate::backup::{BackupError, BackupProgress};
use crate::chance::{SystemChance, draw_seed};
use crate::clock::Stopwatch;
use crate::error::AppendError;
use crate::error::{IoFailure, OpenError};
use crate::folder::{Holds, JournalId, draw_id, inspect_marker_of, read_note, remove_if_there, write_marker_that_holds, write_small};
use crate::journal::{Floor, FrameBuffer, Journal, JournalOptions};
use crate::snapshot::{self, SnapshotWriter, snapshot_name};
use crate::source::{Piece, SourceError};
use crate::storage::{CLAIM_FILE, Storage};

const MANIFEST: &str = "keys.manifest";
const FIRST_LINE: &str = "nevertwice backup of keys";
const FORMAT: u32 = 1;
const FETCHING: &str = "fetching.tmp";

/// How much of a file is read at once.
const PIECE_BYTES: usize = 4 << 20;

/// Changes that are written together.
const GROUP_ITEMS: usize = 256;

/// How often a copy begins anew because the snapshot that it fetches went.
const BEGINNINGS_MAX: usize = 3;

/// By how much the clock there and the one here may differ in what they say of a time that passes.
const SLACK_MS: i64 = 60_000;

/// What a source of keys has, as of now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeysListing {
    /// The number of its journal.
    pub id: JournalId,
    /// After which batch the snapshot is.
    pub batch: u64,
    /// As of when it is, in milliseconds since 1970.
    pub at_ms: i64,
    /// What tells the right secret from another; none if nothing is noted.
    pub note: Option<Vec<u8>>,
}

/// Keys that can be copied. Its calls block.
pub trait KeysSource: Send {
    /// Makes a snapshot of all that is durable there, puts it into the folder, and says what it is. None: no keys are kept in a folder
    /// there.
    ///
    /// # Errors
    /// If it can't be made, read or written. [`SourceError::NoSnapshot`]: it went meanwhile.
    fn snapshot_keys(&mut self, into: &Arc<dyn Storage>) -> Result<Option<KeysListing>, SourceError>;

    /// The bytes of a file of answers, from `from` on: as many as the source likes to give at once.
    ///
    /// # Errors
    /// If it can't be read. [`SourceError::NoSnapshot`]: it is not there any more.
    fn answers(&mut self, name: &str, from: u64) -> Result<Piece, SourceError>;
}

/// A folder of keys that nobody runs, as a source.
pub struct KeysFolder {
    storage: Arc<dyn Storage>,
    id: JournalId,
    note: &'static str,
}

impl KeysFolder {
    /// Opens the folder, unless a process runs on it. `note` names the file that tells the right secret from another.
    ///
    /// # Errors
    /// If it is in use, of a newer version, or no folder of keys.
    pub fn open(storage: Arc<dyn Storage>, note: &'static str) -> Result<Self, OpenError> {
        let id = inspect_marker_of(Holds::Keys, storage.as_ref())?;
        Ok(Self { storage, id, note })
    }
}

impl KeysSource for KeysFolder {
    fn snapshot_keys(&mut self, into: &Arc<dyn Storage>) -> Result<Option<KeysListing>, SourceError> {
        let restored = restore(&self.storage, self.id, &SystemChance)?;
        if let Some(damage) = restored.damage {
            return Err(OpenError::from(damage).into());
        }
        if let Some(fault) = restored.files.fault() {
            return Err(fault.into());
        }
        // Nothing continues it: its place in the journal is of no use to anybody.
        let batch = restored.report.snapshot.unwrap_or(0).saturating_add(restored.report.changes);
        remove_if_there(into.as_ref(), &snapshot_name(batch))?;
        let mut writer = SnapshotWriter::create(Arc::clone(into), self.id, Floor { batch, crc: 0 })?;
        restored.records.save(&mut writer)?;
        writer.finish()?;
        let note = read_note(self.storage.as_ref(), self.note)?;
        Ok(Some(KeysListing { id: self.id, batch, at_ms: restored.records.last_at_ms(), note }))
    }

    fn answers(&mut self, name: &str, from: u64) -> Result<Piece, SourceError> {
        piece_of(self.storage.as_ref(), name, from)
    }
}

/// Puts the snapshot of keys after that batch into a folder, piece by piece.
///
/// # Errors
/// If it does not come, or not whole, or can't be written.
pub fn fetch_keys_snapshot(
    into: &dyn Storage,
    batch: u64,
    piece: &mut dyn FnMut(&str, u64) -> Result<Piece, SourceError>,
) -> Result<(), SourceError> {
    let name = snapshot_name(batch);
    remove_if_there(into, FETCHING)?;
    let file = into.create(FETCHING).map_err(IoFailure::of("creating", FETCHING))?;
    let mut at = 0;
    loop {
        let Piece { bytes, piece } = piece(&name, at)?;
        if piece.is_empty() && at == bytes {
            break;
        }
        if piece.is_empty() {
            return Err(SourceError::Bad(format!("{name} ended after {at} bytes of {bytes}")));
        }
        file.write_at(at, &piece).map_err(IoFailure::of("writing", FETCHING))?;
        at += piece.len() as u64;
    }
    file.sync_data().map_err(IoFailure::of("syncing", FETCHING))?;
    into.rename(FETCHING, &name).map_err(IoFailure::of("renaming", FETCHING))?;
    Ok(into.sync_folder().map_err(IoFailure::of("syncing the folder of", &name))?)
}

/// A piece of a snapshot of keys, or of a file of answers.
pub(crate) fn piece_of(storage: &dyn Storage, name: &str, from: u64) -> Result<Piece, SourceError> {
    if !is_answers(name) && !snapshot::is_snapshot(name) {
        return Err(SourceError::NoSnapshot);
    }
    let file = match storage.open(name) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(SourceError::NoSnapshot),
        Err(error) => return Err(IoFailure::new("opening", name, error).into()),
    };
    let bytes = file.size().map_err(IoFailure::of("measuring", name))?;
    let wanted = usize::try_from(bytes.saturating_sub(from)).unwrap_or(usize::MAX).min(PIECE_BYTES);
    let mut piece = vec![0; wanted];
    let read = file.read_at(from, &mut piece).map_err(IoFailure::of("reading", name))?;
    piece.truncate(read);
    Ok(Piece { bytes, piece })
}

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeysCopied {
    /// Keys that are still remembered as of the copy.
    pub records: u64,
    /// Of these, those with an answer whose bytes are kept.
    pub answers: u64,
    /// Bytes of answers that were read back and compared with their digests.
    pub answer_bytes: u64,
    /// As of when, in milliseconds since 1970.
    pub at_ms: i64,
}

/// Brings the copy of keys in `folder` up to what is durable at the source now; an empty folder becomes one. None: the source keeps no
/// keys in a folder, and nothing was done.
///
/// # Errors
/// If the source gives nothing, or what was read back is not what was fetched. What the copy held before still counts unless it is of
/// another folder of keys.
pub fn back_up_keys(
    folder: &Arc<dyn Storage>,
    source: &mut dyn KeysSource,
    progress: &mut dyn FnMut(BackupProgress),
) -> Result<Option<KeysCopied>, BackupError> {
    let _claim = claimed(folder.as_ref())?;
    for _ in 0..BEGINNINGS_MAX {
        let watch = Stopwatch::start();
        let listing = match source.snapshot_keys(folder) {
            Ok(Some(listing)) => listing,
            Ok(None) => return Ok(None),
            Err(SourceError::NoSnapshot) => continue,
            Err(error) => return Err(error.into()),
        };
        if let Some(before) = Manifest::read(folder.as_ref())?.filter(|before| before.id != listing.id) {
            let what = format!("its keys are of journal {}, and the server has {}", before.id, listing.id);
            return Err(BackupError::Differs { what });
        }
        let records = load(folder, listing.id, listing.batch)?;
        let gone = fetch(folder, source, &records, progress)?;
        let passed_ms = i64::try_from(watch.took().as_millis()).unwrap_or(i64::MAX);
        let end_ms = listing.at_ms.saturating_add(passed_ms).saturating_add(SLACK_MS);
        let copied = check(folder.as_ref(), &records, &gone, listing.at_ms, end_ms)?;
        let manifest = Manifest { id: listing.id, batch: listing.batch, at_ms: listing.at_ms, gone, note: listing.note };
        manifest.write(folder.as_ref())?;
        remove_others(folder.as_ref(), &manifest, &records)?;
        return Ok(Some(copied));
    }
    Err(SourceError::NoSnapshot.into())
}

/// Makes a folder of keys out of a copy; nothing, if it has no key. None: the folder is no copy of keys. The keys are those of the end of
/// the backup.
///
/// # Errors
/// If the copy is damaged, or the folder is not empty or can't be written. A folder that was begun and not finished is refused by
/// whoever opens it.
pub fn restore_keys(
    copy: &Arc<dyn Storage>,
    target: &Arc<dyn Storage>,
    note: &str,
    options: &JournalOptions,
) -> Result<Option<KeysCopied>, BackupError> {
    let Some(manifest) = Manifest::read(copy.as_ref())? else { return Ok(None) };
    let records = load(copy, manifest.id, manifest.batch)?;
    let copied = check(copy.as_ref(), &records, &manifest.gone, manifest.at_ms, i64::MAX)?;
    let names = target.list().map_err(IoFailure::of("listing", ""))?;
    if names.iter().any(|name| name != CLAIM_FILE) {
        return Err(BackupError::NotEmpty);
    }
    // Nobody needs the secret of keys that nobody has: a start makes another.
    if copied.records == 0 {
        return Ok(Some(copied));
    }
    let claim = claimed(target.as_ref())?;
    for (number, bytes) in needed(&records, &manifest) {
        copy_file(copy.as_ref(), target.as_ref(), &answers_name(number), bytes)?;
    }
    let id = draw_id(&SystemChance)?;
    let (mut journal, _) = Journal::begin(Arc::clone(target), id, None, options)?;
    let mut frame = FrameBuffer::new();
    frame.push(|bytes| bytes.extend_from_slice(&Change::Swept(records.swept_at()).encode()));
    for (key, kept) in kept_ones(&records, &manifest) {
        frame.push(|bytes| bytes.extend_from_slice(&Change::Key(*key, kept.clone()).encode()));
        if frame.entries() as usize >= GROUP_ITEMS {
            journal.append(&mut frame).map_err(into_failure)?;
        }
    }
    if frame.entries() > 0 {
        journal.append(&mut frame).map_err(into_failure)?;
    }
    journal.close().map_err(into_failure)?;
    if let Some(bytes) = &manifest.note {
        write_small(target.as_ref(), note, bytes)?;
    }
    write_marker_that_holds(Holds::Keys, target.as_ref(), id)?;
    drop(claim);
    let verdict = KeysInspection::open(Arc::clone(target))?.verify(|| {})?;
    let is_whole = verdict.faults.is_empty() && verdict.report.records == copied.records;
    if !is_whole {
        return Err(BackupError::invalid(format!(
            "its keys, read back: {:?}, {} of {}",
            verdict.faults, verdict.report.records, copied.records
        )));
    }
    Ok(Some(copied))
}

/// Reads a copy of keys and every answer in it. None: the folder is no copy of keys.
///
/// # Errors
/// If it is damaged or can't be read.
pub fn inspect_keys_copy(copy: &Arc<dyn Storage>) -> Result<Option<KeysCopied>, BackupError> {
    let Some(manifest) = Manifest::read(copy.as_ref())? else { return Ok(None) };
    let records = load(copy, manifest.id, manifest.batch)?;
    check(copy.as_ref(), &records, &manifest.gone, manifest.at_ms, i64::MAX).map(Some)
}

fn claimed(storage: &dyn Storage) -> Result<Box<dyn crate::storage::FolderClaim>, BackupError> {
    storage.claim().map_err(|error| match error.kind() {
        std::io::ErrorKind::WouldBlock => OpenError::InUse.into(),
        _ => IoFailure::new("claiming", "", error).into(),
    })
}

fn load(storage: &Arc<dyn Storage>, id: JournalId, batch: u64) -> Result<Records, BackupError> {
    let bad = |what: String| BackupError::invalid(format!("its keys in {}: {what}", snapshot_name(batch)));
    snapshot::verify(storage.as_ref(), id, batch)?.map_err(bad)?;
    Records::load(storage.as_ref(), id, batch, draw_seed(&SystemChance)?)?.map_err(bad)
}

/// Fetches what the files of answers have grown by, and says which of them are gone.
fn fetch(
    folder: &Arc<dyn Storage>,
    source: &mut dyn KeysSource,
    records: &Records,
    progress: &mut dyn FnMut(BackupProgress),
) -> Result<BTreeSet<u64>, BackupError> {
    let (files, mut gone, mut done_bytes) = (files_of(records.iter()), BTreeSet::new(), 0);
    let total_bytes = files.values().sum();
    for (number, bytes) in files {
        let name = answers_name(number);
        match fetch_file(folder.as_ref(), source, &name, bytes) {
            Ok(()) => {}
            Err(BackupError::Source(SourceError::NoSnapshot)) => drop(gone.insert(number)),
            Err(error) => return Err(error),
        }
        done_bytes += bytes;
        progress(BackupProgress { doing: "fetching the answers of keys", done_bytes, total_bytes });
    }
    Ok(gone)
}

fn fetch_file(folder: &dyn Storage, source: &mut dyn KeysSource, name: &str, bytes: u64) -> Result<(), BackupError> {
    let there = match folder.open(name) {
        Ok(file) => file.size().map_err(IoFailure::of("measuring", name))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
        Err(error) => return Err(IoFailure::new("opening", name, error).into()),
    };
    if there >= bytes {
        return Ok(());
    }
    remove_if_there(folder, FETCHING)?;
    let file = folder.create(FETCHING).map_err(IoFailure::of("creating", FETCHING))?;
    if there > 0 {
        copy_bytes(folder, name, file.as_ref(), there)?;
    }
    let mut at = there;
    while at < bytes {
        let piece = source.answers(name, at)?.piece;
        if piece.is_empty() {
            return Err(SourceError::Bad(format!("{name} ended after {at} bytes of {bytes}")).into());
        }
        file.write_at(at, &piece).map_err(IoFailure::of("writing", FETCHING))?;
        at += piece.len() as u64;
    }
    file.sync_data().map_err(IoFailure::of("syncing", FETCHING))?;
    folder.rename(FETCHING, name).map_err(IoFailure::of("renaming", FETCHING))?;
    Ok(folder.sync_folder().map_err(IoFailure::of("syncing the folder of", name))?)
}

fn copy_file(from: &dyn Storage, into: &dyn Storage, name: &str, bytes: u64) -> Result<(), IoFailure> {
    let file = into.create(name).map_err(IoFailure::of("creating", name))?;
    copy_bytes(from, name, file.as_ref(), bytes)?;
    file.sync_data().map_err(IoFailure::of("syncing", name))?;
    into.sync_folder().map_err(IoFailure::of("syncing the folder of", name))
}

fn copy_bytes(from: &dyn Storage, name: &str, into: &dyn crate::storage::StorageFile, bytes: u64) -> Result<(), IoFailure> {
    let file = from.open(name).map_err(IoFailure::of("opening", name))?;
    let (mut at, mut chunk) = (0, vec![0; PIECE_BYTES]);
    while at < bytes {
        let wanted = usize::try_from(bytes - at).unwrap_or(usize::MAX).min(PIECE_BYTES);
        let read = file.read_at(at, &mut chunk[..wanted]).map_err(IoFailure::of("reading", name))?;
        if read == 0 {
            // Whoever reads it back finds that it is short.
            break;
        }
        into.write_at(at, &chunk[..read]).map_err(IoFailure::of("writing", name))?;
        at += read as u64;
    }
    Ok(())
}

/// Reads every answer back, and counts what is still remembered as of the copy. `end_ms`: when the last file was fetched.
fn check(storage: &dyn Storage, records: &Records, gone: &BTreeSet<u64>, at_ms: i64, end_ms: i64) -> Result<KeysCopied, BackupError> {
    let mut copied = KeysCopied { at_ms, ..KeysCopied::default() };
    for (key, kept) in records.iter() {
        let is_gone = kept.place.is_some_and(|place| gone.contains(&place.file));
        if is_gone && kept.record.forgotten_at() > end_ms {
            return Err(BackupError::invalid(format!("the answer of {key:?} went from the source while it was still remembered")));
        }
        if is_gone || kept.record.forgotten_at() <= at_ms {
            continue;
        }
        copied.records += 1;
        let (Some(place), nevertwice_core::keys::KeyState::Completed(completion)) = (kept.place, &kept.record.state) else { continue };
        match read(storage, place, &completion.answer) {
            Ok(bytes) => {
                copied.answers += 1;
                copied.answer_bytes += (bytes.head.len() + bytes.body.len()) as u64;
            }
            Err(Unreadable::Refused(failure)) => return Err(failure.into()),
            Err(Unreadable::Damaged(what)) => {
                let name = answers_name(place.file);
                return Err(BackupError::invalid(format!("its file {name} at byte {}: {what}", place.offset)));
            }
        }
    }
    Ok(copied)
}

/// The records that a restored folder has.
fn kept_ones<'a>(records: &'a Records, manifest: &'a Manifest) -> impl Iterator<Item = (&'a KeyId, &'a Kept)> {
    let is_kept = move |kept: &Kept| {
        let is_gone = kept.place.is_some_and(|place| manifest.gone.contains(&place.file));
        !is_gone && kept.record.forgotten_at() > manifest.at_ms
    };
    records.iter().filter(move |(_, kept)| is_kept(kept))
}

fn needed(records: &Records, manifest: &Manifest) -> BTreeMap<u64, u64> {
    files_of(kept_ones(records, manifest))
}

/// The files in which the answers lie, and up to where.
fn files_of<'a>(kept: impl Iterator<Item = (&'a KeyId, &'a Kept)>) -> BTreeMap<u64, u64> {
    let mut files: BTreeMap<u64, u64> = BTreeMap::new();
    for (place, kept) in kept.filter_map(|(_, kept)| Some((kept.place?, kept))) {
        let end = files.entry(place.file).or_default();
        *end = (*end).max(place.offset.saturating_add(kept.answer_bytes()));
    }
    files
}

fn remove_others(storage: &dyn Storage, manifest: &Manifest, records: &Records) -> Result<(), BackupError> {
    let files = files_of(records.iter());
    for name in storage.list().map_err(IoFailure::of("listing", ""))? {
        let is_named = name == snapshot_name(manifest.batch) || files.keys().any(|number| answers_name(*number) == name);
        if (snapshot::is_snapshot(&name) || is_answers(&name)) && !is_named {
            remove_if_there(storage, &name)?;
        }
    }
    Ok(())
}

fn into_failure(error: AppendError) -> BackupError {
    match error {
        AppendError::Failed(failure) => failure.into(),
        other => {
            let kind = if matches!(other, AppendError::Full) { std::io::ErrorKind::StorageFull } else { std::io::ErrorKind::Other };
            IoFailure::new("writing", "the journal of keys", std::io::Error::new(kind, other.to_string())).into()
        }
    }
}

/// What is in a copy of keys, as lines of text with a checksum at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Manifest {
    id: JournalId,
    batch: u64,
    at_ms: i64,
    /// Files of answers that went before they were fetched.
    gone: BTreeSet<u64>,
    note: Option<Vec<u8>>,
}

impl Manifest {
    fn read(storage: &dyn Storage) -> Result<Option<Manifest>, BackupError> {
        let bytes = match storage.read(MANIFEST) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(IoFailure::new("reading", MANIFEST, error).into()),
        };
        let text = String::from_utf8_lossy(&bytes);
        match parse(&text) {
            Some(manifest) if manifest.text() == text => Ok(Some(manifest)),
            _ => Err(BackupError::invalid(format!("its file {MANIFEST:?} is damaged, or a newer version wrote it"))),
        }
    }

    fn write(&self, storage: &dyn Storage) -> Result<(), IoFailure> {
        write_small(storage, MANIFEST, self.text().as_bytes())
    }

    fn text(&self) -> String {
        let mut text = format!("{FIRST_LINE}\nformat {FORMAT}\njournal {}\nbatch {}\nat_ms {}\n", self.id, self.batch, self.at_ms);
        // Writing to a String cannot fail.
        for number in &self.gone {
            let _ = writeln!(text, "gone {number}");
        }
        if let Some(note) = &self.note {
            let digits: String = note.iter().map(|byte| format!("{byte:02x}")).collect();
            let _ = writeln!(text, "note {digits}");
        }
        let check = crc32c::crc32c(text.as_bytes());
        let _ = writeln!(text, "check {check:08x}");
        text
    }
}

/// Reads a manifest, leniently: whoever asks compares it with what this one would be written as.
fn parse(text: &str) -> Option<Manifest> {
    let mut lines = text.lines();
    let field = |line: Option<&str>, name: &str| line?.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned);
    (lines.next() == Some(FIRST_LINE) && field(lines.next(), "format")?.parse() == Ok(FORMAT)).then_some(())?;
    let id = field(lines.next(), "journal")?.parse().ok()?;
    let batch = field(lines.next(), "batch")?.parse().ok()?;
    let at_ms = field(lines.next(), "at_ms")?.parse().ok()?;
    let mut manifest = Manifest { id, batch, at_ms, gone: BTreeSet::new(), note: None };
    for line in lines {
        match line.split_once(' ')? {
            ("gone", number) => drop(manifest.gone.insert(number.parse().ok()?)),
            ("note", digits) if digits.is_ascii() && digits.len() % 2 == 0 => {
                let bytes = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok());
                manifest.note = Some(bytes.collect::<Option<_>>()?);
            }
            ("check", _) => {}
            _ => return None,
        }
    }
    Some(manifest)
}
