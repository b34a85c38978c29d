//! Makes a data folder out of a backup, which ends exactly at a position: the batches up to it are written again as a journal
//! of its own, closed by a seal whose epoch nobody can have used since.

use std::ops::ControlFlow;
use std::sync::Arc;

use nevertwice_api::encoding::decode_fact;
use nevertwice_api::{FolderDeed, FolderFact, FolderPlace};
use nevertwice_core::{Position, ShardId, State};

use super::error::BackupError;
use super::manifest::{ShardAt, StoredSnapshot};
use super::reader::{BackupReader, shards_at};
use super::run::BackupProgress;
use crate::audit::{AuditCopier, CopiedAudit, FrameWriter};
use crate::chance::SystemChance;
use crate::error::{AppendError, Damage, IoFailure, OpenError};
use crate::folder::{JournalId, draw_epoch, draw_id, write_marker_of, write_small};
use crate::inspect::Inspection;
use crate::journal::{Copied, Frame, Journal, JournalOptions};
use crate::snapshot;
use crate::states::{Items, States, folder_payload};
use crate::storage::{CLAIM_FILE, Storage};

/// How much is written with one sync.
const GROUP_BYTES: usize = 4 << 20;
/// A file of the restored audit is not begun over this length.
const AUDIT_FILE_BYTES: u64 = 64 << 20;

/// Where a restored folder is to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Goal {
    /// At the backup's last batch.
    Latest,
    /// After that batch.
    Batch(u64),
    /// Right after that entry: what was decided later is not there, in no shard.
    Shard(ShardId, Position),
}

/// A folder to restore into.
pub struct Target<'a> {
    /// The folder, which must be empty.
    pub storage: Arc<dyn Storage>,
    /// How its journal is laid out.
    pub options: &'a JournalOptions,
    /// The time, in milliseconds since 1970: its audit tells when it was made.
    pub at_ms: i64,
    /// Whether the backup's audit is left aside, as if it had none: for one that is damaged.
    pub without_audit: bool,
}

/// What was restored, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The last batch.
    pub batch: u64,
    /// How many entries of it; all of them unless the goal lies within it.
    pub entries_of_batch: u32,
    /// How many batches of the backup are left out.
    pub batches_left_out: u64,
    /// The shards there.
    pub shards: Vec<ShardAt>,
    /// What operators did up to there; none for a dry run.
    pub audit: Option<CopiedAudit>,
    /// The epoch of the seal that closes the folder; the first start takes the next one. 0 for a dry run.
    pub epoch: u32,
}

/// Where the goal lies.
struct End {
    start: Option<StoredSnapshot>,
    batch: u64,
    /// How much of that batch: entries, and the length of their part of the payload.
    entries: u32,
    payload_len: usize,
}

/// Restores into `target`, which must be empty; without one it is only looked where that would end.
///
/// # Errors
/// If the goal is not in the backup, the backup is damaged, or the folder is not empty or cannot be written. A folder that was
/// begun and not finished is refused by whoever opens it.
pub fn restore_to(
    backup: &BackupReader,
    goal: &Goal,
    target: Option<Target<'_>>,
    progress: &mut dyn FnMut(BackupProgress),
) -> Result<Restored, BackupError> {
    let mut meter = Meter { progress, total_bytes: backup.manifest().segments.iter().map(|extent| extent.bytes).sum() };
    let (end, states) = find(backup, goal, &mut meter.of("looking for the position"))?;
    let mut restored = Restored {
        batch: end.batch,
        entries_of_batch: end.entries,
        batches_left_out: backup.manifest().batch - end.batch,
        shards: shards_at(&states),
        audit: None,
        epoch: 0,
    };
    let Some(target) = target else { return Ok(restored) };
    let written = write(backup, &end, &states, &target, &mut meter)?;
    drop(states);
    (restored.epoch, restored.audit) = (written.0, Some(written.1));
    let contents = Inspection::open(target.storage)?.contents()?;
    if let Some(damage) = contents.damage {
        return Err(OpenError::from(damage).into());
    }
    if shards_at(&contents.states) != restored.shards {
        let what = "the folder that was written makes other states than the backup".to_owned();
        return Err(OpenError::from(Damage { segment: 0, offset: 0, what }).into());
    }
    Ok(restored)
}

struct Meter<'a> {
    progress: &'a mut dyn FnMut(BackupProgress),
    total_bytes: u64,
}

impl Meter<'_> {
    /// Adds up what is done of one thing.
    fn of(&mut self, doing: &'static str) -> impl FnMut(u64) {
        let mut done_bytes = 0;
        move |bytes| {
            done_bytes += bytes;
            (self.progress)(BackupProgress { doing, done_bytes, total_bytes: self.total_bytes });
        }
    }
}

/// Applies the backup up to the goal.
fn find(backup: &BackupReader, goal: &Goal, progress: &mut dyn FnMut(u64)) -> Result<(End, States), BackupError> {
    let last = backup.manifest().batch;
    match goal {
        Goal::Latest => upto(backup, last, progress),
        Goal::Batch(batch) => {
            let first = backup.first_end();
            if !(first..=last).contains(batch) {
                return Err(BackupError::BatchOutside { batch: *batch, first, last });
            }
            upto(backup, *batch, progress)
        }
        Goal::Shard(shard, position) => at_entry(backup, shard, *position, progress),
    }
}

fn upto(backup: &BackupReader, batch: u64, progress: &mut dyn FnMut(u64)) -> Result<(End, States), BackupError> {
    let start = backup.starts(batch).first().copied().flatten();
    let (mut states, after) = backup.load(start)?;
    let mut end = End { start, batch, entries: 0, payload_len: 0 };
    backup.frames(after.max(1) - 1, batch, |frame| {
        if frame.batch > after {
            states.apply(frame, |_, _| {})?;
        }
        if frame.batch == batch {
            (end.entries, end.payload_len) = (frame.entries, frame.payload.len());
        }
        progress(frame.raw.len() as u64);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((end, states))
}

fn at_entry(
    backup: &BackupReader,
    shard: &ShardId,
    position: Position,
    progress: &mut dyn FnMut(u64),
) -> Result<(End, States), BackupError> {
    // A snapshot in which the shard is that far already may hold what other shards decided later.
    let mut start = None;
    let lies_before = |states: &States| states.shard(shard).is_none_or(|state| state.position() < position);
    for candidate in backup.starts(backup.manifest().batch) {
        let (states, after) = backup.load(candidate)?;
        if lies_before(&states) {
            start = Some((candidate, states, after));
            break;
        }
    }
    let last = backup.manifest().shards.iter().find(|known| known.shard == *shard).map_or(Position::default(), |known| known.position);
    let unknown = || BackupError::PositionUnknown { shard: shard.clone(), position, last };
    let Some((start, mut states, after)) = start else { return Err(unknown()) };
    let mut end = None;
    backup.frames(after, backup.manifest().batch, |frame| {
        progress(frame.raw.len() as u64);
        let Some((entries, payload_len)) = find_in(frame, shard, position)? else {
            states.apply(frame, |_, _| {})?;
            return Ok(ControlFlow::Continue(()));
        };
        let cut = Frame { entries, payload: &frame.payload[..payload_len], ..*frame };
        states.apply(&cut, |_, _| {})?;
        end = Some(End { start, batch: frame.batch, entries, payload_len });
        Ok(ControlFlow::Break(()))
    })?;
    let is_there = states.shard(shard).map(State::position) == Some(position);
    end.filter(|_| is_there).map(|end| (end, states)).ok_or_else(unknown)
}

/// How many entries of a frame there are up to the one at that position, and how long they are together.
fn find_in(frame: &Frame<'_>, shard: &ShardId, position: Position) -> Result<Option<(u32, usize)>, BackupError> {
    let damage = |what: String| Damage { segment: frame.segment, offset: frame.offset, what };
    let mut len = 0;
    for (at, bytes) in Items(frame.payload).enumerate() {
        let bytes = bytes.map_err(|bad| OpenError::from(damage(format!("batch {}: {bad}", frame.batch))))?;
        let fact = decode_fact(bytes).map_err(|error| OpenError::from(damage(format!("batch {}: {error}", frame.batch))))?;
        len += 4 + bytes.len();
        if fact.entry().is_some_and(|entry| entry.shard == *shard && entry.position == position) {
            return Ok(Some((at as u32 + 1, len)));
        }
    }
    Ok(None)
}

/// Writes the folder. Its marker comes last: until then nobody takes it for a data folder.
fn write(
    backup: &BackupReader,
    end: &End,
    states: &States,
    target: &Target<'_>,
    meter: &mut Meter<'_>,
) -> Result<(u32, CopiedAudit), BackupError> {
    let (&Target { options, at_ms, without_audit, .. }, target) = (target, &target.storage);
    let names = target.list().map_err(IoFailure::of("listing", ""))?;
    if names.iter().any(|name| name != CLAIM_FILE) {
        return Err(BackupError::NotEmpty);
    }
    let _claim = target.claim().map_err(IoFailure::of("claiming", ""))?;
    let id = draw_id(&SystemChance)?;
    let (mut journal, mut last_epoch, after) = match end.start {
        None => (Journal::begin(Arc::clone(target), id, None, options)?.0, 0, 0),
        Some(snapshot) => {
            let (journal, epoch) = begin_with_snapshot(backup, snapshot, target, id, options)?;
            (journal, epoch, snapshot.batch)
        }
    };
    let audit = write_audit(backup, end, states, (target, id, without_audit), meter)?;
    let mut progress = meter.of("writing the folder");
    let mut group = Group::default();
    backup.frames(after, end.batch, |frame| {
        let whole = frame.batch < end.batch;
        let (entries, len) = if whole { (frame.entries, frame.payload.len()) } else { (end.entries, end.payload_len) };
        group.push(&Copied { entries, payload: &frame.payload[..len], ..Copied::from(frame) });
        last_epoch = last_epoch.max(frame.epoch);
        if group.bytes.len() >= GROUP_BYTES {
            group.write(&mut journal)?;
        }
        progress(frame.raw.len() as u64);
        Ok(ControlFlow::Continue(()))
    })?;
    group.write(&mut journal)?;
    let epoch = draw_epoch(last_epoch, &SystemChance)?;
    let (before, after) = (
        FolderPlace { journal: backup.manifest().journal.0, epoch: last_epoch, batch: end.batch },
        FolderPlace { journal: id.0, epoch, batch: end.batch + 1 },
    );
    let fact = FolderFact { deed: FolderDeed::Restored, at_ms, asker: None, before, after, shards: Vec::new(), shards_left_out: 0 };
    let fact = fact.with_shards(states.shards().map(|state| (state.shard().clone(), state.position())));
    journal.close_in(epoch, &folder_payload(&fact)).map_err(into_failure)?;
    for note in &backup.manifest().notes {
        write_small(target.as_ref(), &note.name, &note.bytes)?;
    }
    write_marker_of(target.as_ref(), id)?;
    Ok((epoch, audit))
}

/// What operators did up to the end. A backup without an audit tells what its batches do.
fn write_audit(
    backup: &BackupReader,
    end: &End,
    states: &States,
    (target, id, without_audit): (&Arc<dyn Storage>, JournalId, bool),
    meter: &mut Meter<'_>,
) -> Result<CopiedAudit, BackupError> {
    let mut progress = meter.of("writing the audit");
    let writer = FrameWriter::after(Arc::clone(target), id, AUDIT_FILE_BYTES, 0, 0);
    let manifest = backup.manifest();
    let copier = match manifest.audit.as_ref().filter(|_| !without_audit) {
        Some(audit) => {
            let mut copier = AuditCopier::new(writer, states, audit.after, end.batch);
            backup.audit(|frame| {
                progress(frame.payload.len() as u64);
                Ok(copier.take(frame)?)
            })?;
            copier
        }
        None => {
            let before = manifest.segments.first().map_or(0, |extent| extent.first_batch - 1);
            let mut copier = AuditCopier::new(writer, states, before.min(end.batch), end.batch);
            backup.frames(before, end.batch, |frame| {
                progress(frame.raw.len() as u64);
                copier.take_batch(frame)?;
                Ok(ControlFlow::Continue(()))
            })?;
            copier
        }
    };
    Ok(copier.finish()?.0)
}

/// The snapshot written again as one of the new journal, and its batch's frame.
fn begin_with_snapshot(
    backup: &BackupReader,
    stored: StoredSnapshot,
    target: &Arc<dyn Storage>,
    id: JournalId,
    options: &JournalOptions,
) -> Result<(Journal, u32), BackupError> {
    let mut begun = None;
    backup.frames(stored.batch - 1, stored.batch, |frame| {
        begun = Some((Journal::begin(Arc::clone(target), id, Some(frame), options)?, frame.epoch));
        Ok(ControlFlow::Break(()))
    })?;
    let ((journal, floor), epoch) = begun.ok_or_else(|| BackupError::invalid("its snapshot's own batch is not in it"))?;
    let from = (backup.storage().as_ref(), backup.manifest().journal);
    let copied = snapshot::copy(from.0, from.1, stored.batch, target, id, floor)?;
    copied.map_err(|bad| BackupError::invalid(format!("its snapshot after batch {}: {bad}", stored.batch)))?;
    Ok((journal, epoch))
}

fn into_failure(error: AppendError) -> BackupError {
    match error {
        AppendError::Failed(failure) => failure.into(),
        other => {
            let kind = if matches!(other, AppendError::Full) { std::io::ErrorKind::StorageFull } else { std::io::ErrorKind::Other };
            IoFailure::new("writing", "the journal", std::io::Error::new(kind, other.to_string())).into()
        }
    }
}

/// Batches that are written together.
#[derive(Default)]
struct Group {
    bytes: Vec<u8>,
    frames: Vec<Kept>,
}

struct Kept {
    batch: u64,
    entries: u32,
    epoch: u32,
    payload: std::ops::Range<usize>,
}

impl Group {
    fn push(&mut self, copied: &Copied<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(copied.payload);
        self.frames.push(Kept { batch: copied.batch, entries: copied.entries, epoch: copied.epoch, payload: start..self.bytes.len() });
    }

    fn write(&mut self, journal: &mut Journal) -> Result<(), BackupError> {
        let bytes = &self.bytes;
        let copies = self.frames.iter().map(|kept| {
            let payload = &bytes[kept.payload.clone()];
            Copied { batch: kept.batch, entries: kept.entries, epoch: kept.epoch, payload }
        });
        journal.append_copies(copies).map_err(into_failure)?;
        self.bytes.clear();
        self.frames.clear();
        Ok(())
    }
}
