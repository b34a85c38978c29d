//! From a folder of keys to records, files of answers and a journal: the newest snapshot that is good, and the frames after it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::answers::{self, Held, answers_name, answers_number};
use super::records::Records;
use crate::chance::{Chance, draw_seed};
use crate::clock::{Clock, Stopwatch};
use crate::error::{Damage, IoFailure, OpenError};
use crate::folder::JournalId;
use crate::journal::{Floor, Recovery, RecoveryReport};
use crate::snapshot;
use crate::states::Seed;
use crate::storage::Storage;

/// What a recovery of keys found and did, for the person who starts the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeysRecovered {
    /// The batch after which the snapshot in use was made; none without one.
    pub snapshot: Option<u64>,
    /// Newer snapshots that do not count, and why.
    pub bad_snapshots: Vec<String>,
    /// The changes that were applied.
    pub changes: u64,
    /// The keys that are kept.
    pub records: u64,
    /// Files of answers that nothing names, left by a crash. A start removes them.
    pub orphans: u64,
    /// The journal's part.
    pub journal: RecoveryReport,
    /// How long it took.
    pub took: Duration,
}

/// What is in a folder; nothing has been changed in it yet.
pub(crate) struct Restored {
    pub(crate) records: Records,
    pub(crate) files: Files,
    pub(crate) recovery: Recovery,
    pub(crate) report: KeysRecovered,
    /// A bad frame where none may be; the records go up to it.
    pub(crate) damage: Option<Damage>,
}

/// The files of answers in a folder.
#[derive(Default)]
pub(crate) struct Files {
    /// Those that records name.
    pub(crate) held: BTreeMap<u64, Held>,
    /// Those that none names.
    pub(crate) orphans: Vec<u64>,
    /// Those that are missing or too short, and what of them.
    pub(crate) faults: Vec<(u64, String)>,
    /// The number of the next file: above that of any other, in the folder or in the journal.
    pub(crate) next: u64,
}

impl Files {
    /// The first fault, as a reason to refuse.
    pub(crate) fn fault(&self) -> Option<OpenError> {
        self.faults.first().map(|(number, what)| OpenError::Answers { name: answers_name(*number), what: what.clone() })
    }
}

/// Reads everything, damage included.
pub(crate) fn restore(storage: &Arc<dyn Storage>, id: JournalId, chance: &dyn Chance) -> Result<Restored, OpenError> {
    let watch = Stopwatch::start();
    let mut report = KeysRecovered::default();
    let (mut records, floor) = load_snapshot(storage, id, draw_seed(chance)?, &mut report)?;
    let (recovery, damage) = Recovery::inspect(Arc::clone(storage), id, floor)?;
    recovery.replay(floor.batch, |frame| {
        report.changes += records.replay(frame)?;
        Ok::<(), OpenError>(())
    })??;
    records.free_swept();
    let files = read_files(storage.as_ref(), &records)?;
    report.records = records.len();
    report.orphans = files.orphans.len() as u64;
    report.journal = recovery.report();
    report.took = watch.took();
    Ok(Restored { records, files, recovery, report, damage })
}

fn load_snapshot(storage: &Arc<dyn Storage>, id: JournalId, seed: Seed, report: &mut KeysRecovered) -> Result<(Records, Floor), OpenError> {
    for batch in snapshot::list(storage.as_ref())? {
        let loaded = match snapshot::verify(storage.as_ref(), id, batch)? {
            Ok(verified) => Records::load(storage.as_ref(), id, batch, seed)?.map(|records| (records, verified.floor)),
            Err(bad) => Err(bad),
        };
        match loaded {
            Ok((records, floor)) => {
                report.snapshot = Some(batch);
                return Ok((records, floor));
            }
            Err(bad) => {
                let name = snapshot::snapshot_name(batch);
                tracing::warn!(name, bad, "a snapshot of keys does not count: falling back to the one before");
                report.bad_snapshots.push(format!("{name}: {bad}"));
            }
        }
    }
    Ok((Records::new(seed), Floor::default()))
}

/// Compares the files with what the records name. Only that they are there and long enough: what their bytes are is looked at
/// whenever one is replayed, and by `verify`; reading all of them would make every start wait.
fn read_files(storage: &dyn Storage, records: &Records) -> Result<Files, OpenError> {
    let names = storage.list().map_err(IoFailure::of("listing", ""))?;
    let there: Vec<u64> = names.iter().filter_map(|name| answers_number(name)).collect();
    let mut files = Files::default();
    for (_, place, length) in records.places() {
        let held = files.held.entry(place.file).or_default();
        held.answers += 1;
        held.bytes = held.bytes.max(place.offset.saturating_add(length));
    }
    for (number, held) in &files.held {
        let name = answers_name(*number);
        if !there.contains(number) {
            files.faults.push((*number, "it is missing, and answers lie in it".to_owned()));
            continue;
        }
        let file = storage.open(&name).map_err(IoFailure::of("opening", &name))?;
        let size = file.size().map_err(IoFailure::of("measuring", &name))?;
        if size < held.bytes {
            files.faults.push((*number, format!("it has {size} bytes, and answers lie in it up to byte {}", held.bytes)));
        }
    }
    files.orphans = there.iter().copied().filter(|number| !files.held.contains_key(number)).collect();
    files.next = there.into_iter().max().unwrap_or(0).max(records.last_file()).saturating_add(1);
    Ok(files)
}

/// Removes the files that nothing names. The journal is recovered and durable by now, so nothing will name them again.
pub(crate) fn remove_orphans(storage: &dyn Storage, files: &Files) -> Result<(), IoFailure> {
    for number in &files.orphans {
        answers::remove(storage, *number)?;
    }
    Ok(())
}

/// Refuses to serve when the last recorded instant lies far ahead of the clock.
pub(crate) fn check_clock(records: &Records, clock: &dyn Clock, ahead_ms_max: i64) -> Result<(), OpenError> {
    let (last_at_ms, now_ms) = (records.last_at_ms(), clock.now_ms());
    if last_at_ms.saturating_sub(now_ms) > ahead_ms_max {
        return Err(OpenError::ClockBehind { last_at_ms, now_ms, ahead_ms_max });
    }
    Ok(())
}
