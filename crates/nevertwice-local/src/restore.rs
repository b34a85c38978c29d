//! From a data folder to states and a journal: the newest snapshot that is good, and the frames after it.

use std::sync::Arc;
use std::time::Duration;

use nevertwice_core::{Position, ShardId};

use crate::audit::{Trail, TrailFault};
use crate::chance::{Chance, draw_seed};
use crate::clock::{Clock, Stopwatch};
use crate::error::{Damage, OpenError};
use crate::folder::JournalId;
use crate::journal::{Floor, Recovery, RecoveryReport};
use crate::snapshot;
use crate::states::{Seed, States};
use crate::storage::Storage;

/// What a recovery found and did, for the person who starts the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestoreReport {
    /// The batch after which the snapshot in use was made; none without one.
    pub snapshot: Option<u64>,
    /// Newer snapshots that do not count, and why.
    pub bad_snapshots: Vec<String>,
    /// The entries that were applied.
    pub entries: u64,
    /// The journal's part.
    pub journal: RecoveryReport,
    /// The journal that the folder followed until now: it was a standby's, and this start promotes it.
    pub followed: Option<JournalId>,
    /// Where the shards are that it followed there, in the order of their names.
    pub positions: Vec<(ShardId, Position)>,
    /// How long it took.
    pub took: Duration,
}

/// What is in a folder; nothing has been changed in it yet.
pub(crate) struct Restored {
    pub(crate) states: States,
    pub(crate) recovery: Recovery,
    pub(crate) report: RestoreReport,
    /// A bad frame where none may be; the states go up to it.
    pub(crate) damage: Option<Damage>,
    /// What operators did, as far as it can be told.
    pub(crate) trail: Trail,
    /// Why not all of it can.
    pub(crate) trail_fault: Option<TrailFault>,
}

/// Reads everything, damage included.
pub(crate) fn restore(storage: &Arc<dyn Storage>, id: JournalId, chance: &dyn Chance) -> Result<Restored, OpenError> {
    let watch = Stopwatch::start();
    let mut report = RestoreReport::default();
    let (mut states, floor) = load_snapshot(storage, id, draw_seed(chance)?, &mut report)?;
    let (recovery, damage) = Recovery::inspect(Arc::clone(storage), id, floor)?;
    let (trail, trail_fault) = read_trail(storage, id, &recovery)?;
    // Mostly the audit was written when the snapshot was made, and there is nothing to read below it.
    let copied = if trail_fault.is_none() { trail.cursor() } else { u64::MAX };
    let mut entries = 0;
    recovery.replay(floor.batch.min(copied), |frame| {
        if trail_fault.is_none() {
            trail.take(frame)?;
        }
        if frame.batch > floor.batch {
            entries += states.apply(frame, |_, _| {})?;
        }
        Ok::<(), OpenError>(())
    })??;
    report.entries = entries;
    report.journal = recovery.report();
    report.took = watch.took();
    Ok(Restored { states, recovery, report, damage, trail, trail_fault })
}

/// What the files of the audit hold, and what is wrong with them or between them and the journal. What the journal has beyond them
/// is still to be taken.
pub(crate) fn read_trail(storage: &Arc<dyn Storage>, id: JournalId, recovery: &Recovery) -> Result<(Trail, Option<TrailFault>), OpenError> {
    let (trail, fault) = Trail::read(storage, id)?;
    let first = recovery.frames().first().map(|frame| frame.batch);
    let fault = fault.or_else(|| trail.meet(first, recovery.report().last_batch));
    Ok((trail, fault))
}

fn load_snapshot(storage: &Arc<dyn Storage>, id: JournalId, seed: Seed, report: &mut RestoreReport) -> Result<(States, Floor), OpenError> {
    for batch in snapshot::list(storage.as_ref())? {
        let loaded = match snapshot::verify(storage.as_ref(), id, batch)? {
            Ok(verified) => States::load(storage.as_ref(), id, batch, seed)?.map(|states| (states, verified.floor)),
            Err(bad) => Err(bad),
        };
        match loaded {
            Ok((states, floor)) => {
                report.snapshot = Some(batch);
                return Ok((states, floor));
            }
            Err(bad) => {
                let name = snapshot::snapshot_name(batch);
                tracing::warn!(name, bad, "a snapshot does not count: falling back to the one before");
                report.bad_snapshots.push(format!("{name}: {bad}"));
            }
        }
    }
    Ok((States::new(seed), Floor::default()))
}

/// Refuses to serve when the last recorded instant lies far ahead of the clock: every decision would be made at that instant.
pub(crate) fn check_clock(states: &States, clock: &dyn Clock, ahead_ms_max: i64) -> Result<(), OpenError> {
    let (last_at_ms, now_ms) = (states.last_at_ms(), clock.now_ms());
    if last_at_ms.saturating_sub(now_ms) > ahead_ms_max {
        return Err(OpenError::ClockBehind { last_at_ms, now_ms, ahead_ms_max });
    }
    Ok(())
}
