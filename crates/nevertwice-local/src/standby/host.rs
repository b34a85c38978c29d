//! The standby as a backend that decides nothing, and its promotion.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

use nevertwice_api::{
    Answer, Backend, BackendStatus, BoxFuture, Failure, FolderAsker, Health, History, KeyFact, Level, Levels, Observer, Reading, Request,
};
use nevertwice_core::{Position, Query, ShardId, StateHash};
use tokio::sync::oneshot;

use super::applier::Ask;
use super::copy::JournalCopy;
use super::follower::{Follower, Phase, Shared};
use crate::backend::{LocalBackend, LocalOptions};
use crate::backup::ShardAt;
use crate::chance::SystemChance;
use crate::clock::Clock;
use crate::error::{IoFailure, OpenError};
use crate::feed::{JournalFeed, JournalHost};
use crate::restore::RestoreReport;
use crate::source::Source;
use crate::storage::{FolderClaim, Storage};

/// How a standby is set up.
#[derive(Debug, Clone)]
pub struct StandbyOptions {
    /// The name under which the source knows it.
    pub name: String,
    /// How long it lets the source wait for the next batch, in milliseconds: well under the source's lease.
    pub wait_ms: u64,
    /// How the backend is set up that it becomes when it is promoted; its journal's layout and its snapshots are so already now.
    pub local: LocalOptions,
}

/// How a standby is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandbyStatus {
    /// What it does; none once it was promoted.
    pub phase: Option<Phase>,
    /// What is in the way, for people.
    pub trouble: Option<String>,
    /// The last batch that is durable here.
    pub batch: u64,
    /// The last batch that is applied here.
    pub applied: u64,
    /// The last batch that was durable at the source when it last answered.
    pub source_batch: u64,
    /// How old what is here may be, in milliseconds: 0 while it follows and has all that it knows of.
    pub lag_ms: u64,
    /// How long the source has been silent, in milliseconds.
    pub silent_ms: u64,
}

impl StandbyStatus {
    /// How many batches are known of and not here.
    #[must_use]
    pub fn lag_batches(&self) -> u64 {
        self.source_batch.saturating_sub(self.batch)
    }
}

/// What ends a source's waiting.
type Interrupt = Box<dyn Fn() + Send + Sync>;

/// A standby at work. As a backend it refuses everything, until it was promoted: then it is the backend that it became.
pub struct Standby {
    storage: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    options: StandbyOptions,
    shared: Arc<Shared>,
    interrupt: Interrupt,
    running: Mutex<Option<Running>>,
    promoted: OnceLock<(Arc<LocalBackend>, RestoreReport)>,
}

struct Running {
    thread: JoinHandle<()>,
    _claim: Box<dyn FolderClaim>,
}

impl Standby {
    /// Claims the folder, goes on with the copy in it if there is one, and follows the source from then on, in threads of its
    /// own. `interrupt` ends whatever the source waits for.
    ///
    /// # Errors
    /// If the folder is in use, holds something else than a standby's copy, or is damaged.
    pub fn open(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
        source: Box<dyn Source>,
        interrupt: impl Fn() + Send + Sync + 'static,
        options: StandbyOptions,
    ) -> Result<Standby, OpenError> {
        let claim = storage.claim().map_err(|error| match error.kind() {
            std::io::ErrorKind::WouldBlock => OpenError::InUse,
            _ => IoFailure::new("claiming", "", error).into(),
        })?;
        let resumed = JournalCopy::resume(&storage, &options.local.journal, &SystemChance)?;
        let shared = Arc::new(Shared::new(clock.now_ms()));
        let follower = Follower {
            storage: Arc::clone(&storage),
            clock: Arc::clone(&clock),
            observer: Arc::clone(&observer),
            source,
            options: options.clone(),
            shared: Arc::clone(&shared),
        };
        let thread = std::thread::Builder::new().name("follower".to_owned()).spawn(move || follower.run(resumed));
        let thread = thread.map_err(IoFailure::of("starting the thread", "follower"))?;
        let running = Mutex::new(Some(Running { thread, _claim: claim }));
        Ok(Standby { storage, clock, observer, options, shared, interrupt: Box::new(interrupt), running, promoted: OnceLock::new() })
    }

    /// How it is.
    #[must_use]
    pub fn status(&self) -> StandbyStatus {
        let now_ms = self.clock.now_ms();
        let applied = self.shared.applied.load(Ordering::Acquire);
        let known = self.shared.known();
        let since = |at_ms: i64| u64::try_from(now_ms.saturating_sub(at_ms)).unwrap_or(0);
        let silent_ms = since(known.heard_at_ms);
        // While the source has nothing new it answers after the time that it was asked to wait.
        let hears = known.phase == Phase::Following && silent_ms <= 2 * self.options.wait_ms;
        let level = known.durable >= known.source_durable;
        StandbyStatus {
            phase: self.promoted.get().is_none().then_some(known.phase),
            trouble: known.trouble.clone(),
            batch: known.durable,
            applied,
            source_batch: known.source_durable,
            lag_ms: if hears && level { 0 } else { since(known.level_at_ms) },
            silent_ms,
        }
    }

    /// Where the shards are; none while there is no copy.
    pub fn positions(&self) -> BoxFuture<'static, Vec<(ShardId, Position)>> {
        let asked = self.ask(Ask::Positions);
        Box::pin(async move { asked.await.unwrap_or_default() })
    }

    /// Where the shards are, with their state hashes: it walks all states.
    pub fn shards(&self) -> BoxFuture<'static, Vec<ShardAt>> {
        let asked = self.ask(Ask::Shards);
        Box::pin(async move { asked.await.unwrap_or_default() })
    }

    fn ask<T: Send + 'static>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> Ask) -> BoxFuture<'static, Option<T>> {
        let (reply, answer) = oneshot::channel();
        let asked = self.shared.known().asks.as_ref().is_some_and(|asks| asks.send(ask(reply)).is_ok());
        Box::pin(async move { if asked { answer.await.ok() } else { None } })
    }

    /// The backend that it became, and what was recovered then; none before.
    #[must_use]
    pub fn promoted(&self) -> Option<&(Arc<LocalBackend>, RestoreReport)> {
        self.promoted.get()
    }

    /// Stops following, and becomes the backend that decides, in an epoch that nobody can have used. It blocks while the folder
    /// is recovered. Once it was promoted it says so again. The audit tells who asked for it.
    ///
    /// # Errors
    /// If there is no finished copy, or the folder cannot be served; it does not follow any more then.
    pub fn promote(&self, asker: Option<&FolderAsker>) -> Result<&(Arc<LocalBackend>, RestoreReport), OpenError> {
        let mut running = self.running();
        if let Some(promoted) = self.promoted.get() {
            return Ok(promoted);
        }
        self.end(&mut running);
        let storage = Arc::clone(&self.storage);
        let (clock, observer) = (Arc::clone(&self.clock), Arc::clone(&self.observer));
        let (backend, report) = LocalBackend::promote(storage, clock, observer, &self.options.local, asker)?;
        tracing::warn!(batch = report.journal.last_batch, epoch = backend.epoch(), "promoted: this server decides from now on");
        Ok(self.promoted.get_or_init(|| (Arc::new(backend), report)))
    }

    /// Stops following, or deciding once it was promoted, and writes down how far it is. It blocks.
    pub fn stop(&self) {
        self.end(&mut self.running());
        if let Some((backend, _)) = self.promoted.get() {
            backend.stop();
        }
    }

    fn end(&self, running: &mut Option<Running>) {
        self.shared.stop();
        (self.interrupt)();
        if let Some(Running { thread, _claim }) = running.take() {
            // A panic there has been reported by the panic hook.
            drop(thread.join());
        }
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn backend(&self) -> Option<&LocalBackend> {
        self.promoted.get().map(|(backend, _)| backend.as_ref())
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        self.stop();
    }
}

impl JournalHost for Standby {
    fn feed(&self) -> Option<Arc<JournalFeed>> {
        match self.backend() {
            Some(backend) => backend.feed(),
            None => self.shared.known().feed.clone(),
        }
    }
}

fn refused<T: Send + 'static>() -> BoxFuture<'static, Result<T, Failure>> {
    Box::pin(std::future::ready(Err(Failure::StandbyFollows)))
}

impl Backend for Standby {
    fn name(&self) -> &'static str {
        self.backend().map_or("standby", LocalBackend::name)
    }

    fn offers(&self) -> Levels {
        self.backend().map_or(Levels::NONE, LocalBackend::offers)
    }

    fn submit(&self, request: Request) -> BoxFuture<'static, Result<Answer, Failure>> {
        self.backend().map_or_else(refused, |backend| backend.submit(request))
    }

    fn record_key(&self, fact: KeyFact) -> BoxFuture<'static, Result<bool, Failure>> {
        self.backend().map_or_else(refused, |backend| backend.record_key(fact))
    }

    fn read(&self, shard: ShardId, query: Query, level: Option<Level>) -> BoxFuture<'static, Result<Reading, Failure>> {
        self.backend().map_or_else(refused, |backend| backend.read(shard, query, level))
    }

    fn wait(&self, shard: ShardId, position: Position, level: Level) -> BoxFuture<'static, Result<Levels, Failure>> {
        self.backend().map_or_else(refused, |backend| backend.wait(shard, position, level))
    }

    fn state_hash(&self, shard: ShardId) -> BoxFuture<'static, Result<(Position, StateHash), Failure>> {
        if let Some(backend) = self.backend() {
            return backend.state_hash(shard);
        }
        let asked = self.ask(|reply| Ask::Hash(shard, reply));
        Box::pin(async move { asked.await.flatten().ok_or(Failure::StandbyFollows) })
    }

    fn shards(&self) -> BoxFuture<'static, Result<Vec<ShardId>, Failure>> {
        self.backend().map_or_else(refused, Backend::shards)
    }

    fn history(&self) -> Option<Arc<dyn History>> {
        self.backend()?.history()
    }

    fn status(&self) -> BackendStatus {
        match self.backend() {
            Some(backend) => backend.status(),
            None => BackendStatus { health: Health::Following, queue_depth: 0, queue_max: 0, journal_bytes: 0 },
        }
    }
}
