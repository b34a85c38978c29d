//! A backend whose "yes" can wait for the ledger.
//!
//! It decides nothing: the backend below it does, and a writer follows that one. What is told here at the level `ledgered` was computed
//! at a position that is in the ledger, be it accepted, rejected, replayed or read.

use std::sync::Arc;
use std::time::Duration;

use nevertwice_api::{Answer, Backend, BackendStatus, BoxFuture, Failure, History, KeyFact, Level, Levels, Reading, Request};
use nevertwice_core::{Decision, Position, Query, ShardId, StateHash};
use tokio::time::timeout;

use crate::writer::{Now, Stopped, Watermarks};

/// How answers wait for the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgeredOptions {
    /// Whether every answer waits for the ledger, or only those that ask for it.
    pub is_default: bool,
    /// How long an answer waits before its outcome is told to be unknown, in milliseconds.
    pub wait_ms: u64,
    /// How far the ledger may be behind before nothing is decided any more, in milliseconds.
    pub lag_ms_max: u64,
}

/// A backend whose answers can wait for the ledger.
pub struct Ledgered {
    inner: Arc<dyn Backend>,
    waits: Arc<Waits>,
}

struct Waits {
    watermarks: Arc<Watermarks>,
    now: Now,
    options: LedgeredOptions,
}

/// What an answer that has waited for the ledger has reached, beside what the backend said.
const LEDGERED: Levels = Levels::reached(Level::Ledgered);

impl Ledgered {
    /// A backend that is followed by the writer of these watermarks. Its own level must be one at which answers are durable there:
    /// a writer reads nothing else.
    #[must_use]
    pub fn new(inner: Arc<dyn Backend>, watermarks: Arc<Watermarks>, now: Now, options: LedgeredOptions) -> Ledgered {
        Ledgered { inner, waits: Arc::new(Waits { watermarks, now, options }) }
    }

    fn is_ledgered(&self, asked: bool) -> bool {
        asked || self.waits.options.is_default
    }
}

impl Waits {
    /// Why nothing is decided now.
    fn refusal(&self, shard: &ShardId) -> Option<Failure> {
        if let Some(Stopped(what)) = self.watermarks.stopped(shard) {
            return Some(Failure::LedgerStopped { what });
        }
        let (lag_ms, lag_ms_max) = (self.watermarks.lag_ms((self.now)()), self.options.lag_ms_max);
        (lag_ms > lag_ms_max).then_some(Failure::LedgerBehind { lag_ms, lag_ms_max })
    }

    async fn reach(&self, shard: &ShardId, position: Position) -> Result<(), Failure> {
        match timeout(Duration::from_millis(self.options.wait_ms), self.watermarks.wait(shard, position)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(Stopped(what))) => Err(Failure::LedgerStopped { what }),
            Err(_) => Err(Failure::OutcomeUnknown),
        }
    }

    /// The same for a decision: what was decided here and is not in the ledger may yet be undone, so nobody is told what it was, nor
    /// that nothing was done.
    async fn reach_decided(&self, shard: &ShardId, position: Position) -> Result<(), Failure> {
        self.reach(shard, position).await.map_err(|_| Failure::OutcomeUnknown)
    }
}

/// The set without `ledgered`, which the backend below does not know, and with what a writer needs.
fn below(levels: Levels) -> Levels {
    levels
        .iter()
        .filter(|level| *level != Level::Ledgered)
        .fold(Levels::reached(Level::Journaled), |all, level| all.and(Levels::reached(level)))
}

impl Backend for Ledgered {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn offers(&self) -> Levels {
        self.inner.offers().and(LEDGERED)
    }

    fn submit(&self, request: Request) -> BoxFuture<'static, Result<Answer, Failure>> {
        if let Some(failure) = self.waits.refusal(&request.shard) {
            return Box::pin(std::future::ready(Err(failure)));
        }
        let (shard, waits) = (request.shard.clone(), Arc::clone(&self.waits));
        let is_ledgered = self.is_ledgered(request.levels.contains(Level::Ledgered));
        let levels = if is_ledgered { below(request.levels) } else { request.levels };
        let answer = self.inner.submit(Request { levels, ..request });
        Box::pin(async move {
            let mut answer = answer.await?;
            if let Decision::Accepted(entry) = &answer.decision {
                waits.watermarks.decided(&shard, entry.position, entry.at_ms);
            }
            if is_ledgered {
                waits.reach_decided(&shard, answer.position).await?;
            }
            if is_ledgered || answer.position <= waits.watermarks.of(&shard) {
                answer.levels = answer.levels.and(LEDGERED);
            }
            Ok(answer)
        })
    }

    fn record_key(&self, fact: KeyFact) -> BoxFuture<'static, Result<bool, Failure>> {
        self.inner.record_key(fact)
    }

    fn read(&self, shard: ShardId, query: Query, level: Option<Level>) -> BoxFuture<'static, Result<Reading, Failure>> {
        let waits = Arc::clone(&self.waits);
        let is_ledgered = level.map_or(waits.options.is_default, |level| level == Level::Ledgered);
        let level = if is_ledgered { Some(Level::Journaled) } else { level };
        let reading = self.inner.read(shard.clone(), query, level);
        Box::pin(async move {
            let mut reading = reading.await?;
            if is_ledgered {
                waits.reach(&shard, reading.position).await?;
                reading.levels = reading.levels.and(LEDGERED);
            }
            Ok(reading)
        })
    }

    fn wait(&self, shard: ShardId, position: Position, level: Level) -> BoxFuture<'static, Result<Levels, Failure>> {
        if level != Level::Ledgered {
            return self.inner.wait(shard, position, level);
        }
        let waits = Arc::clone(&self.waits);
        // It tells as well whether the position is one of the shard's history.
        let journaled = self.inner.wait(shard.clone(), position, Level::Journaled);
        Box::pin(async move {
            let levels = journaled.await?;
            waits.reach(&shard, position).await?;
            Ok(levels.and(LEDGERED))
        })
    }

    fn state_hash(&self, shard: ShardId) -> BoxFuture<'static, Result<(Position, StateHash), Failure>> {
        self.inner.state_hash(shard)
    }

    fn history(&self) -> Option<Arc<dyn History>> {
        self.inner.history()
    }

    fn shards(&self) -> BoxFuture<'static, Result<Vec<ShardId>, Failure>> {
        self.inner.shards()
    }

    fn status(&self) -> BackendStatus {
        self.inner.status()
    }
}
