//! The batches of a source in a folder, made durable; without threads, so that whoever drives it says when.

use std::sync::Arc;

use super::error::CopyError;
use super::following::{Following, Place};
use crate::audit::{FrameWriter, Trail, fetch_audit, is_audit};
use crate::chance::{Chance, draw_seed};
use crate::error::{Damage, IoFailure, OpenError};
use crate::folder::{JournalId, draw_id, folder_id, remove_if_there, write_marker_of, write_small};
use crate::journal::{Copied, Frame, FrameStream, Journal, JournalOptions, JournalReader, is_segment};
use crate::restore::restore;
use crate::snapshot::{self, is_snapshot};
use crate::source::{Listing, Pull, Source, SourceError, fetch_snapshot};
use crate::states::States;
use crate::storage::{CLAIM_FILE, Storage};

/// How much is asked for at once.
const PULL_BYTES: usize = 4 << 20;
/// After so many bytes the place is written down again: so much is read twice at most after a crash.
const PLACE_EVERY_BYTES: u64 = 64 << 20;

/// A file of the audit that came with a snapshot is not begun over this length.
const AUDIT_FILE_BYTES: u64 = 64 << 20;

/// Who asks, and how long he waits for the first batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    /// The name under which the source knows this copy.
    pub name: String,
    /// How long it waits where nothing is new, in milliseconds.
    pub wait_ms: u64,
}

/// What one pull did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The last durable batch at the source when it answered.
    pub source_durable: u64,
    /// The last durable batch here.
    pub durable: u64,
    /// How many batches became durable.
    pub batches: u64,
    /// How many entries they held.
    pub entries: u64,
    /// The bytes of their payloads.
    pub bytes: u64,
}

/// A copy that can go on, and what was made of it so far.
pub struct Begun {
    /// The copy.
    pub copy: JournalCopy,
    /// The states after its last batch.
    pub states: States,
    /// What operators did, up to there.
    pub(crate) trail: Trail,
}

/// A copy of a journal, in a folder of its own.
pub struct JournalCopy {
    storage: Arc<dyn Storage>,
    source_id: JournalId,
    journal: Journal,
    /// The batch of the source behind which this is, or is again after a step back.
    tip: Place,
    /// The last one that the source cannot write again: a later batch has witnessed it.
    proven: Place,
    /// The place that is written down.
    placed: u64,
    bytes_since_place: u64,
}

impl JournalCopy {
    /// Goes on with the copy in a claimed folder; none if there is none, or it was never finished. Returns its states too.
    ///
    /// # Errors
    /// If the folder holds something else, or is damaged.
    pub fn resume(storage: &Arc<dyn Storage>, options: &JournalOptions, chance: &dyn Chance) -> Result<Option<Begun>, OpenError> {
        let Some(following) = Following::read(storage.as_ref())? else {
            let names = storage.list().map_err(IoFailure::of("listing", ""))?;
            if names.iter().any(|name| name != CLAIM_FILE && name != Following::NEW_NAME) {
                let what = "it holds data of its own, and a standby begins in an empty folder".to_owned();
                return Err(OpenError::NotServable { what });
            }
            return Ok(None);
        };
        let Some(behind) = following.behind else { return Ok(None) };
        let restored = restore(storage, folder_id(storage.as_ref())?, chance)?;
        if let Some(damage) = restored.damage {
            return Err(damage.into());
        }
        if let Some(fault) = restored.trail_fault {
            return Err(fault.into());
        }
        let journal = restored.recovery.resume(options)?;
        if journal.durable() < behind.batch {
            let what = format!("the journal ends with batch {}, and had reached batch {}", journal.durable(), behind.batch);
            return Err(Damage { segment: 0, offset: 0, what }.into());
        }
        let storage = Arc::clone(storage);
        let copy = JournalCopy {
            storage,
            source_id: following.journal,
            journal,
            tip: behind,
            proven: behind,
            placed: behind.batch,
            bytes_since_place: 0,
        };
        Ok(Some(Begun { copy, states: restored.states, trail: restored.trail }))
    }

    /// Makes a new copy in a claimed folder, from the source's newest snapshot on if it has one. What a copy in it held before
    /// goes first.
    ///
    /// # Errors
    /// If the source gives nothing, or the folder cannot be written; it is then begun anew the next time.
    pub fn install(
        storage: &Arc<dyn Storage>,
        source: &mut dyn Source,
        options: &JournalOptions,
        chance: &dyn Chance,
    ) -> Result<Begun, CopyError> {
        let listing = source.listing()?;
        Following { journal: listing.id, behind: None }.write(storage.as_ref())?;
        wipe(storage.as_ref())?;
        let id = draw_id(chance)?;
        let (journal, states, behind) = match listing.snapshots.iter().find(|snapshot| snapshot.batch >= listing.first_batch()) {
            Some(newest) => install_snapshot(storage, source, &listing, newest.batch, id, options, chance)?,
            None if listing.first_batch() > 1 => return Err(SourceError::NoSnapshot.into()),
            None => {
                let journal = Journal::begin(Arc::clone(storage), id, None, options)?.0;
                (journal, States::new(draw_seed(chance)?), Place { batch: 0, crc: Some(0) })
            }
        };
        if journal.durable() > 0 {
            install_audit(storage, source, listing.id, id, &states, journal.durable())?;
        }
        for note in listing.notes.iter().filter(|note| crate::backup::is_note(&note.name)) {
            write_small(storage.as_ref(), &note.name, &note.bytes)?;
        }
        let (trail, fault) = Trail::read(storage, id)?;
        if let Some(fault) = fault.or_else(|| trail.meet((journal.durable() > 0).then(|| journal.durable()), journal.durable())) {
            return Err(CopyError::Open(fault.into()));
        }
        write_marker_of(storage.as_ref(), id)?;
        Following { journal: listing.id, behind: Some(behind) }.write(storage.as_ref())?;
        let storage = Arc::clone(storage);
        let copy = JournalCopy {
            storage,
            source_id: listing.id,
            journal,
            tip: behind,
            proven: behind,
            placed: behind.batch,
            bytes_since_place: 0,
        };
        Ok(Begun { copy, states, trail })
    }

    /// The same with a planted bug.
    #[cfg(feature = "mutants")]
    #[must_use]
    pub fn with(mut self, mutant: Option<crate::Mutant>) -> JournalCopy {
        if mutant == Some(crate::Mutant::EarlyConfirmation) {
            self.journal.sync_copies_late();
        }
        self
    }

    /// Reads what is durable here.
    pub fn reader(&self) -> JournalReader {
        self.journal.reader()
    }

    /// The last durable batch here.
    pub fn durable(&self) -> u64 {
        self.journal.durable()
    }

    /// The highest epoch so far.
    pub fn epoch(&self) -> u32 {
        self.journal.epoch()
    }

    /// Asks for the batches that come next and makes them durable, with one sync. The asking confirms what is durable already.
    ///
    /// # Errors
    /// If the source gives nothing, or a batch could not be made durable.
    pub fn pull(&mut self, source: &mut dyn Source, asker: &Asker) -> Result<Progress, CopyError> {
        let (durable, tip) = (self.journal.durable(), self.tip);
        let confirmed = (tip.batch == durable && tip.crc.is_some()).then_some(durable);
        let reader = Some(asker.name.clone());
        let pull = Pull { after: tip.batch, crc: tip.crc, bytes_max: PULL_BYTES, wait_ms: asker.wait_ms, reader, confirmed };
        match source.batches(&pull) {
            Ok(pulled) => {
                let before = self.take(&pulled.frames)?;
                Ok(Progress { source_durable: pulled.durable, durable: self.journal.durable(), ..before })
            }
            // The source was killed after the last batch here, and has written it again: with other witnesses, and the same
            // entries, which is looked at when it comes.
            Err(SourceError::Differs) if self.tip != self.proven => {
                self.tip = self.proven;
                self.pull(source, asker)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Checks frames against the source's chain, compares those that are here already, and makes the rest durable.
    fn take(&mut self, frames: &[u8]) -> Result<Progress, CopyError> {
        let durable = self.journal.durable();
        let mut fresh: Vec<Frame<'_>> = Vec::new();
        let mut own = None;
        let (mut tip, mut proven) = (self.tip, self.proven);
        for frame in FrameStream::new(frames, self.source_id, self.tip.batch, self.tip.crc) {
            let frame = frame?;
            if frame.batch <= durable {
                let cursor = match &mut own {
                    Some(cursor) => cursor,
                    None => own.insert(self.journal.reader().cursor(frame.batch - 1).map_err(OpenError::from)?),
                };
                let same = cursor
                    .read_next()
                    .map_err(OpenError::from)?
                    .is_some_and(|own| own.batch == frame.batch && own.payload == frame.payload);
                if !same {
                    return Err(SourceError::Differs.into());
                }
            } else {
                fresh.push(frame);
            }
            proven = Place { batch: frame.batch - 1, crc: Some(frame.crc_before) };
            tip = Place { batch: frame.batch, crc: Some(frame.crc) };
        }
        self.journal.append_copies(fresh.iter().map(Copied::from))?;
        (self.tip, self.proven) = (tip, proven);
        let mut progress = Progress { source_durable: 0, durable: 0, batches: fresh.len() as u64, entries: 0, bytes: 0 };
        for frame in &fresh {
            progress.entries += u64::from(frame.entries);
            progress.bytes += frame.payload.len() as u64;
        }
        self.bytes_since_place += progress.bytes;
        if self.bytes_since_place >= PLACE_EVERY_BYTES {
            self.write_place()?;
        }
        Ok(progress)
    }

    /// Batches after this one are needed here after a crash, to be compared with what comes again.
    pub fn keep_from(&self) -> u64 {
        self.placed + 1
    }

    /// Writes down from where it can go on for certain.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn write_place(&mut self) -> Result<(), IoFailure> {
        self.bytes_since_place = 0;
        self.placed = self.proven.batch;
        Following { journal: self.source_id, behind: Some(self.proven) }.write(self.storage.as_ref())
    }

    /// Ends it in order: what is here is written down, so that a loss would be found.
    ///
    /// # Errors
    /// If that cannot be written; nothing is lost then.
    pub fn leave(mut self) -> Result<(), IoFailure> {
        self.write_place()?;
        self.journal.leave()
    }
}

/// Begins with a snapshot: it is written again as one of the new journal, whose first batch is the snapshot's own.
fn install_snapshot(
    storage: &Arc<dyn Storage>,
    source: &mut dyn Source,
    listing: &Listing,
    batch: u64,
    id: JournalId,
    options: &JournalOptions,
    chance: &dyn Chance,
) -> Result<(Journal, States, Place), CopyError> {
    let fetched = fetch_snapshot(storage.as_ref(), source, listing.id, batch, &mut |_| {})?;
    let pulled = source.batches(&Pull { after: batch - 1, bytes_max: 1, ..Pull::default() })?;
    let first = FrameStream::new(&pulled.frames, listing.id, batch - 1, None).next();
    let first = first.ok_or_else(|| SourceError::Bad(format!("batch {batch} did not come")))??;
    if first.crc != fetched.floor.crc {
        return Err(SourceError::Bad(format!("the snapshot after batch {batch} belongs to another history")).into());
    }
    let (journal, floor) = Journal::begin(Arc::clone(storage), id, Some(&first), options)?;
    let bad = |what: String| SourceError::Bad(format!("the snapshot after batch {batch}: {what}"));
    snapshot::copy(storage.as_ref(), listing.id, batch, storage, id, floor)?.map_err(bad)?;
    let states = States::load(storage.as_ref(), id, batch, draw_seed(chance)?)?.map_err(bad)?;
    Ok((journal, states, Place { batch: batch - 1, crc: Some(first.crc_before) }))
}

/// What operators did up to the snapshot, which the batches after it do not tell.
fn install_audit(
    storage: &Arc<dyn Storage>,
    source: &mut dyn Source,
    source_id: JournalId,
    id: JournalId,
    states: &States,
    batch: u64,
) -> Result<(), CopyError> {
    let writer = FrameWriter::after(Arc::clone(storage), id, AUDIT_FILE_BYTES, 0, 0);
    let copied = fetch_audit(source, source_id, writer, states, batch, &mut |_| {})?;
    if copied.is_none() {
        tracing::warn!(batch, "the source does not give its audit: what operators did before this batch is not in the copy's");
    }
    Ok(())
}

/// Removes what an earlier copy left.
fn wipe(storage: &dyn Storage) -> Result<(), CopyError> {
    let names = storage.list().map_err(|error| CopyError::folder("listing", "", error))?;
    for name in
        names.iter().filter(|name| is_segment(name) || is_snapshot(name) || is_audit(name) || name.ends_with(".tmp") || *name == "reach")
    {
        remove_if_there(storage, name)?;
    }
    storage.sync_folder().map_err(|error| CopyError::folder("syncing the folder of", "", error))
}
