//! Makes a backup, or brings one up to date: what comes is checked frame by frame and applied, so the manifest says what the
//! states are at its batch; and before the manifest is written, the folder is read back and must make the same states.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::audit::BackupAudit;
use super::error::BackupError;
use super::manifest::{Manifest, ShardAt, StoredAudit, StoredSnapshot, is_note};
use super::reader::{BackupReader, shards_at};
use super::segments::Segments;
use crate::audit::{Facts, audit_name, fetch_audit, is_audit};
use crate::chance::{SystemChance, draw_seed};
use crate::error::{IoFailure, OpenError};
use crate::folder::{remove_if_there, write_marker_of};
use crate::journal::{Extent, Floor, Frame, FrameStream, is_segment, segment_name};
use crate::snapshot::{is_snapshot, snapshot_name};
use crate::source::{Listing, Note, Pull, Source, SourceError, fetch_snapshot};
use crate::states::States;
use crate::storage::Storage;

/// How much is asked for at once.
const PULL_BYTES: usize = 4 << 20;
/// After so much journal the backup so far is made to count: whoever is interrupted goes on from there.
const ROUND_BYTES: u64 = 1 << 30;
/// The same for so much that operators did, which waits in memory.
const ROUND_AUDIT_BYTES: usize = 32 << 20;
/// A newer snapshot is fetched once so much journal lies behind the last one, so that a restore need not apply it all.
const SNAPSHOT_EVERY_BYTES: u64 = 256 << 20;
/// How often a backup begins anew because what it was about to read went.
const BEGINNINGS_MAX: usize = 3;

/// How far a backup is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupProgress {
    /// What is being done, for people.
    pub doing: &'static str,
    /// How many bytes of it are done.
    pub done_bytes: u64,
    /// How many there are, about.
    pub total_bytes: u64,
}

/// What a backup did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupReport {
    /// The batch at which the backup ended before; none for a first one.
    pub before: Option<u64>,
    /// Whether it began anew, because the server had removed the batches that came next: positions before its first snapshot
    /// are not in it any more.
    pub began_anew: bool,
    /// The bytes of journal and snapshots that were fetched.
    pub fetched_bytes: u64,
    /// What is in the backup now.
    pub manifest: Manifest,
}

/// Brings the backup in `folder` up to what is durable at the source now; an empty folder becomes one.
///
/// # Errors
/// If the folder holds something else, the source gives nothing, or what was read back is not what was fetched. What the
/// backup held before still counts.
pub fn back_up(
    folder: Arc<dyn Storage>,
    source: &mut dyn Source,
    reader: &str,
    progress: &mut dyn FnMut(BackupProgress),
) -> Result<BackupReport, BackupError> {
    let _claim = folder.claim().map_err(|error| match error.kind() {
        std::io::ErrorKind::WouldBlock => OpenError::InUse,
        _ => IoFailure::new("claiming", "", error).into(),
    })?;
    let listing = source.listing()?;
    let before = Manifest::read(folder.as_ref())?;
    if before.is_none() && !Manifest::begin(folder.as_ref())? {
        return Err(BackupError::NotEmpty);
    }
    if let Some(before) = before.as_ref().filter(|before| before.journal != listing.id) {
        let what = format!("it is of journal {}, and the server has {}", before.journal, listing.id);
        return Err(BackupError::Differs { what });
    }
    let target = listing.durable;
    let mut run = Run { folder, source, reader, progress, listing, fetched_bytes: 0, began_anew: false };
    let mut copy = match before.clone() {
        Some(manifest) => run.go_on(manifest)?,
        None => run.begin()?,
    };
    for _ in 0..BEGINNINGS_MAX {
        match run.rounds(copy, target) {
            Ok(manifest) => {
                let Run { fetched_bytes, began_anew, .. } = run;
                return Ok(BackupReport { before: before.map(|before| before.batch), began_anew, fetched_bytes, manifest });
            }
            // What comes next is in a snapshot only.
            Err(BackupError::Source(SourceError::Pruned | SourceError::NoSnapshot)) => {
                run.listing = run.source.listing()?;
                run.began_anew = before.is_some();
                copy = run.begin()?;
            }
            Err(error) => return Err(error),
        }
    }
    Err(SourceError::Pruned.into())
}

struct Run<'a> {
    folder: Arc<dyn Storage>,
    source: &'a mut dyn Source,
    reader: &'a str,
    progress: &'a mut dyn FnMut(BackupProgress),
    listing: Listing,
    fetched_bytes: u64,
    began_anew: bool,
}

/// A backup as far as it has come.
struct Copy {
    states: States,
    /// The last batch that is in the states.
    applied: u64,
    /// The last batch that is in the segments, and its checksum.
    batch: u64,
    crc: Option<u32>,
    epoch: u32,
    segments: Vec<Extent>,
    snapshots: Vec<StoredSnapshot>,
    /// None where the source does not give it.
    audit: Option<BackupAudit>,
    /// What a manifest of this backup named of it last.
    stored_audit: Option<StoredAudit>,
}

impl Run<'_> {
    /// A first backup, or one that begins anew: the whole journal where it is there, else from the oldest snapshot on whose
    /// batch is.
    fn begin(&mut self) -> Result<Copy, BackupError> {
        let first = self.listing.first_batch();
        if first <= 1 {
            let (states, segments, snapshots) = (States::new(draw_seed(&SystemChance)?), Vec::new(), Vec::new());
            let audit = Some(BackupAudit::new(0, 0, BackupAudit::writer(&self.folder, self.listing.id)?));
            return Ok(Copy { states, applied: 0, batch: 0, crc: Some(0), epoch: 0, segments, snapshots, audit, stored_audit: None });
        }
        let usable = self.listing.snapshots.iter().rev().find(|snapshot| snapshot.batch >= first).copied();
        let usable = usable.ok_or(SourceError::NoSnapshot)?;
        let (stored, floor) = self.fetch_snapshot(usable.batch, usable.bytes)?;
        let name = snapshot_name(floor.batch);
        let loaded = States::load(self.folder.as_ref(), self.listing.id, floor.batch, draw_seed(&SystemChance)?)?;
        let states = loaded.map_err(|what| BackupError::invalid(format!("the snapshot {name}: {what}")))?;
        // Its own batch comes again, so that it can be seen that what follows belongs to it.
        let audit = self.fetch_audit(&states, floor.batch)?;
        let (batch, segments, snapshots) = (floor.batch - 1, Vec::new(), vec![stored]);
        Ok(Copy { states, applied: floor.batch, batch, crc: None, epoch: 0, segments, snapshots, audit, stored_audit: None })
    }

    /// Goes on with a backup, once it is seen that it is still what its manifest says.
    fn go_on(&mut self, manifest: Manifest) -> Result<Copy, BackupError> {
        let reader = BackupReader::with(Arc::clone(&self.folder), manifest);
        let states = self.check(&reader, "checking what is there")?;
        let last_crc = reader.audit(|_| Ok(()))?;
        let Manifest { batch, crc, epoch, segments, snapshots, audit: stored_audit, .. } = reader.manifest().clone();
        let audit = match &stored_audit {
            Some(stored) => Some(BackupAudit::going_on(&self.folder, self.listing.id, stored, last_crc)),
            // A backup of an earlier version.
            None => self.fetch_audit(&states, batch)?,
        };
        let mut copy = Copy { states, applied: batch, batch, crc: Some(crc), epoch, segments, snapshots, audit, stored_audit };
        let probe = Pull { after: batch, crc: copy.crc, bytes_max: 1, ..Pull::default() };
        match self.source.batches(&probe) {
            // A server that was killed right after this batch has written it again, with other witnesses.
            Err(SourceError::Differs) => {
                let Some((segments, batch, crc)) = reader.without_last()? else { return Err(SourceError::Differs.into()) };
                (copy.segments, copy.batch, copy.crc) = (segments, batch, Some(crc));
                Ok(copy)
            }
            Err(SourceError::Pruned) => {
                self.began_anew = true;
                self.begin()
            }
            Err(error) => Err(error.into()),
            Ok(_) => Ok(copy),
        }
    }

    /// Fetches up to the target, and makes it count every so often.
    fn rounds(&mut self, mut copy: Copy, target: u64) -> Result<Manifest, BackupError> {
        loop {
            let upto = self.fetch(&mut copy, target)?;
            let is_last = upto >= target;
            if is_last {
                self.add_newer_snapshot(&mut copy)?;
            }
            let manifest = self.finish(&mut copy)?;
            if is_last {
                return Ok(manifest);
            }
        }
    }

    /// Fetches a round of batches, and returns the last.
    fn fetch(&mut self, copy: &mut Copy, target: u64) -> Result<u64, BackupError> {
        let total_bytes = self.bytes_ahead(copy);
        let mut done_bytes = 0;
        let mut segments = Segments::after(Arc::clone(&self.folder), std::mem::take(&mut copy.segments));
        let mut done_audit_bytes = 0;
        while copy.batch < target && done_bytes < ROUND_BYTES && done_audit_bytes < ROUND_AUDIT_BYTES {
            let pull =
                Pull { after: copy.batch, crc: copy.crc, bytes_max: PULL_BYTES, reader: Some(self.reader.to_owned()), ..Pull::default() };
            let frames = self.source.batches(&pull)?.frames;
            if frames.is_empty() {
                return Err(SourceError::Differs.into());
            }
            for frame in FrameStream::new(&frames, self.listing.id, copy.batch, copy.crc) {
                let frame = frame?;
                if frame.batch > target {
                    break;
                }
                segments.push(&frame)?;
                if frame.batch > copy.applied {
                    let facts = copy.audit.as_mut().map(BackupAudit::facts);
                    done_audit_bytes += apply(&mut copy.states, &frame, facts)?;
                    copy.applied = frame.batch;
                }
                (copy.batch, copy.crc, copy.epoch) = (frame.batch, Some(frame.crc), copy.epoch.max(frame.epoch));
            }
            done_bytes += frames.len() as u64;
            self.fetched_bytes += frames.len() as u64;
            (self.progress)(BackupProgress { doing: "fetching the journal", done_bytes, total_bytes: total_bytes.max(done_bytes) });
        }
        copy.segments = segments.finish()?;
        Ok(copy.batch)
    }

    /// About how much is still to be fetched.
    fn bytes_ahead(&self, copy: &Copy) -> u64 {
        let there = self.listing.segments.iter().filter(|extent| extent.last_batch > copy.batch).map(|extent| extent.bytes);
        let here = copy.segments.last().filter(|here| self.listing.segments.iter().any(|there| there.segment == here.segment));
        there.sum::<u64>().saturating_sub(here.map_or(0, |here| here.bytes))
    }

    /// Fetches the newest snapshot, where applying the journal from the last one on would take long.
    fn add_newer_snapshot(&mut self, copy: &mut Copy) -> Result<(), BackupError> {
        let last = copy.snapshots.last().map_or(0, |snapshot| snapshot.batch);
        let behind = copy.segments.iter().filter(|extent| extent.last_batch > last).map(|extent| extent.bytes);
        if behind.sum::<u64>() < SNAPSHOT_EVERY_BYTES {
            return Ok(());
        }
        let newest = self.listing.snapshots.iter().find(|snapshot| snapshot.batch > last && snapshot.batch <= copy.batch).copied();
        let Some(newest) = newest else { return Ok(()) };
        match self.fetch_snapshot(newest.batch, newest.bytes) {
            Ok((stored, _)) => copy.snapshots.push(stored),
            // It went meanwhile: the next backup fetches the next one.
            Err(BackupError::Source(SourceError::NoSnapshot)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Fetches what operators did up to a batch, after which these are the states. None where the source does not give it.
    fn fetch_audit(&mut self, states: &States, batch: u64) -> Result<Option<BackupAudit>, BackupError> {
        let writer = BackupAudit::writer(&self.folder, self.listing.id)?;
        let mut done_bytes = 0;
        let fetched = fetch_audit(self.source, self.listing.id, writer, states, batch, &mut |bytes| {
            done_bytes += bytes;
            (self.progress)(BackupProgress { doing: "fetching the audit", done_bytes, total_bytes: done_bytes });
        })?;
        self.fetched_bytes += done_bytes;
        Ok(fetched.map(|(copied, writer)| BackupAudit::new(copied.begins_after, batch, writer)))
    }

    /// Fetches a snapshot and reads it back.
    fn fetch_snapshot(&mut self, batch: u64, total_bytes: u64) -> Result<(StoredSnapshot, Floor), BackupError> {
        let fetched = fetch_snapshot(self.folder.as_ref(), self.source, self.listing.id, batch, &mut |done_bytes| {
            (self.progress)(BackupProgress { doing: "fetching a snapshot", done_bytes, total_bytes: total_bytes.max(done_bytes) });
        })?;
        self.fetched_bytes += fetched.bytes;
        Ok((StoredSnapshot { batch, bytes: fetched.bytes }, fetched.floor))
    }

    /// Reads everything back, writes the manifest, and removes what it does not name.
    fn finish(&mut self, copy: &mut Copy) -> Result<Manifest, BackupError> {
        let shards: Vec<ShardAt> = shards_at(&copy.states);
        // After the segments, which hold all that it tells.
        if let Some(audit) = &mut copy.audit {
            copy.stored_audit = Some(audit.write(self.folder.as_ref(), copy.stored_audit.as_ref(), copy.batch)?);
        }
        let notes: Vec<Note> = self.listing.notes.iter().filter(|note| is_note(&note.name)).cloned().collect();
        let manifest = Manifest {
            journal: self.listing.id,
            epoch: copy.epoch,
            batch: copy.batch,
            crc: copy.crc.unwrap_or(0),
            taken_at_ms: self.listing.now_ms,
            snapshots: copy.snapshots.clone(),
            segments: copy.segments.clone(),
            audit: copy.stored_audit.clone(),
            notes,
            shards,
        };
        let reader = BackupReader::with(Arc::clone(&self.folder), manifest);
        drop(self.check(&reader, "reading it back")?);
        reader.audit(|_| Ok(()))?;
        let manifest = reader.into_manifest();
        write_marker_of(self.folder.as_ref(), manifest.journal)?;
        manifest.write(self.folder.as_ref())?;
        self.clean(&manifest)?;
        Ok(manifest)
    }

    fn check(&mut self, reader: &BackupReader, doing: &'static str) -> Result<States, BackupError> {
        let from = reader.manifest().snapshots.last().map_or(0, |snapshot| snapshot.batch);
        let after = reader.manifest().segments.iter().filter(|extent| extent.last_batch > from);
        let (total_bytes, mut done_bytes) = (after.map(|extent| extent.bytes).sum(), 0);
        reader.verified_states(|bytes| {
            done_bytes += bytes;
            (self.progress)(BackupProgress { doing, done_bytes, total_bytes });
        })
    }

    fn clean(&self, manifest: &Manifest) -> Result<(), BackupError> {
        let storage = self.folder.as_ref();
        let mut named: BTreeSet<String> = manifest.segments.iter().map(|extent| segment_name(extent.segment)).collect();
        named.extend(manifest.snapshots.iter().map(|snapshot| snapshot_name(snapshot.batch)));
        let audit = manifest.audit.iter().flat_map(|audit| &audit.files);
        named.extend(audit.clone().map(|file| audit_name(file.number)));
        for name in storage.list().map_err(IoFailure::of("listing", ""))? {
            let counts = named.contains(&name) || !(is_segment(&name) || is_snapshot(&name) || is_audit(&name) || name.ends_with(".tmp"));
            if !counts {
                remove_if_there(storage, &name)?;
            }
        }
        let segments = manifest.segments.iter().map(|extent| (segment_name(extent.segment), extent.bytes));
        for (name, bytes) in segments.chain(audit.map(|file| (audit_name(file.number), file.bytes))) {
            let size = storage.open(&name).and_then(|file| file.size()).map_err(IoFailure::of("measuring", &name))?;
            if size > bytes {
                storage.truncate(&name, bytes).map_err(IoFailure::of("cutting", &name))?;
            }
        }
        storage.sync_folder().map_err(IoFailure::of("syncing the folder of", ""))?;
        Ok(())
    }
}

/// Applies a batch, and says how long its operators' entries are, which are added to `facts`.
fn apply(states: &mut States, frame: &Frame<'_>, facts: Option<&mut Facts>) -> Result<usize, OpenError> {
    let Some(facts) = facts else { return states.apply(frame, |_, _| {}).map(|_| 0) };
    let before = facts.payload().len();
    states.apply(frame, |_, entry| {
        if entry.is_operators() {
            facts.push(entry);
        }
    })?;
    facts.push_no_entries(frame.payload, frame.batch);
    Ok(facts.payload().len() - before)
}
