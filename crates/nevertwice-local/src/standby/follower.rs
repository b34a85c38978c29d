//! The thread that copies: it asks, writes, confirms by asking again, and starts anew where it has to.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use nevertwice_api::{GroupReport, Observer};

use super::applier::{Applier, Ask, Asks};
use super::copy::{Asker, Begun, JournalCopy, Progress};
use super::error::CopyError;
use super::host::StandbyOptions;
use crate::audit::{Facts, Trail};
use crate::backend::{Snapshots, Wish};
use crate::chance::SystemChance;
use crate::clock::{Clock, Stopwatch};
use crate::error::{AppendError, IoFailure, OpenError};
use crate::feed::{JournalFeed, Readers};
use crate::source::{Source, SourceError};
use crate::storage::Storage;

/// How long it waits before it asks again where it got nothing.
const RETRY_AFTER: Duration = Duration::from_millis(200);
/// The same for a source that does not wait itself.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(2);

/// How a standby is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It has not reached the source yet, or not again.
    Connecting,
    /// It makes its copy from the source's snapshot.
    Installing,
    /// It follows.
    Following,
    /// It has stopped: the source's journal is another history.
    Differs,
    /// It has stopped: its own folder can't be used any more.
    Failed,
    /// It was told to stop.
    Stopped,
}

/// What is known of the copying.
pub(super) struct Known {
    pub(super) phase: Phase,
    /// What is in the way, for people.
    pub(super) trouble: Option<String>,
    pub(super) durable: u64,
    pub(super) source_durable: u64,
    /// When the source was last heard, and when all that it had then was durable here.
    pub(super) heard_at_ms: i64,
    pub(super) level_at_ms: i64,
    pub(super) feed: Option<Arc<JournalFeed>>,
    pub(super) asks: Option<Asks>,
}

/// What the thread shares with who asks how it is.
pub(super) struct Shared {
    known: Mutex<Known>,
    pub(super) applied: Arc<AtomicU64>,
    stop: AtomicBool,
    told: Condvar,
}

impl Shared {
    pub(super) fn new(now_ms: i64) -> Shared {
        let known = Known {
            phase: Phase::Connecting,
            trouble: None,
            durable: 0,
            source_durable: 0,
            heard_at_ms: now_ms,
            level_at_ms: now_ms,
            feed: None,
            asks: None,
        };
        Shared { known: Mutex::new(known), applied: Arc::default(), stop: AtomicBool::new(false), told: Condvar::new() }
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stop(&self) {
        let _known = self.known();
        self.stop.store(true, Ordering::SeqCst);
        self.told.notify_all();
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Waits, unless it is told to stop.
    fn pause(&self, pause: Duration) {
        let known = self.known();
        if !self.is_stopped() {
            drop(self.told.wait_timeout(known, pause));
        }
    }

    fn enter(&self, phase: Phase, trouble: Option<String>) {
        let mut known = self.known();
        (known.phase, known.trouble) = (phase, trouble);
    }
}

pub(super) struct Follower {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) observer: Arc<dyn Observer>,
    pub(super) source: Box<dyn Source>,
    pub(super) options: StandbyOptions,
    pub(super) shared: Arc<Shared>,
}

/// A copy at work: with the threads beside it.
struct Working {
    copy: JournalCopy,
    trail: Trail,
    asks: Asks,
    applier: JoinHandle<Result<(), OpenError>>,
    wishes: Sender<Wish>,
    snapshots: JoinHandle<()>,
    bytes_since: Arc<AtomicU64>,
    keep_from: Arc<AtomicU64>,
    /// Gives up a snapshot that is under way.
    stopping: Arc<AtomicBool>,
}

impl Follower {
    /// Follows until it is told to stop, or can't go on.
    pub(super) fn run(mut self, mut resumed: Option<Begun>) {
        while !self.shared.is_stopped() {
            let copied = match resumed.take() {
                Some(copied) => copied,
                None => match self.install() {
                    Some(copied) => copied,
                    None => break,
                },
            };
            let mut working = match self.set_to_work(copied) {
                Ok(working) => working,
                Err(error) => return self.give_up(Phase::Failed, &error),
            };
            let ended = self.follow(&mut working);
            self.put_down(working);
            match ended {
                Ok(()) => break,
                Err(CopyError::Source(SourceError::Pruned | SourceError::NoSnapshot)) => {
                    tracing::warn!("the source has removed the batches that come next: beginning anew with its snapshot");
                }
                Err(error @ CopyError::Source(SourceError::Differs)) => return self.give_up(Phase::Differs, &error),
                Err(error) => return self.give_up(Phase::Failed, &error),
            }
        }
        self.shared.enter(Phase::Stopped, None);
    }

    fn give_up(&self, phase: Phase, error: &dyn std::fmt::Display) {
        tracing::error!(%error, "the standby does not follow any more");
        self.shared.enter(phase, Some(error.to_string()));
    }

    /// Makes a new copy, as soon as the source lets it; none if it is told to stop before.
    fn install(&mut self) -> Option<Begun> {
        self.shared.enter(Phase::Installing, None);
        let journal = self.options.local.journal.clone();
        while !self.shared.is_stopped() {
            match JournalCopy::install(&self.storage, self.source.as_mut(), &journal, &SystemChance) {
                Ok(copied) => return Some(copied),
                Err(error) => {
                    tracing::warn!(%error, "no copy could be made yet");
                    self.shared.enter(Phase::Installing, Some(error.to_string()));
                    self.shared.pause(RETRY_AFTER);
                }
            }
        }
        None
    }

    fn set_to_work(&self, Begun { copy, states, trail }: Begun) -> Result<Working, IoFailure> {
        let reader = copy.reader();
        let readers = Arc::new(Readers::new(self.options.local.reader_lease_ms));
        let feed = Arc::new(JournalFeed::new(reader.clone(), trail.clone(), copy.epoch(), Arc::clone(&self.clock), readers));
        let (bytes_since, keep_from) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(copy.keep_from())));
        let stopping = Arc::new(AtomicBool::new(false));
        let (wishes, wished) = channel();
        let snapshots = Snapshots {
            wishes: wished,
            reader: reader.clone(),
            chance: Arc::new(SystemChance),
            observer: Arc::clone(&self.observer),
            trail: trail.clone(),
            bytes_since: Arc::clone(&bytes_since),
            keep_from: Arc::clone(&keep_from),
            feed: Arc::clone(&feed),
            stopping: Arc::clone(&stopping),
            verified: None,
        };
        let (asks, asked) = channel();
        let applier = Applier {
            reader,
            states,
            trail: trail.clone(),
            wishes: wishes.clone(),
            facts: Facts::default(),
            after: copy.durable(),
            asks: asked,
            applied: Arc::clone(&self.shared.applied),
        };
        let applier = spawn("applier", move || applier.run())?;
        let snapshots = spawn("snapshots", move || snapshots.run())?;
        let mut known = self.shared.known();
        known.durable = copy.durable();
        (known.feed, known.asks) = (Some(feed), Some(asks.clone()));
        (known.phase, known.trouble) = (Phase::Connecting, None);
        self.shared.applied.store(copy.durable(), Ordering::Release);
        drop(known);
        Ok(Working { copy, trail, asks, applier, wishes, snapshots, bytes_since, keep_from, stopping })
    }

    /// Ends the threads, and writes down how far the copy is.
    fn put_down(&self, working: Working) {
        {
            let mut known = self.shared.known();
            (known.feed, known.asks) = (None, None);
        }
        let Working { copy, trail, asks, applier, wishes, snapshots, stopping, .. } = working;
        stopping.store(true, Ordering::Relaxed);
        drop((asks, wishes.send(Wish::Stop)));
        drop(snapshots.join());
        if let Ok(Err(error)) = applier.join() {
            tracing::error!(%error, "what was copied could not be applied");
        }
        if trail.has_news() {
            trail.flush();
        }
        if let Err(error) = copy.leave() {
            tracing::warn!(%error, "how far the copy is was not written down; the next start finds out");
        }
    }

    fn follow(&mut self, working: &mut Working) -> Result<(), CopyError> {
        let asker = Asker { name: self.options.name.clone(), wait_ms: self.options.wait_ms };
        while !self.shared.is_stopped() {
            if working.applier.is_finished() {
                let what = "what was copied could not be applied; the log says why".to_owned();
                return Err(CopyError::Open(OpenError::NotServable { what }));
            }
            let watch = Stopwatch::start();
            match working.copy.pull(self.source.as_mut(), &asker) {
                Ok(progress) => {
                    self.came(working, progress, watch)?;
                    if progress.batches == 0 && !self.source.waits() {
                        self.shared.pause(LOOK_AGAIN_AFTER);
                    }
                }
                Err(CopyError::Source(
                    error @ (SourceError::Unreachable(_) | SourceError::Refused(_) | SourceError::ReadersFull | SourceError::Bad(_)),
                )) => {
                    self.shared.enter(Phase::Connecting, Some(error.to_string()));
                    self.shared.pause(RETRY_AFTER);
                }
                Err(CopyError::Append(error @ AppendError::Full)) => {
                    self.shared.enter(Phase::Following, Some(error.to_string()));
                    self.shared.pause(RETRY_AFTER);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn came(&self, working: &mut Working, progress: Progress, watch: Stopwatch) -> Result<(), CopyError> {
        let now_ms = self.clock.now_ms();
        {
            let mut known = self.shared.known();
            (known.phase, known.trouble) = (Phase::Following, None);
            (known.durable, known.source_durable) = (progress.durable, progress.source_durable);
            known.heard_at_ms = now_ms;
            if progress.durable >= progress.source_durable {
                known.level_at_ms = now_ms;
            }
        }
        if progress.batches == 0 {
            return Ok(());
        }
        // It hears of it once it listens again.
        drop(working.asks.send(Ask::Advance));
        let (entries, bytes) = (progress.entries as usize, progress.bytes as usize);
        self.observer.group(GroupReport { items: 0, entries, bytes, decide: Duration::ZERO, sync: watch.took() });
        self.wish_for_snapshot(working, progress.bytes)
    }

    fn wish_for_snapshot(&self, working: &mut Working, bytes: u64) -> Result<(), CopyError> {
        let every = self.options.local.snapshot_bytes;
        let before = working.bytes_since.fetch_add(bytes, Ordering::Relaxed);
        if every > 0 && before < every && before + bytes >= every {
            // What it still needs after a crash is kept, so it should not need much.
            working.copy.write_place()?;
            working.keep_from.store(working.copy.keep_from().min(self.shared.applied.load(Ordering::Acquire) + 1), Ordering::Relaxed);
            drop(working.wishes.send(Wish::Make(None)));
        }
        Ok(())
    }
}

fn spawn<T: Send + 'static>(name: &'static str, run: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>, IoFailure> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(IoFailure::of("starting the thread", name))
}
