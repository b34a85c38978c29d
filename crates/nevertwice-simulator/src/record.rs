//! What the callers of the backend were told: clients that call it themselves, the API layer, the steward.
//!
//! The record lies between them and the backend, so it holds each command as it was sent and each answer as it came, and nothing
//! of what the backend knows.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nevertwice_api::{Answer, Backend, BackendStatus, BoxFuture, Failure, Level, Levels, Reading, Request};
use nevertwice_core::{Command, Decision, Position, Query, ShardId, StateHash};
use nevertwice_local::LocalBackend;

/// A command that was sent, and what came back.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) shard: ShardId,
    pub(crate) command: Command,
    /// The epoch of the life of the process that it was sent to.
    pub(crate) epoch: u32,
    /// The sequencer's turns that had begun when it was sent, and when it was answered.
    pub(crate) turns: (usize, usize),
    pub(crate) answer: Option<Result<Answer, Failure>>,
}

/// A read, and what came back.
#[derive(Clone, Debug)]
pub(crate) struct ReadCall {
    pub(crate) shard: ShardId,
    pub(crate) query: Query,
    pub(crate) reading: Option<Reading>,
}

/// All that was sent and told.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) calls: Vec<Call>,
    pub(crate) reads: Vec<ReadCall>,
    /// The instant of each of the sequencer's turns.
    pub(crate) turns: Vec<i64>,
    /// How many commands were answered with a decision.
    pub(crate) decisions: u64,
    /// The highest position of each shard that an answer rests on which said that it is durable.
    pub(crate) told_durable: BTreeMap<ShardId, Position>,
}

/// A record that several write to.
#[derive(Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Record>>);

impl Shared {
    pub(crate) fn get(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    fn told(&mut self, shard: &ShardId, position: Position, levels: Levels) {
        if levels.contains(Level::Journaled) {
            let told = self.told_durable.entry(shard.clone()).or_default();
            *told = position.max(*told);
        }
    }

    fn answered(&mut self, number: usize, answer: &Result<Answer, Failure>) {
        let turns = self.turns.len();
        let Some(call) = self.calls.get_mut(number) else { return };
        call.turns.1 = turns;
        call.answer = Some(answer.clone());
        let Ok(answer) = answer else { return };
        let shard = call.shard.clone();
        self.decisions += 1;
        self.told(&shard, answer.position, answer.levels);
        if let Decision::Accepted(entry) | Decision::Replayed(entry) = &answer.decision {
            self.told(&shard, entry.position, answer.levels);
        }
    }
}

/// The backend of one life of the process, as its callers see it.
pub(crate) struct Recorder {
    pub(crate) backend: Arc<LocalBackend>,
    pub(crate) record: Shared,
    /// Whether the process still lives: what goes on in this process after its end must neither do nor hear anything.
    pub(crate) is_alive: Arc<AtomicBool>,
}

impl Recorder {
    fn is_alive(&self) -> bool {
        self.is_alive.load(Ordering::Relaxed)
    }

    /// Waits for an answer, and hands it on if the process lives.
    fn hear<T: Send + 'static>(
        &self,
        answer: BoxFuture<'static, Result<T, Failure>>,
        note: impl FnOnce(&mut Record, &Result<T, Failure>) + Send + 'static,
    ) -> BoxFuture<'static, Result<T, Failure>> {
        let (record, is_alive) = (self.record.clone(), Arc::clone(&self.is_alive));
        Box::pin(async move {
            let answer = answer.await;
            if !is_alive.load(Ordering::Relaxed) {
                return Err(Failure::OutcomeUnknown);
            }
            note(&mut record.get(), &answer);
            answer
        })
    }
}

fn dead<T: Send + 'static>() -> BoxFuture<'static, Result<T, Failure>> {
    Box::pin(std::future::ready(Err(Failure::ShuttingDown)))
}

impl Backend for Recorder {
    fn name(&self) -> &'static str {
        self.backend.name()
    }

    fn offers(&self) -> Levels {
        self.backend.offers()
    }

    fn submit(&self, request: Request) -> BoxFuture<'static, Result<Answer, Failure>> {
        if !self.is_alive() {
            return dead();
        }
        let number = {
            let mut record = self.record.get();
            let turns = (record.turns.len(), record.turns.len());
            let (shard, command) = (request.shard.clone(), request.command.clone());
            record.calls.push(Call { shard, command, epoch: self.backend.epoch(), turns, answer: None });
            record.calls.len() - 1
        };
        self.hear(self.backend.submit(request), move |record, answer| record.answered(number, answer))
    }

    fn read(&self, shard: ShardId, query: Query, level: Option<Level>) -> BoxFuture<'static, Result<Reading, Failure>> {
        if !self.is_alive() {
            return dead();
        }
        // The pieces of scans depend on the seeds of tables; what they show is shown by others as well.
        let is_scan = matches!(query, Query::Bookings { .. } | Query::Holders { .. } | Query::DueHolds { .. });
        let number = (!is_scan).then(|| {
            let mut record = self.record.get();
            record.reads.push(ReadCall { shard: shard.clone(), query: query.clone(), reading: None });
            record.reads.len() - 1
        });
        self.hear(self.backend.read(shard.clone(), query, level), move |record, reading| {
            let Ok(reading) = reading else { return };
            record.told(&shard, reading.position, reading.levels);
            if let Some(read) = number.and_then(|number| record.reads.get_mut(number)) {
                read.reading = Some(reading.clone());
            }
        })
    }

    fn wait(&self, shard: ShardId, position: Position, level: Level) -> BoxFuture<'static, Result<Levels, Failure>> {
        if !self.is_alive() {
            return dead();
        }
        self.hear(self.backend.wait(shard.clone(), position, level), move |record, levels| {
            if let Ok(levels) = levels {
                record.told(&shard, position, *levels);
            }
        })
    }

    fn state_hash(&self, shard: ShardId) -> BoxFuture<'static, Result<(Position, StateHash), Failure>> {
        if self.is_alive() { self.backend.state_hash(shard) } else { dead() }
    }

    fn shards(&self) -> BoxFuture<'static, Result<Vec<ShardId>, Failure>> {
        if self.is_alive() { self.hear(self.backend.shards(), |_, _| {}) } else { dead() }
    }

    fn status(&self) -> BackendStatus {
        self.backend.status()
    }
}
