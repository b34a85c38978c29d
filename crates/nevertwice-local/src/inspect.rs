//! Looks at a data folder that nobody runs, or at a copy of one. Never writes, never panics on damage.

use std::collections::BTreeSet;
use std::sync::Arc;

use nevertwice_api::encoding::{DecodeError, KEY_FACT_VERSION, decode_entry, encode_key_fact};
use nevertwice_api::{AuditAsk, AuditPage, Fact, Finding, HistoryFailure, Sought};
use nevertwice_core::{Entry, State};

use crate::audit::{Facts, Trail, TrailFault};
use crate::backup::{BackupReader, is_backup};
use crate::chance::{SystemChance, draw_seed};
use crate::error::{Damage, OpenError};
use crate::folder::{JournalId, inspect_marker};
use crate::follow::Following;
use crate::journal::{Floor, Frame, FrameRef, Recovery};
use crate::restore::{RestoreReport, read_trail, restore};
use crate::snapshot::{self, Verified};
use crate::standby;
use crate::states::{Items, States, entries_of};
use crate::storage::Storage;

/// A folder, opened for reading.
pub struct Inspection {
    storage: Arc<dyn Storage>,
    id: JournalId,
}

/// A snapshot's file name, and what it holds or why it does not count.
pub type NamedSnapshot = (String, Result<Verified, String>);

/// One batch of the journal.
pub struct Batch<'a> {
    /// Where and what it is.
    pub frame: &'a Frame<'a>,
    /// Its entries, or why one cannot be read (then it is the last).
    pub entries: Vec<Result<Entry, DecodeError>>,
}

/// What operators did in a folder that nobody runs.
pub struct InspectedAudit(Trail);

impl InspectedAudit {
    /// A page of it, the oldest first.
    pub fn page(&self, asked: &AuditAsk) -> Result<AuditPage, HistoryFailure> {
        self.0.page(asked)
    }
}

/// What is in a folder, up to the first damage.
pub struct Contents {
    /// The shards.
    pub states: States,
    /// What was read.
    pub report: RestoreReport,
    /// A bad frame where none may be.
    pub damage: Option<Damage>,
}

/// The end of a journal.
pub struct Last {
    /// The last entry that is in it, if there is one.
    pub entry: Option<Entry>,
    /// A bad frame where none may be.
    pub damage: Option<Damage>,
}

impl Inspection {
    /// Opens the folder, unless a process runs on it.
    pub fn open(storage: Arc<dyn Storage>) -> Result<Inspection, OpenError> {
        let id = inspect_marker(storage.as_ref())?;
        Ok(Inspection { storage, id })
    }

    /// The journal's number.
    pub fn id(&self) -> JournalId {
        self.id
    }

    /// The snapshots, the newest first: what they hold, or why they do not count.
    ///
    /// # Errors
    /// If one cannot be read, or a later version wrote it.
    pub fn snapshots(&self) -> Result<Vec<NamedSnapshot>, OpenError> {
        let verified = snapshot::verify_all(self.storage.as_ref(), self.id)?;
        Ok(verified.into_iter().map(|(batch, verified)| (snapshot::snapshot_name(batch), verified)).collect())
    }

    /// Hands out all batches in order, until the end, the first damage (which is returned), or until `take` says `false`.
    pub fn batches(&self, mut take: impl FnMut(&Batch<'_>) -> bool) -> Result<Option<Damage>, OpenError> {
        let (recovery, damage) = self.recovery()?;
        let stopped = recovery.replay(0, |frame| {
            let entries = entries_of(frame.payload).map(|bytes| match bytes {
                Ok(bytes) => decode_entry(bytes),
                Err(_) => Err(DecodeError::Malformed(nevertwice_core::fields::Malformed::CutShort)),
            });
            if take(&Batch { frame, entries: entries.collect() }) { Ok(()) } else { Err(()) }
        })?;
        Ok(if stopped.is_ok() { damage } else { None })
    }

    /// Where the frames lie.
    pub fn frames(&self) -> Result<Vec<FrameRef>, OpenError> {
        Ok(self.recovery()?.0.frames().to_vec())
    }

    /// The last entry, without making any states.
    pub fn last_entry(&self) -> Result<Last, OpenError> {
        let (recovery, damage) = self.recovery()?;
        // Behind it there are only seals, and what some of them tell of the folder.
        for last in recovery.frames().iter().rev().filter(|frame| frame.entries > 0) {
            let unreadable = |what: String| Damage { segment: last.segment, offset: last.offset, what };
            let mut found = None;
            let _one_is_enough = recovery.replay(last.batch.saturating_sub(1), |frame| {
                found = entries_of(frame.payload).last().map(|bytes| bytes.map(decode_entry));
                Err::<(), ()>(())
            })?;
            return match found {
                Some(Ok(Ok(entry))) => Ok(Last { entry: Some(entry), damage }),
                Some(Ok(Err(DecodeError::TooNew { version, known }))) => Err(OpenError::too_new(version, known)),
                Some(Ok(Err(error))) => Ok(Last { entry: None, damage: Some(unreadable(error.to_string())) }),
                Some(Err(bad)) => Ok(Last { entry: None, damage: Some(unreadable(bad.to_owned())) }),
                None => continue,
            };
        }
        Ok(Last { entry: None, damage })
    }

    /// The states as a start of the server would have them: from the newest good snapshot and the frames after it.
    pub fn contents(&self) -> Result<Contents, OpenError> {
        let restored = restore(&self.storage, self.id, &SystemChance)?;
        Ok(Contents { states: restored.states, report: restored.report, damage: restored.damage })
    }

    /// The states from the oldest good snapshot on (from nothing where the journal is whole), so that as much as there is
    /// gets applied again. `seen` hears of every entry, with the state after it.
    pub fn replay(&self, mut seen: impl FnMut(&State, &Entry)) -> Result<Contents, OpenError> {
        let (recovery, damage) = self.recovery()?;
        let whole = recovery.frames().first().is_none_or(|frame| frame.batch == 1);
        let mut report = RestoreReport { journal: recovery.report(), ..RestoreReport::default() };
        let (mut states, floor) =
            if whole { (States::new(draw_seed(&SystemChance)?), Floor::default()) } else { self.oldest(&mut report)? };
        let mut entries = 0;
        recovery.replay(floor.batch, |frame| {
            entries += states.apply(frame, &mut seen)?;
            Ok::<(), OpenError>(())
        })??;
        report.entries = entries;
        Ok(Contents { states, report, damage })
    }

    /// What operators did: the files of the audit, and what the journal has beyond them; and what is wrong with them, if
    /// anything is: then it is what could be read before that.
    pub fn audit(&self) -> Result<(InspectedAudit, Option<String>), OpenError> {
        let (recovery, _) = self.recovery()?;
        let (trail, fault) = read_trail(&self.storage, self.id, &recovery)?;
        if fault.is_none() {
            recovery.replay(trail.cursor(), |frame| trail.take(frame))??;
        }
        Ok((InspectedAudit(trail), fault.map(|TrailFault(what)| what)))
    }

    /// What is wrong with the audit: what can't be read, and what the journal still has and it has not. Reads all of it.
    pub fn audit_faults(&self) -> Result<Vec<String>, OpenError> {
        let (recovery, _) = self.recovery()?;
        let (trail, fault) = read_trail(&self.storage, self.id, &recovery)?;
        let mut faults: Vec<String> = fault.into_iter().map(|TrailFault(what)| what).collect();
        faults.extend(trail.check()?);
        if !faults.is_empty() {
            return Ok(faults);
        }
        let mut missing = BTreeSet::new();
        let mut keys_missing = BTreeSet::new();
        recovery.replay(0, |frame| {
            if frame.batch <= trail.cursor() {
                let mut keys = Facts::default();
                keys.push_no_entries(frame.payload, frame.batch);
                keys_missing.extend(Items(keys.payload()).flatten().filter(|bytes| is_key(bytes)).map(<[u8]>::to_vec));
            }
            let copied = entries_of(frame.payload).flatten().take_while(|_| frame.batch <= trail.cursor());
            let entries = copied.filter_map(|bytes| decode_entry(bytes).ok()).filter(Entry::is_operators);
            missing.extend(entries.map(|entry| (entry.shard, entry.position)));
            Ok::<(), OpenError>(())
        })??;
        let mut asked = AuditAsk::default();
        loop {
            let page = match trail.page(&asked) {
                Ok(page) => page,
                Err(failure) => {
                    faults.push(failure.to_string());
                    return Ok(faults);
                }
            };
            for fact in &page.facts {
                match fact {
                    Fact::Entry(entry) => drop(missing.remove(&(entry.shard.clone(), entry.position))),
                    Fact::Key(fact) => {
                        let mut bytes = Vec::new();
                        encode_key_fact(fact, &mut bytes);
                        keys_missing.remove(&bytes);
                    }
                    Fact::Folder(_) => {}
                }
            }
            match page.next {
                Some(next) => asked.cursor = Some(next),
                None => break,
            }
        }
        let told = |(shard, position)| format!("what an operator did in {shard} at {position} is in the journal and not in the audit");
        faults.extend(missing.into_iter().map(told));
        if !keys_missing.is_empty() {
            let count = keys_missing.len();
            faults.push(format!("{count} of the things that operators did to keys are in the journal and not in the audit"));
        }
        Ok(faults)
    }

    /// What is wrong with what lies beside or between the things that count: padding, the file of a standby, the manifest of a backup
    /// and what it says of the files. Reads a backup whole.
    pub fn file_faults(&self) -> Result<Vec<String>, OpenError> {
        let (recovery, _) = self.recovery()?;
        let mut faults = recovery.padding_faults()?;
        match standby::Following::read(self.storage.as_ref()) {
            Ok(following) => {
                let (behind, last) = (following.and_then(|following| following.behind), recovery.report().last_batch);
                if let Some(place) = behind.filter(|place| place.batch > last) {
                    faults.push(format!("the copy of a standby had batch {}, and the journal ends with batch {last}", place.batch));
                }
            }
            Err(error) => faults.push(error.to_string()),
        }
        if is_backup(self.storage.as_ref())? {
            let checked = BackupReader::open(Arc::clone(&self.storage)).and_then(|backup| {
                drop(backup.verified_states(|_| {})?);
                backup.audit(|_| Ok(()))
            });
            faults.extend(checked.err().map(|error| error.to_string()));
        }
        Ok(faults)
    }

    /// What became of one intent, as far as the journal goes back.
    pub fn follow(&self, sought: &Sought) -> Result<Result<Finding, HistoryFailure>, OpenError> {
        let (recovery, damage) = self.recovery()?;
        let mut following = Following::new(sought);
        let read = recovery.replay(0, |frame| following.take(frame))?;
        if let Err(failure) = read {
            return Ok(Err(failure));
        }
        let first = recovery.frames().first().map_or(1, |frame| frame.batch);
        let last = recovery.report().last_batch;
        // Behind damage there is more, and nobody knows how much.
        Ok(Ok(following.finish(first, if damage.is_some() { u64::MAX } else { last })))
    }

    fn oldest(&self, report: &mut RestoreReport) -> Result<(States, Floor), OpenError> {
        for batch in snapshot::list(self.storage.as_ref())?.into_iter().rev() {
            let Ok(verified) = snapshot::verify(self.storage.as_ref(), self.id, batch)? else { continue };
            match States::load(self.storage.as_ref(), self.id, batch, draw_seed(&SystemChance)?)? {
                Ok(states) => {
                    report.snapshot = Some(batch);
                    return Ok((states, verified.floor));
                }
                Err(bad) => report.bad_snapshots.push(format!("{}: {bad}", snapshot::snapshot_name(batch))),
            }
        }
        Ok((States::new(draw_seed(&SystemChance)?), Floor::default()))
    }

    fn recovery(&self) -> Result<(Recovery, Option<Damage>), OpenError> {
        let newest = snapshot::newest(self.storage.as_ref(), self.id)?.0;
        let floor = newest.map_or(Floor::default(), |verified| verified.floor);
        Recovery::inspect(Arc::clone(&self.storage), self.id, floor)
    }
}

fn is_key(bytes: &[u8]) -> bool {
    bytes.first() == Some(&KEY_FACT_VERSION)
}
