//! Puts the backend together, and takes it apart.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use nevertwice_api::{
    Answer, Backend, BackendStatus, BoxFuture, Failure, FolderAsker, FolderDeed, FolderFact, FolderPlace, Health, History, KeyFact, Level,
    Levels, Observer, Reading, Request,
};
use nevertwice_core::{Position, Query, ShardId, StateHash};
use tokio::sync::oneshot;

use super::handoff::Handoff;
use super::options::LocalOptions;
use super::queue::{Item, Reply};
use super::replicas::Replicas;
use super::sequencer::{GroupLimits, Sequencer};
use super::snapshots::{SnapshotReport, Snapshots, Wish};
use super::syncer::Syncer;
use crate::chance::{Chance, SystemChance, draw_seed};
use crate::clock::Clock;
use crate::error::{IoFailure, OpenError};
use crate::feed::{JournalFeed, JournalHost, LocalEntries, Readers};
use crate::folder::{Folder, draw_epoch};
use crate::history::LocalHistory;
use crate::journal::{JournalReader, Room};
use crate::restore::{RestoreReport, check_clock, restore};
use crate::standby::Following;
use crate::states::folder_payload;
use crate::storage::Storage;

/// How many commands and reads are decided before they are handed on. Less than a group, so that the syncer does not wait for
/// the last of many.
const TURN_ITEMS_MAX: usize = 256;

/// The name of the thread that gives up what waits for replicas.
const REPLICAS: &str = "replicas";

/// The in-process backend.
pub struct LocalBackend {
    items: Sender<Item>,
    depth: Arc<AtomicUsize>,
    queue_max: usize,
    level: Level,
    handoff: Arc<Handoff>,
    stopping: Arc<AtomicBool>,
    wishes: Sender<Wish>,
    bytes_since: Arc<AtomicU64>,
    keep_from: Arc<AtomicU64>,
    reader: JournalReader,
    feed: Arc<JournalFeed>,
    /// None where no answer waits for replicas.
    replicas: Option<Arc<Replicas>>,
    history: Arc<LocalHistory>,
    room: Room,
    /// What must be left in segments that exist while the disk is full.
    room_bytes: u64,
    epoch: u32,
    threads: Mutex<Vec<(&'static str, JoinHandle<()>)>>,
    _folder: Folder,
}

/// The backend in its parts.
pub(super) struct Assembled {
    pub(super) backend: LocalBackend,
    pub(super) sequencer: Sequencer,
    pub(super) syncer: Syncer,
    pub(super) snapshots: Snapshots,
    pub(super) report: RestoreReport,
}

impl LocalBackend {
    /// Claims the folder, recovers what is in it, and starts the threads.
    ///
    /// # Errors
    /// If the folder is in use, of a newer version, damaged, ahead of the clock, or cannot be read or written. Then nothing
    /// that counts was changed.
    pub fn open(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
        options: &LocalOptions,
    ) -> Result<(LocalBackend, RestoreReport), OpenError> {
        let assembled = LocalBackend::assemble(storage, clock, Arc::new(SystemChance), observer, options, None)?;
        LocalBackend::run(assembled)
    }

    /// The same of a standby's folder, which is promoted by that, on behalf of whoever asked for it.
    pub(crate) fn promote(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
        options: &LocalOptions,
        asker: Option<&FolderAsker>,
    ) -> Result<(LocalBackend, RestoreReport), OpenError> {
        LocalBackend::run(LocalBackend::assemble(storage, clock, Arc::new(SystemChance), observer, options, asker)?)
    }

    fn run(assembled: Assembled) -> Result<(LocalBackend, RestoreReport), OpenError> {
        let Assembled { backend, sequencer, syncer, snapshots, report } = assembled;
        // From here on an error drops the backend, which stops the threads that run.
        backend.start("sequencer", move || sequencer.run())?;
        backend.start("syncer", move || syncer.run())?;
        backend.start("snapshots", move || snapshots.run())?;
        if let Some(replicas) = backend.replicas.clone() {
            backend.start(REPLICAS, move || replicas.run())?;
        }
        Ok((backend, report))
    }

    /// Claims the folder, recovers what is in it, and makes the parts; nobody runs them yet.
    pub(super) fn assemble(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        chance: Arc<dyn Chance>,
        observer: Arc<dyn Observer>,
        options: &LocalOptions,
        asker: Option<&FolderAsker>,
    ) -> Result<Assembled, OpenError> {
        options.check()?;
        let folder = Folder::claim_with(storage, chance.as_ref())?;
        let following = Following::read(folder.storage().as_ref())?;
        if following.is_some_and(|following| following.behind.is_none()) {
            let what = "it is a standby's, and its first copy was never finished".to_owned();
            return Err(OpenError::NotServable { what });
        }
        let restored = restore(folder.storage(), folder.id(), chance.as_ref())?;
        if let Some(damage) = restored.damage {
            return Err(damage.into());
        }
        if let Some(fault) = restored.trail_fault {
            return Err(fault.into());
        }
        let trail = restored.trail;
        check_clock(&restored.states, clock.as_ref(), options.clock_ahead_ms_max)?;
        let (mut recovery, mut report) = (restored.recovery, restored.report);
        let mut promotion = None;
        if let Some(following) = &following {
            report.followed = Some(following.journal);
            report.positions = restored.states.shards().map(|state| (state.shard().clone(), state.position())).collect();
            recovery.raise_epoch(draw_epoch(recovery.last_epoch(), chance.as_ref())?);
            let last_batch = report.journal.last_batch;
            let (before, after) = (
                FolderPlace { journal: following.journal.0, epoch: recovery.last_epoch(), batch: last_batch },
                FolderPlace { journal: folder.id().0, epoch: recovery.epoch(), batch: last_batch + 1 },
            );
            let (deed, at_ms, asker) = (FolderDeed::Promoted, clock.now_ms(), asker.cloned());
            let fact = FolderFact { deed, at_ms, asker, before, after, shards: Vec::new(), shards_left_out: 0 };
            let fact = fact.with_shards(report.positions.iter().cloned());
            recovery.tell(folder_payload(&fact));
            promotion = Some(fact);
        }
        let journal = recovery.finish(&options.journal)?;
        if let Some(fact) = &promotion {
            trail.hear_folder(journal.durable(), fact);
            // The seal of the new epoch is durable: what was followed is another history from here on.
            Following::remove(folder.storage().as_ref())?;
        }
        #[cfg(feature = "mutants")]
        let journal = journal.skipping_syncs(options.mutant == Some(crate::Mutant::SkippedSync));

        let group_bytes_max = options.group_bytes_max();
        let room_bytes = options.journal.segment_bytes.min(8 * group_bytes_max as u64);
        let limits = GroupLimits { items_max: options.group_items_max.min(TURN_ITEMS_MAX), bytes_max: group_bytes_max, room_bytes };
        let handoff = Arc::new(Handoff::new(group_bytes_max, options.group_items_max));
        let (items, queue) = channel();
        let (wishes, wished) = channel();
        let depth = Arc::new(AtomicUsize::new(0));
        let bytes_since = Arc::new(AtomicU64::new(0));
        let keep_from = Arc::new(AtomicU64::new(u64::MAX));
        let stopping = Arc::new(AtomicBool::new(false));
        let reader = journal.reader();
        let room = journal.room();
        let epoch = journal.epoch();
        let readers = Arc::new(Readers::new(options.reader_lease_ms));
        let replicas = (options.replicas_min > 0).then(|| {
            let wait = Duration::from_millis(options.replicas_wait_ms);
            let (clock, observer, readers) = (Arc::clone(&clock), Arc::clone(&observer), Arc::clone(&readers));
            Arc::new(Replicas::new(options.replicas_min, wait, options.queue_max, journal.durable(), readers, clock, observer))
        });
        let feed = JournalFeed::new(reader.clone(), trail.clone(), epoch, Arc::clone(&clock), readers);
        let feed = Arc::new(feed.with_replicas(replicas.clone()));

        let sequencer = Sequencer::new(
            queue,
            Arc::clone(&depth),
            Arc::clone(&handoff),
            clock,
            Arc::clone(&observer),
            room.clone(),
            replicas.clone(),
            options.level,
            draw_seed(chance.as_ref())?,
            journal.epoch(),
            restored.states,
            limits,
        );
        #[cfg(feature = "mutants")]
        let sequencer = sequencer.with(options.mutant);
        let syncer = Syncer {
            journal,
            handoff: Arc::clone(&handoff),
            observer: Arc::clone(&observer),
            snapshots: wishes.clone(),
            trail: trail.clone(),
            replicas: replicas.clone(),
            bytes_since: Arc::clone(&bytes_since),
            snapshot_bytes: options.snapshot_bytes,
            stopping: Arc::clone(&stopping),
        };
        let snapshots = Snapshots {
            wishes: wished,
            reader: reader.clone(),
            chance,
            observer,
            trail: trail.clone(),
            bytes_since: Arc::clone(&bytes_since),
            keep_from: Arc::clone(&keep_from),
            feed: Arc::clone(&feed),
            stopping: Arc::clone(&stopping),
            verified: None,
        };
        let backend = LocalBackend {
            items,
            depth,
            queue_max: options.queue_max,
            level: options.level,
            handoff,
            stopping,
            wishes,
            bytes_since,
            keep_from,
            history: Arc::new(LocalHistory::new(reader.clone(), trail)),
            reader,
            feed,
            replicas,
            room,
            room_bytes,
            epoch,
            threads: Mutex::default(),
            _folder: folder,
        };
        Ok(Assembled { backend, sequencer, syncer, snapshots, report })
    }

    /// Makes a snapshot now, unless nothing has happened since the last one.
    ///
    /// # Errors
    /// If it cannot be written, or the journal not be read; the snapshots before it stay.
    pub fn snapshot(&self) -> BoxFuture<'static, Result<SnapshotReport, OpenError>> {
        let (reply, answer) = oneshot::channel();
        let wished = self.wishes.send(Wish::Make(Some(reply)));
        let stopped = || OpenError::Options { what: "the backend is about to stop".to_owned() };
        Box::pin(async move {
            wished.map_err(|_| stopped())?;
            answer.await.unwrap_or_else(|_| Err(stopped()))
        })
    }

    /// Keeps the journal from this batch on, whatever the snapshots hold, for somebody who still reads it.
    pub fn keep_from(&self, batch: u64) {
        self.keep_from.store(batch, Ordering::Relaxed);
    }

    /// Its entries, for the one follower that has to see each of them. From now on the journal is kept from where that one is; ask
    /// before the first snapshot.
    #[must_use]
    pub fn entries(&self) -> LocalEntries {
        LocalEntries::new(self.reader.clone(), Arc::clone(&self.keep_from))
    }

    /// The epoch of this start, which new entries carry: every start of a folder is an adoption.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Reads the durable journal, beside the sequencer.
    pub fn journal(&self) -> &JournalReader {
        &self.reader
    }

    /// Refuses whatever comes from now on, answers what came before, seals the journal, and waits until that is done. It
    /// blocks: call it where blocking is allowed. The data folder is released when the backend is dropped.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Nobody hears it if the threads have ended already.
        drop(self.items.send(Item::Stop));
        drop(self.wishes.send(Wish::Stop));
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        // The replicas' thread is the last, and ends once nobody can come to wait any more.
        for (name, thread) in threads {
            if let Some(replicas) = self.replicas.as_ref().filter(|_| name == REPLICAS) {
                replicas.end();
            }
            // A panic there has been reported by the panic hook.
            drop(thread.join());
        }
        // A disk that failed the journal is not written to any more; what waits is in the journal.
        if !self.handoff.poisoned() {
            self.history.end();
        }
    }

    fn start(&self, name: &'static str, run: impl FnOnce() + Send + 'static) -> Result<(), IoFailure> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(IoFailure::of("starting the thread", name))?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push((name, thread));
        Ok(())
    }

    /// Puts an item into the queue, or says why not.
    fn put<T: Send + 'static>(&self, item: impl FnOnce(Reply<T>) -> Item) -> BoxFuture<'static, Result<T, Failure>> {
        if self.stopping.load(Ordering::Relaxed) {
            return failed(Failure::ShuttingDown);
        }
        if self.depth.fetch_add(1, Ordering::Relaxed) >= self.queue_max {
            self.depth.fetch_sub(1, Ordering::Relaxed);
            return failed(Failure::Overloaded);
        }
        let (reply, answer) = oneshot::channel();
        if self.items.send(item(reply)).is_err() {
            self.depth.fetch_sub(1, Ordering::Relaxed);
            return failed(Failure::ShuttingDown);
        }
        // The sequencer or the syncer is gone with the question in hand: nobody knows what became of it.
        Box::pin(async move { answer.await.unwrap_or(Err(Failure::OutcomeUnknown)) })
    }

    fn unavailable(&self, levels: Levels) -> Option<Failure> {
        levels.iter().filter(|level| !self.offers().contains(*level)).last().map(Failure::LevelUnavailable)
    }
}

fn failed<T: Send + 'static>(failure: Failure) -> BoxFuture<'static, Result<T, Failure>> {
    Box::pin(std::future::ready(Err(failure)))
}

impl Backend for LocalBackend {
    fn name(&self) -> &'static str {
        "local"
    }

    fn offers(&self) -> Levels {
        let levels = Levels::reached(Level::Journaled);
        if self.replicas.is_some() { levels.and(Levels::reached(Level::Replicated)) } else { levels }
    }

    fn submit(&self, request: Request) -> BoxFuture<'static, Result<Answer, Failure>> {
        match self.unavailable(request.levels) {
            Some(failure) => failed(failure),
            None => self.put(|reply| Item::Submit(request, reply)),
        }
    }

    fn read(&self, shard: ShardId, query: Query, level: Option<Level>) -> BoxFuture<'static, Result<Reading, Failure>> {
        let level = level.unwrap_or(self.level);
        if !self.offers().contains(level) {
            return failed(Failure::LevelUnavailable(level));
        }
        self.put(|reply| Item::Read(shard, query, level, reply))
    }

    fn wait(&self, shard: ShardId, position: Position, level: Level) -> BoxFuture<'static, Result<Levels, Failure>> {
        if !self.offers().contains(level) {
            return failed(Failure::LevelUnavailable(level));
        }
        self.put(|reply| Item::Wait(shard, position, level, reply))
    }

    fn history(&self) -> Option<Arc<dyn History>> {
        Some(Arc::clone(&self.history) as Arc<dyn History>)
    }

    fn record_key(&self, fact: KeyFact) -> BoxFuture<'static, Result<bool, Failure>> {
        self.put(|reply| Item::RecordKey(Box::new(KeyFact { batch: 0, ..fact }), reply))
    }

    fn state_hash(&self, shard: ShardId) -> BoxFuture<'static, Result<(Position, StateHash), Failure>> {
        self.put(|reply| Item::Hash(shard, reply))
    }

    fn shards(&self) -> BoxFuture<'static, Result<Vec<ShardId>, Failure>> {
        self.put(Item::Shards)
    }

    fn status(&self) -> BackendStatus {
        let health = if self.handoff.poisoned() {
            Health::Poisoned
        } else if self.room.left_bytes().is_some_and(|left| left < self.room_bytes) {
            Health::Full
        } else if self.stopping.load(Ordering::Relaxed) {
            Health::Stopping
        } else {
            Health::Ready
        };
        BackendStatus {
            health,
            queue_depth: self.depth.load(Ordering::Relaxed),
            queue_max: self.queue_max,
            journal_bytes: self.bytes_since.load(Ordering::Relaxed),
        }
    }
}

impl JournalHost for LocalBackend {
    fn feed(&self) -> Option<Arc<JournalFeed>> {
        Some(Arc::clone(&self.feed))
    }
}

impl Drop for LocalBackend {
    fn drop(&mut self) {
        self.stop();
    }
}
