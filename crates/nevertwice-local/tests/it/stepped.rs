//! The backend without threads does what the one with threads does.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use nevertwice_api::{Backend, Failure, NoObserver, Request};
use nevertwice_core::Decision;
use nevertwice_local::chance::SystemChance;
use nevertwice_local::inspect::Inspection;
use nevertwice_local::{SteppedBackend, Written};
use nevertwice_testkit::storage::MemoryStorage;

use crate::commands::{START_MS, StillClock, Twin, open, small_options, submit, wait, workload};

fn open_stepped(storage: &MemoryStorage) -> SteppedBackend {
    let clock = Arc::new(StillClock(AtomicI64::new(START_MS)));
    let opened = SteppedBackend::open(Arc::new(storage.clone()), clock, Arc::new(SystemChance), Arc::new(NoObserver), &small_options());
    opened.unwrap().0
}

fn hashes(storage: &MemoryStorage) -> Vec<String> {
    let contents = Inspection::open(Arc::new(storage.clone())).unwrap().contents().unwrap();
    assert_eq!(contents.damage, None);
    contents.states.shards().map(|state| format!("{} {}", state.shard(), state.state_hash())).collect()
}

#[test]
fn steps_do_what_threads_do() {
    let requests = workload(5, 260);
    let threaded = MemoryStorage::new(1);
    {
        let (backend, _) = open(&threaded).unwrap();
        for request in &requests {
            submit(&backend, request).unwrap();
        }
    }
    let storage = MemoryStorage::new(2);
    let mut twin = Twin::new();
    let mut stepped = open_stepped(&storage);
    for some in requests.chunks(50) {
        let answers: Vec<_> = some.iter().map(|request: &Request| stepped.front().submit(request.clone())).collect();
        assert!(!stepped.take() && stepped.write() == Written::Nothing && !stepped.answer(), "nothing was decided yet");
        // What one group can't take, or the syncer has no room for, is decided later.
        while stepped.decide() {
            assert!(stepped.take() && !stepped.take());
            assert_eq!(stepped.write(), Written::Done);
            assert_eq!(stepped.write(), Written::Nothing);
            assert!(stepped.answer());
        }
        for (answer, request) in answers.into_iter().zip(some) {
            assert_eq!(wait(answer).unwrap().decision, twin.decide(request));
        }
        let made = stepped.front().snapshot();
        assert!(stepped.snapshot() && !stepped.snapshot());
        wait(made).unwrap();
    }
    let front = Arc::clone(stepped.front());
    let last = front.submit(requests[0].clone());
    stepped.stop();
    assert!(matches!(wait(last).unwrap().decision, Decision::Replayed(_)), "what came before the end is answered");
    assert_eq!(wait(front.submit(requests[0].clone())), Err(Failure::ShuttingDown));
    drop(front);
    assert_eq!(hashes(&storage), hashes(&threaded));
}

#[test]
fn what_is_in_hand_waits_for_room_on_a_full_disk() {
    let storage = MemoryStorage::new(3);
    let mut stepped = open_stepped(&storage);
    storage.set_capacity(Some(storage.used()));
    let mut waited = 0;
    for request in workload(6, 60) {
        let mut answer = stepped.front().submit(request);
        assert!(stepped.decide());
        // A repeated command is answered at once.
        stepped.take();
        while stepped.write() == Written::NoRoom {
            assert!(!stepped.answer() && !stepped.take(), "nothing was written");
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(answer.as_mut().poll(&mut context).is_pending());
            storage.set_capacity(None);
            waited += 1;
        }
        stepped.answer();
        wait(answer).unwrap();
    }
    assert_eq!(waited, 1, "the disk was full once, and then there was room");
    stepped.stop();
    assert_eq!(hashes(&storage).len(), 2);
}
