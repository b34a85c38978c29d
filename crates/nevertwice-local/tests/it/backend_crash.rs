//! A crash at every call of a seeded run, judged against the pure core.

use std::sync::Arc;

use nevertwice_api::{Backend, Failure};
use nevertwice_core::{Decision, Query, Rejection, Side};
use nevertwice_local::LocalBackend;
use nevertwice_local::inspect::Inspection;
use nevertwice_testkit::storage::MemoryStorage;

use crate::audit::audit_of;

use crate::commands::{Twin, accepted, market, open, opening, order, rejected, remembered, request, submit, wait, workload};
use nevertwice_api::{Level, Request};

/// The world outside the process: what was sent, and what was heard.
struct Outside {
    twin: Twin,
    requests: Vec<Request>,
    sent: usize,
    /// How many entries of each shard were told.
    told: [u64; 2],
}

impl Outside {
    fn new(requests: Vec<Request>) -> Outside {
        Outside { twin: Twin::new(), requests, sent: 0, told: [0, 0] }
    }

    /// Sends what is left, and makes a snapshot now and then, until the end or the crash.
    fn run(&mut self, storage: &MemoryStorage, backend: &LocalBackend) {
        for (state, _) in &mut self.twin.shards {
            state.adopt(backend.epoch());
        }
        while self.sent < self.requests.len() {
            let request = &self.requests[self.sent];
            match submit(backend, request) {
                Ok(answer) => {
                    assert_eq!(answer.decision, self.twin.decide(request));
                    self.sent += 1;
                    for (at, told) in self.told.iter_mut().enumerate() {
                        *told = self.twin.shards[at].1.len() as u64;
                    }
                    if self.sent.is_multiple_of(30) && wait(backend.snapshot()).is_err() {
                        assert!(storage.crashed());
                        return;
                    }
                }
                Err(failure) => {
                    assert_eq!(failure, Failure::JournalFailed);
                    assert!(storage.crashed());
                    // It may have happened or not; nobody knows until the restart.
                    self.twin.decide(request);
                    self.sent += 1;
                    return;
                }
            }
        }
    }

    /// What is left is a prefix of what was sent, nothing that was told is missing, and every retry of it replays.
    fn judge(&mut self, storage: &MemoryStorage) {
        let contents = Inspection::open(Arc::new(storage.clone())).unwrap().contents().unwrap();
        assert_eq!(contents.damage, None);
        for at in 0..2 {
            let shard = self.twin.shards[at].0.shard().clone();
            let found = contents.states.shard(&shard);
            let seq = found.map_or(0, |state| state.position().seq);
            assert!(seq >= self.told[at], "{shard}: told {}, found {seq}", self.told[at]);
            assert!(seq <= self.twin.shards[at].1.len() as u64);
            self.twin.rewind(&shard, seq);
            if let Some(found) = found {
                assert_eq!(found.state_hash(), self.twin.shards[at].0.state_hash());
            }
            self.told[at] = seq;
        }
        self.judge_audit(storage);
    }

    /// What operators did is in the audit, each thing once and in order, whatever is left of the journal.
    fn judge_audit(&self, storage: &MemoryStorage) {
        let (facts, fault) = audit_of(storage);
        assert_eq!(fault, None);
        for (state, entries) in &self.twin.shards {
            let of_shard = facts.iter().filter(|entry| entry.shard == *state.shard());
            let expected = entries.iter().filter(|entry| entry.is_operators());
            assert!(of_shard.eq(expected), "{}", state.shard());
        }
        let inspection = Inspection::open(Arc::new(storage.clone())).unwrap();
        assert_eq!(inspection.audit_faults().unwrap(), Vec::<String>::new());
    }

    fn retry(&self, backend: &LocalBackend) {
        for (state, entries) in &self.twin.shards {
            for entry in entries {
                let request =
                    self.requests.iter().find(|request| request.command.intent == entry.intent && &request.shard == state.shard());
                let again = submit(backend, request.unwrap()).unwrap();
                assert_eq!(again.decision, Decision::Replayed(remembered(entry)));
            }
        }
    }
}

#[test]
fn a_crash_at_every_call_loses_nothing_that_was_told() {
    const LEN: usize = 75;
    let dry = MemoryStorage::new(0);
    {
        let (backend, _) = open(&dry).unwrap();
        let mut outside = Outside::new(workload(1, LEN));
        outside.run(&dry, &backend);
        assert_eq!(outside.sent, LEN);
    }
    assert!(dry.calls() > 150, "{}", dry.calls());
    let mut crashes = 0;
    for crash in 0..dry.calls() {
        let storage = MemoryStorage::new(crash);
        let mut outside = Outside::new(workload(1, LEN));
        storage.crash_after(crash);
        if let Ok((backend, _)) = open(&storage) {
            outside.run(&storage, &backend);
        }
        crashes += u32::from(storage.crashed());
        if crash % 4 == 0 {
            storage.kill()
        } else {
            storage.power_loss()
        }
        // Another crash in the recovery or soon after it, then a life to the end.
        storage.crash_after(crash % 23);
        if let Ok((backend, _)) = open(&storage) {
            outside.judge_running(&storage, &backend);
            outside.run(&storage, &backend);
        }
        if crash % 3 == 0 {
            storage.kill()
        } else {
            storage.power_loss()
        }
        let (backend, _) = {
            if storage_has_marker(&storage) {
                outside.judge(&storage);
            } else {
                assert_eq!(outside.told, [0, 0]);
                outside.rewind_all();
            }
            open(&storage).unwrap()
        };
        outside.retry(&backend);
        outside.run(&storage, &backend);
        assert_eq!(outside.sent, LEN);
        drop(backend);
        outside.judge(&storage);
    }
    assert!(u64::from(crashes) + 5 > dry.calls(), "{crashes} of {}", dry.calls());
}

fn storage_has_marker(storage: &MemoryStorage) -> bool {
    use nevertwice_local::storage::Storage;
    storage.read("format").is_ok()
}

impl Outside {
    fn rewind_all(&mut self) {
        for at in 0..2 {
            let shard = self.twin.shards[at].0.shard().clone();
            self.twin.rewind(&shard, 0);
        }
    }

    /// The same judgement on a backend that runs: what it holds is asked for, and becomes what was told.
    fn judge_running(&mut self, storage: &MemoryStorage, backend: &LocalBackend) {
        for at in 0..2 {
            let shard = self.twin.shards[at].0.shard().clone();
            let Ok(reading) = wait(backend.read(shard.clone(), Query::Market, None)) else {
                assert!(storage.crashed());
                return;
            };
            let seq = reading.position.seq;
            assert!(seq >= self.told[at] && seq <= self.twin.shards[at].1.len() as u64);
            self.twin.rewind(&shard, seq);
            self.told[at] = seq;
        }
    }
}

#[test]
fn a_replay_and_a_refusal_wait_for_what_they_rest_on() {
    for crash in [false, true] {
        let storage = MemoryStorage::new(9);
        let (backend, _) = open(&storage).unwrap();
        for request in opening() {
            accepted(submit(&backend, &request));
        }
        storage.hold();
        // Ann spends what she has; the same again; something that she cannot pay for any more; a read of her account.
        let first = request(market(), "all-in", order("ann", Side::Buy, 300));
        let rival = request(market(), "rival", order("ann", Side::Buy, 300));
        let bought = backend.submit(first.clone());
        let replay = backend.submit(first.clone());
        let refusal = backend.submit(rival.clone());
        let read = backend.read(market(), Query::Market, None);
        let shards = backend.shards();
        // This one is answered as soon as all of them were decided, since it asks for nothing durable.
        let decided = wait(backend.read(market(), Query::Market, Some(Level::Decided))).unwrap();
        assert_eq!((decided.position.seq, decided.levels.contains(Level::Journaled)), (6, false));
        let ack = backend.wait(market(), decided.position, Level::Journaled);
        let (mut bought, mut replay, mut refusal, mut read, mut shards, mut ack) =
            (Pending(bought), Pending(replay), Pending(refusal), Pending(read), Pending(shards), Pending(ack));
        assert!(bought.waits() && replay.waits() && refusal.waits() && read.waits() && shards.waits() && ack.waits());
        if !crash {
            storage.release();
            let entry = accepted(wait(bought.0));
            assert_eq!(wait(replay.0).unwrap().decision, Decision::Replayed(entry));
            assert!(matches!(rejected(wait(refusal.0)), Rejection::InsufficientBalance { .. }));
            assert_eq!(wait(read.0).unwrap().position.seq, 6);
            assert!(wait(ack.0).unwrap().contains(Level::Journaled));
            assert_eq!(wait(shards.0).unwrap(), [market()]);
            continue;
        }
        storage.crash_after(0);
        storage.release();
        assert_eq!(wait(bought.0), Err(Failure::JournalFailed));
        assert_eq!(wait(replay.0), Err(Failure::JournalFailed));
        assert_eq!(wait(refusal.0), Err(Failure::JournalFailed));
        assert_eq!(wait(read.0), Err(Failure::JournalFailed));
        assert_eq!(wait(ack.0), Err(Failure::JournalFailed));
        drop(backend);
        storage.power_loss();
        let (backend, _) = open(&storage).unwrap();
        // Whatever the disk kept: the rival and the first cannot both have happened.
        let first = submit(&backend, &first).unwrap().decision;
        let rival = submit(&backend, &rival).unwrap().decision;
        assert!(matches!(first, Decision::Accepted(_) | Decision::Replayed(_)), "{first:?}");
        assert!(matches!(rival, Decision::Rejected(Rejection::InsufficientBalance { .. })), "{rival:?}");
    }
}

struct Pending<F>(F);

impl<F: Future + Unpin> Pending<F> {
    /// Polls once.
    fn waits(&mut self) -> bool {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        std::pin::Pin::new(&mut self.0).poll(&mut context).is_pending()
    }
}
