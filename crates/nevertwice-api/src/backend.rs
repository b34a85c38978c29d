//! What every deciding place promises.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use nevertwice_core::{Command, Decision, Position, Query, Rejection, ShardId, StateHash, View};

use crate::{BackendStatus, ErrorCode, History, KeyFact, Level, Levels};

/// A future that a trait object can return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One command for one shard.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which shard decides.
    pub shard: ShardId,
    /// Who means what.
    pub command: Command,
    /// Levels that the answer has to have reached, beside the shard's own.
    pub levels: Levels,
}

/// What became of a command, said when it is safe to say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Accepted, rejected or replayed.
    pub decision: Decision,
    /// The shard's position at which the decision was made: for an accepted one its own.
    pub position: Position,
    /// Which levels that position has reached.
    pub levels: Levels,
}

/// What was read, said when it is safe to say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What was read, or that it does not exist.
    pub view: Result<View, Rejection>,
    /// The shard's position as of which it was read.
    pub position: Position,
    /// Which levels that position has reached.
    pub levels: Levels,
}

/// Why a backend has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Too much is waiting. Nothing was done.
    Overloaded,
    /// The journal can't be written any more; nothing is decided until a restart. What was asked may or may not have happened
    /// if it was under way: the same key tells, after the restart.
    JournalFailed,
    /// The disk is full; nothing is decided until there is space.
    StorageFull,
    /// The deadline passed, or the answer was lost, before the level was reached. The same key tells.
    OutcomeUnknown,
    /// This backend does not offer that level. Nothing was done.
    LevelUnavailable(Level),
    /// The backend is about to stop. Nothing was done.
    ShuttingDown,
    /// The position is not one of the shard's history.
    PositionUnknown,
    /// Too few replicas confirm for the level that was asked for. Nothing was done by this attempt.
    ReplicasShort {
        /// How many confirm, and were heard lately. As many as have to: they are there, and late with what waited for them.
        live: usize,
        /// How many have to.
        min: usize,
    },
    /// The ledger is further behind than it may be. Nothing was done.
    LedgerBehind {
        /// How far, in milliseconds.
        lag_ms: u64,
        /// How far it may be, in milliseconds.
        lag_ms_max: u64,
    },
    /// The ledger takes nothing more of the shard: what it holds contradicts what was decided. Nothing was done.
    LedgerStopped {
        /// Why, for people.
        what: String,
    },
    /// This is a standby, which decides and reads nothing. Nothing was done.
    StandbyFollows,
    /// The server that decides can't be used: it can't be reached, or refuses. Nothing was done.
    BackendUnavailable,
}

impl Failure {
    /// The code that the API shows.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Overloaded => ErrorCode::Overloaded,
            Self::JournalFailed => ErrorCode::JournalFailed,
            Self::StorageFull => ErrorCode::StorageFull,
            Self::OutcomeUnknown => ErrorCode::OutcomeUnknown,
            Self::LevelUnavailable(_) => ErrorCode::LevelUnavailable,
            Self::ShuttingDown => ErrorCode::ShuttingDown,
            Self::PositionUnknown => ErrorCode::PositionUnknown,
            Self::ReplicasShort { .. } => ErrorCode::ReplicasShort,
            Self::LedgerBehind { .. } => ErrorCode::LedgerBehind,
            Self::LedgerStopped { .. } => ErrorCode::LedgerStopped,
            Self::StandbyFollows => ErrorCode::StandbyFollows,
            Self::BackendUnavailable => ErrorCode::BackendUnavailable,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LevelUnavailable(level) => write!(f, "{}: {level}", self.code().title()),
            other => f.write_str(other.code().title()),
        }
    }
}

impl std::error::Error for Failure {}

/// A place that decides: the same decisions, entries and state hashes, whatever it is made of.
///
/// Every answer is safe: it is sent only once the position at which it was computed has reached the shard's level and those
/// that the request added. That holds for replays, rejections and reads as well, or a retry could be told "yes", or a rival
/// "sold out", for a decision that a power cut then forgets.
pub trait Backend: Send + Sync + 'static {
    /// What it is, for people: `local`, `redis`.
    fn name(&self) -> &'static str;

    /// The levels that it can reach.
    fn offers(&self) -> Levels;

    /// Submits one command. It stands in the queue when this returns, in the order of the calls; dropping the future loses
    /// the answer and changes nothing else.
    fn submit(&self, request: Request) -> BoxFuture<'static, Result<Answer, Failure>>;

    /// Reads, as of a position that has reached `level`, or the shard's own where none is given.
    fn read(&self, shard: ShardId, query: Query, level: Option<Level>) -> BoxFuture<'static, Result<Reading, Failure>>;

    /// Waits until the position has reached a level, and tells all that it has reached.
    fn wait(&self, shard: ShardId, position: Position, level: Level) -> BoxFuture<'static, Result<Levels, Failure>>;

    /// The state hash of a shard and the position that it belongs to. It walks the whole state where the shard is decided,
    /// so it is for tests, for reconciliation and for the time after a recovery, not for the hours of a sale.
    fn state_hash(&self, shard: ShardId) -> BoxFuture<'static, Result<(Position, StateHash), Failure>>;

    /// What has happened, for who asks afterwards; none where nobody keeps it.
    fn history(&self) -> Option<Arc<dyn History>> {
        None
    }

    /// Tells the audit what an operator is about to do to the record of a key. The answer, once that is durable: true; or false where
    /// nobody keeps an audit.
    fn record_key(&self, _fact: KeyFact) -> BoxFuture<'static, Result<bool, Failure>> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// The shards that are open, in the order of their names.
    fn shards(&self) -> BoxFuture<'static, Result<Vec<ShardId>, Failure>>;

    /// How it is.
    fn status(&self) -> BackendStatus;
}
