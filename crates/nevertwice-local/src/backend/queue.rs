//! What callers put before the sequencer, and what they get back.

use nevertwice_api::{Answer, Failure, KeyFact, Level, Levels, Reading, Request};
use nevertwice_core::{Position, Query, ShardId, StateHash};
use tokio::sync::oneshot;

/// Where one answer goes. Its receiver may be gone: who hangs up loses the answer and nothing else.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, Failure>>;

/// One thing to do.
pub(crate) enum Item {
    /// Decide a command.
    Submit(Request, Reply<Answer>),
    /// Read.
    Read(ShardId, Query, Level, Reply<Reading>),
    /// Wait until a position is safe.
    Wait(ShardId, Position, Level, Reply<Levels>),
    /// Tell a shard's state hash.
    Hash(ShardId, Reply<(Position, StateHash)>),
    /// List the shards.
    Shards(Reply<Vec<ShardId>>),
    /// Write down what an operator does to a key.
    RecordKey(Box<KeyFact>, Reply<bool>),
    /// Answer all before this, then end.
    Stop,
}

impl Item {
    /// Says why it was not done.
    pub(crate) fn fail(self, failure: Failure) {
        match self {
            Item::Submit(_, reply) => drop(reply.send(Err(failure))),
            Item::Read(_, _, _, reply) => drop(reply.send(Err(failure))),
            Item::Wait(_, _, _, reply) => drop(reply.send(Err(failure))),
            Item::Hash(_, reply) => drop(reply.send(Err(failure))),
            Item::Shards(reply) => drop(reply.send(Err(failure))),
            Item::RecordKey(_, reply) => drop(reply.send(Err(failure))),
            Item::Stop => {}
        }
    }
}

/// An answer that waits until what it rests on is durable, or confirmed by replicas.
pub(crate) enum Waiting {
    Submit(Reply<Answer>, Answer),
    Read(Reply<Reading>, Reading),
    Wait(Reply<Levels>, Levels),
    Hash(Reply<(Position, StateHash)>, (Position, StateHash)),
    Shards(Reply<Vec<ShardId>>, Vec<ShardId>),
    Recorded(Reply<bool>),
}

impl Waiting {
    /// Sends it: everything up to it is as safe as it has to be.
    pub(crate) fn send(self) {
        match self {
            Waiting::Submit(reply, answer) => drop(reply.send(Ok(answer))),
            Waiting::Read(reply, reading) => drop(reply.send(Ok(reading))),
            Waiting::Wait(reply, levels) => drop(reply.send(Ok(levels))),
            Waiting::Hash(reply, hash) => drop(reply.send(Ok(hash))),
            Waiting::Shards(reply, shards) => drop(reply.send(Ok(shards))),
            Waiting::Recorded(reply) => drop(reply.send(Ok(true))),
        }
    }

    /// Sends why there is no answer.
    pub(crate) fn fail(self, failure: Failure) {
        match self {
            Waiting::Submit(reply, _) => drop(reply.send(Err(failure))),
            Waiting::Read(reply, _) => drop(reply.send(Err(failure))),
            Waiting::Wait(reply, _) => drop(reply.send(Err(failure))),
            Waiting::Hash(reply, _) => drop(reply.send(Err(failure))),
            Waiting::Shards(reply, _) => drop(reply.send(Err(failure))),
            Waiting::Recorded(reply) => drop(reply.send(Err(failure))),
        }
    }
}
