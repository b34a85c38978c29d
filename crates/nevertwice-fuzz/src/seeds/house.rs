//! A data folder that a real server could have left, and everything that ever was in it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use nevertwice_api::{Backend as _, Levels, NoObserver, Request};
use nevertwice_core::model::{Workload, WorkloadOptions};
use nevertwice_core::{Decision, Entry, Position, ShardId, State, StateHash};
use nevertwice_local::fuzzing::write_marker;
use nevertwice_local::{LocalBackend, LocalOptions};
use nevertwice_testkit::clock::ManualClock;
use nevertwice_testkit::storage::MemoryStorage;

use crate::targets::{ID, SMALL};

/// How the last process left the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It was told to stop.
    Stopped,
    /// The same, and it had made snapshots.
    StoppedWithSnapshots,
    /// It was killed: what it wrote is there, and nothing says how far it came.
    Killed,
}

/// A folder and its history.
pub struct House {
    /// The folder.
    pub storage: MemoryStorage,
    /// All entries, in the order of their decisions.
    pub entries: Vec<Entry>,
    /// The states at the end.
    pub states: BTreeMap<ShardId, State>,
    known: BTreeMap<(ShardId, Position), StateHash>,
    /// Where each shard was when it was last known to be durable.
    reached: BTreeMap<ShardId, Position>,
}

/// Lives of the server that make a folder.
const LIVES: u64 = 3;
/// Steps of each life.
const STEPS: u64 = 45;

impl House {
    /// A folder of two shards, after some lives of a server.
    ///
    /// # Panics
    /// If the server fails, which it has no reason for.
    #[must_use]
    pub fn build(seed: u64, left: Left) -> Self {
        let storage = MemoryStorage::new(seed);
        storage.put("format", write_marker(ID).as_bytes());
        let options = WorkloadOptions {
            markets: 1,
            sales: 1,
            accounts: 4,
            instruments: 3,
            candidates: 8,
            wild_clock: false,
            ..WorkloadOptions::default()
        };
        let mut workload = Workload::new(seed, options);
        let mut house = Self { storage, entries: Vec::new(), states: BTreeMap::new(), known: BTreeMap::new(), reached: BTreeMap::new() };
        for life in 1..=LIVES {
            let (backend, clock) = house.open();
            for step in 0..STEPS {
                house.step(&backend, &clock, &mut workload);
                if left == Left::StoppedWithSnapshots && step == STEPS / 2 {
                    wait(backend.snapshot()).expect("memory takes a snapshot");
                }
            }
            if left == Left::Killed && life == LIVES {
                // What lies on the disk while the process still runs is what a kill leaves.
                house.storage = house.storage.fork(seed);
                break;
            }
            backend.stop();
            house.reached = house.states.iter().map(|(shard, state)| (shard.clone(), state.position())).collect();
        }
        house
    }

    fn open(&self) -> (LocalBackend, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::new(WorkloadOptions::default().start_ms));
        clock.set(self.states.values().map(State::at_ms).max().unwrap_or(0));
        let options = LocalOptions { snapshot_bytes: 0, journal: SMALL, ..LocalOptions::default() };
        let opened = LocalBackend::open(Arc::new(self.storage.clone()), Arc::clone(&clock) as _, Arc::new(NoObserver), &options);
        (opened.expect("its own folder can be opened").0, clock)
    }

    fn step(&mut self, backend: &LocalBackend, clock: &ManualClock, workload: &mut Workload) {
        let step = workload.next_step();
        clock.set(step.at_ms);
        let request = Request { shard: step.shard.clone(), command: step.command.clone(), levels: Levels::NONE };
        let answer = wait(backend.submit(request)).expect("it is decided");
        workload.observe(&step, &answer.decision);
        if let Decision::Accepted(entry) = answer.decision {
            let state = self.states.entry(step.shard.clone()).or_insert_with(|| State::new(step.shard.clone(), 1, (3, 5)));
            state.apply(&entry).expect("what was decided fits");
            self.known.insert((step.shard, entry.position), state.state_hash());
            self.entries.push(entry);
        }
    }

    /// Every shard is as it was at some point of its history.
    ///
    /// # Panics
    /// If one is not.
    pub fn check_prefix(&self, shown: &BTreeMap<ShardId, (Position, StateHash)>) {
        for (shard, (position, hash)) in shown {
            let known = self.known.get(&(shard.clone(), *position));
            assert_eq!(known, Some(hash), "{shard} at {position} is nothing that ever was");
        }
    }

    /// Every shard is at least where it is known to have been durable.
    ///
    /// # Panics
    /// If one is not.
    pub fn check_reached(&self, shown: &BTreeMap<ShardId, (Position, StateHash)>) {
        for (shard, reached) in &self.reached {
            let position = shown.get(shard).map(|(position, _)| *position);
            assert!(position.is_some_and(|position| position >= *reached), "{shard} had reached {reached}, and is at {position:?}");
        }
    }
}

/// Waits for an answer on this thread.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = std::pin::pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
