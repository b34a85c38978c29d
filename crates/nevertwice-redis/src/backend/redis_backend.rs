//! What callers hold.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use nevertwice_api::{Answer, Backend, BackendStatus, BoxFuture, Failure, Health, Level, Levels, Reading, Request};
use nevertwice_core::{Position, Query, ShardId, StateHash};
use tokio::sync::{mpsc, oneshot};

use super::RedisOptions;
use super::place::Place;
use super::turns::{Item, Turns};
use super::views;
use crate::clock::Clock;
use crate::shard::Odd;
use crate::{LinkFailure, Runner, ServerRefusal};

/// The backend that is made of Lua scripts: any number of processes may share one server.
///
/// Of the levels it offers `decided`.
pub struct RedisBackend {
    shared: Arc<Shared>,
    queue: mpsc::Sender<Item>,
}

/// What all tasks of a backend share.
pub(super) struct Shared {
    pub(super) runner: Runner,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) options: RedisOptions,
    pub(super) depth: AtomicUsize,
    place: Mutex<Place>,
}

impl Shared {
    pub(super) fn place(&self) -> Place {
        self.place.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    pub(super) fn set_place(&self, place: Place) {
        *self.place.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = place;
    }
}

impl RedisBackend {
    pub(super) fn start(runner: Runner, clock: Arc<dyn Clock>, options: RedisOptions, place: Place) -> Self {
        let (queue, items) = mpsc::channel(options.queue_max.max(1));
        let shared = Arc::new(Shared { runner, clock, options, depth: AtomicUsize::new(0), place: Mutex::new(place) });
        tokio::spawn(Turns::new(Arc::clone(&shared), items).run());
        Self { shared, queue }
    }

    /// The epoch in which it decides.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.shared.place().epoch
    }
}

const OFFERS: Levels = Levels::reached(Level::Decided);

fn check_level(levels: impl Iterator<Item = Level>) -> Result<(), Failure> {
    let mut levels = levels;
    levels.find(|level| !OFFERS.contains(*level)).map_or(Ok(()), |level| Err(Failure::LevelUnavailable(level)))
}

impl Backend for RedisBackend {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn offers(&self) -> Levels {
        OFFERS
    }

    fn submit(&self, request: Request) -> BoxFuture<'static, Result<Answer, Failure>> {
        if let Err(failure) = check_level(request.levels.iter()) {
            return Box::pin(async move { Err(failure) });
        }
        let (reply, answer) = oneshot::channel();
        // Counted before it can be taken out again.
        self.shared.depth.fetch_add(1, Ordering::Relaxed);
        let queued = self.queue.try_send(Item { request, reply });
        if queued.is_err() {
            self.shared.depth.fetch_sub(1, Ordering::Relaxed);
        }
        Box::pin(async move {
            match queued {
                // A task that is gone may have sent it.
                Ok(()) => answer.await.unwrap_or(Err(Failure::OutcomeUnknown)),
                Err(mpsc::error::TrySendError::Full(_)) => Err(Failure::Overloaded),
                Err(mpsc::error::TrySendError::Closed(_)) => Err(Failure::ShuttingDown),
            }
        })
    }

    fn read(&self, shard: ShardId, query: Query, level: Option<Level>) -> BoxFuture<'static, Result<Reading, Failure>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            check_level(level.into_iter())?;
            let read = views::read(&shared, &shard, &query).await?;
            let position = read.head.map(|head| head.position).unwrap_or_default();
            Ok(Reading { view: read.view, position, levels: OFFERS })
        })
    }

    fn wait(&self, shard: ShardId, position: Position, level: Level) -> BoxFuture<'static, Result<Levels, Failure>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            check_level([level].into_iter())?;
            if views::contains(&shared, &shard, position).await? { Ok(OFFERS) } else { Err(Failure::PositionUnknown) }
        })
    }

    fn state_hash(&self, shard: ShardId) -> BoxFuture<'static, Result<(Position, StateHash), Failure>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { views::state_hash(&shared, &shard).await })
    }

    fn shards(&self) -> BoxFuture<'static, Result<Vec<ShardId>, Failure>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { views::shards(&shared).await })
    }

    fn status(&self) -> BackendStatus {
        BackendStatus {
            health: Health::Ready,
            queue_depth: self.shared.depth.load(Ordering::Relaxed),
            queue_max: self.shared.options.queue_max,
            journal_bytes: 0,
        }
    }
}

/// What callers hear if the server did not answer.
pub(super) fn failure_of_link(failure: &LinkFailure) -> Failure {
    tracing::warn!(%failure, "no reply from the Redis server");
    match failure {
        LinkFailure::Unreachable(_) => Failure::BackendUnavailable,
        LinkFailure::Lost(_) => Failure::OutcomeUnknown,
    }
}

/// What callers hear if the server refused.
pub(super) fn failure_of_server(error: &redis::ServerError) -> Failure {
    failure_of_refusal(&ServerRefusal::of(error))
}

/// The same, of what it said.
pub(super) fn failure_of_refusal(refusal: &ServerRefusal) -> Failure {
    tracing::warn!(%refusal, "the Redis server refused");
    match refusal {
        ServerRefusal::Failed(_) => Failure::OutcomeUnknown,
        _ => Failure::BackendUnavailable,
    }
}

/// What callers hear of a reply that this program does not understand.
pub(super) fn unexpected(odd: &Odd) -> Failure {
    tracing::error!(%odd, "the Redis server's reply is not what it should be");
    match odd {
        Odd::TooNew => Failure::BackendUnavailable,
        Odd::Shape(_) => Failure::OutcomeUnknown,
    }
}
