//! Failed syncs, full disks, full queues.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nevertwice_api::{Backend, Failure, GroupReport, Health, Level, Levels, Observer};
use nevertwice_core::{Decision, Query, Side};
use nevertwice_local::journal::{JournalOptions, is_segment};
use nevertwice_local::storage::Storage as _;
use nevertwice_local::{LocalBackend, LocalOptions};
use nevertwice_testkit::clock::ManualClock;
use nevertwice_testkit::storage::MemoryStorage;

use crate::commands::{
    START_MS, accepted, market, name, open, open_at, opening, order, request, sale, small_options, submit, wait, workload,
};

#[test]
fn after_a_failed_sync_only_what_is_durable_is_answered() {
    for later in 0..2 {
        let storage = MemoryStorage::new(1);
        let (backend, _) = open(&storage).unwrap();
        for request in workload(3, 6) {
            accepted(submit(&backend, &request));
        }
        let buy = request(market(), "buy", order("ann", Side::Buy, 1));
        let bought = accepted(submit(&backend, &buy));
        storage.fail_after(later);
        let lost = request(market(), "lost", order("ann", Side::Buy, 1));
        assert_eq!(submit(&backend, &lost), Err(Failure::JournalFailed));
        assert_eq!(backend.status().health, Health::Poisoned);
        let calls = storage.calls();
        for round in 0..3 {
            let more = request(market(), &format!("more-{round}"), order("ann", Side::Buy, 1));
            assert_eq!(submit(&backend, &more), Err(Failure::JournalFailed));
            assert_eq!(submit(&backend, &lost), Err(Failure::JournalFailed), "what may be lost is not replayed");
            let replay = submit(&backend, &buy).unwrap();
            assert_eq!(replay.decision, Decision::Replayed(bought.clone()), "what is durable is");
            assert_eq!(replay.position, bought.position);
            let read = wait(backend.read(market(), Query::Account { account: name("ann") }, Some(Level::Decided)));
            assert_eq!(read, Err(Failure::JournalFailed), "the account shows what may be lost");
            assert!(wait(backend.read(sale(), Query::Sale, None)).unwrap().view.is_ok(), "the sale rests on nothing lost");
            assert!(wait(backend.wait(market(), bought.position, Level::Journaled)).is_ok());
            assert_eq!(wait(backend.shards()).unwrap(), [market(), sale()]);
        }
        assert_eq!(storage.calls(), calls, "a poisoned backend writes nothing");
        drop(backend);
        storage.power_loss();
        let (backend, _) = open(&storage).unwrap();
        assert_eq!(submit(&backend, &buy).unwrap().decision, Decision::Replayed(bought));
        assert!(!matches!(submit(&backend, &lost).unwrap().decision, Decision::Rejected(_)));
    }
}

#[test]
fn a_full_queue_answers_at_once_and_does_nothing() {
    let storage = MemoryStorage::new(2);
    let options = LocalOptions { queue_max: 20, ..small_options() };
    let (backend, _) = open_at(&storage, &options, START_MS).unwrap();
    for request in opening() {
        accepted(submit(&backend, &request));
    }
    storage.hold();
    // What waits for the disk is bounded too, so the queue fills in the end.
    let requests: Vec<_> = (0..5_000).map(|number| request(market(), &format!("k-{number}"), order("ann", Side::Buy, 1))).collect();
    let mut answers = Vec::new();
    for (number, request) in requests.iter().enumerate() {
        answers.push(backend.submit(request.clone()));
        if number % 10 == 0 {
            std::thread::yield_now();
        }
    }
    let status = backend.status();
    assert!(status.queue_depth <= status.queue_max);
    storage.release();
    let mut overloaded = Vec::new();
    let mut done = 0;
    for (request, answer) in requests.iter().zip(answers) {
        match wait(answer) {
            Err(failure) => {
                assert_eq!(failure, Failure::Overloaded);
                overloaded.push(request);
            }
            Ok(answer) => {
                assert!(!matches!(answer.decision, Decision::Replayed(_)));
                done += 1;
            }
        }
    }
    assert!(!overloaded.is_empty() && done >= 20, "{} refused, {done} done", overloaded.len());
    for request in overloaded {
        assert!(!matches!(submit(&backend, request).unwrap().decision, Decision::Replayed(_)), "it was not done");
    }
    assert_eq!(backend.status().queue_depth, 0);
}

#[test]
fn a_full_disk_refuses_before_deciding_answers_the_rest_and_heals() {
    let storage = MemoryStorage::new(3);
    // Segments of some hundred frames: on a busy machine it takes a while until the thread that fills them finds the disk full.
    let options = LocalOptions { journal: JournalOptions { segment_bytes: 1 << 20, segments_ahead: 1 }, ..small_options() };
    let (backend, _) = open_at(&storage, &options, START_MS).unwrap();
    for request in opening() {
        accepted(submit(&backend, &request));
    }
    while storage.list().unwrap().iter().filter(|name| is_segment(name)).count() < 2 {
        std::thread::yield_now();
    }
    storage.set_capacity(Some(storage.used()));
    let mut number = 0;
    let mut refused = || loop {
        number += 1;
        let side = if number % 2 == 1 { Side::Buy } else { Side::Sell };
        let request = request(market(), &format!("k-{number}"), order("ann", side, 1));
        match submit(&backend, &request) {
            Ok(answer) => assert!(matches!(answer.decision, Decision::Accepted(_))),
            Err(failure) => return (failure, request),
        }
        assert!(number < 3_000, "no disk is that large");
    };
    let (failure, refused) = refused();
    assert_eq!(failure, Failure::StorageFull);
    assert_eq!(backend.status().health, Health::Full);
    let position = wait(backend.read(market(), Query::Market, None)).unwrap().position;
    assert_eq!(submit(&backend, &refused), Err(Failure::StorageFull));
    assert!(matches!(submit(&backend, &opening()[2]).unwrap().decision, Decision::Replayed(_)), "replays go on");
    assert_eq!(wait(backend.read(market(), Query::Market, None)).unwrap().position, position, "nothing was done");

    storage.set_capacity(None);
    loop {
        match submit(&backend, &refused) {
            Ok(answer) => break assert!(matches!(answer.decision, Decision::Accepted(_))),
            Err(failure) => assert_eq!(failure, Failure::StorageFull),
        }
        std::thread::yield_now();
    }
}

#[test]
fn under_the_level_decided_an_answer_waits_for_nothing_unless_it_is_asked_to() {
    let storage = MemoryStorage::new(4);
    let options = LocalOptions { level: Level::Decided, ..small_options() };
    let (backend, _) = open_at(&storage, &options, START_MS).unwrap();
    storage.hold();
    for request in opening() {
        let answer = submit(&backend, &request).unwrap();
        assert_eq!(answer.levels, Levels::reached(Level::Decided));
    }
    let mut careful = request(market(), "careful", order("ann", Side::Buy, 1));
    careful.levels = Levels::reached(Level::Journaled);
    let answer = backend.submit(careful);
    storage.release();
    assert_eq!(wait(answer).unwrap().levels, Levels::reached(Level::Journaled));
    let answer = submit(&backend, &opening()[0]).unwrap();
    assert_eq!(answer.levels, Levels::reached(Level::Journaled), "by now it is");
}

struct Faulty(AtomicBool);

impl Observer for Faulty {
    fn group(&self, _report: GroupReport) {
        assert!(!self.0.load(Ordering::SeqCst), "an observer with a fault");
    }
    fn snapshot(&self, _records: u64, _took: Duration) {}
    fn poisoned(&self) {}
}

#[test]
fn a_fault_in_the_syncer_stops_the_backend_and_hangs_nobody() {
    let storage = MemoryStorage::new(5);
    let observer = Arc::new(Faulty(AtomicBool::new(false)));
    let clock = Arc::new(ManualClock::new(START_MS));
    let (backend, _) = LocalBackend::open(Arc::new(storage.clone()), clock, observer.clone(), &small_options()).unwrap();
    for request in opening() {
        accepted(submit(&backend, &request));
    }
    observer.0.store(true, Ordering::SeqCst);
    let last = submit(&backend, &request(market(), "last", order("ann", Side::Buy, 1)));
    // The fault comes right after an answer: this one's, or the one's before.
    assert!(matches!(last, Ok(_) | Err(Failure::JournalFailed)));
    let mut failed = 0;
    for number in 0..2_000 {
        match submit(&backend, &request(market(), &format!("k-{number}"), order("ann", Side::Buy, 1))) {
            Ok(_) => {}
            Err(failure) => {
                assert_eq!(failure, Failure::JournalFailed);
                failed += 1;
            }
        }
    }
    assert!(failed > 1_990, "{failed}");
    assert_eq!(backend.status().health, Health::Poisoned);
    drop(backend);
    let (backend, _) = open(&storage).unwrap();
    assert!(matches!(submit(&backend, &opening()[0]).unwrap().decision, Decision::Replayed(_)));
}

#[derive(Default)]
struct ClockWatcher(Mutex<Vec<i64>>);

impl Observer for ClockWatcher {
    fn group(&self, _report: GroupReport) {}
    fn snapshot(&self, _records: u64, _took: Duration) {}
    fn poisoned(&self) {}
    fn clock_behind(&self, by_ms: i64) {
        self.0.lock().unwrap().push(by_ms);
    }
}

#[test]
fn a_clock_that_runs_backwards_is_told_whenever_the_figure_changes() {
    let storage = MemoryStorage::new(6);
    let clock = Arc::new(ManualClock::new(START_MS));
    let watcher = Arc::new(ClockWatcher::default());
    let options = small_options();
    let (backend, _) = LocalBackend::open(Arc::new(storage.clone()), clock.clone(), watcher.clone(), &options).unwrap();
    for request in opening() {
        accepted(submit(&backend, &request));
    }
    for now_ms in [START_MS + 500, START_MS + 100, START_MS + 100, START_MS + 499, START_MS + 500, START_MS + 501] {
        clock.set(now_ms);
        wait(backend.shards()).unwrap();
    }
    assert_eq!(*watcher.0.lock().unwrap(), [400, 1, 0]);
    drop(backend);
    // What is recorded counts as well, not only what this process has seen.
    let watcher = Arc::new(ClockWatcher::default());
    clock.set(START_MS - 30);
    let (backend, _) = LocalBackend::open(Arc::new(storage), clock.clone(), watcher.clone(), &options).unwrap();
    wait(backend.shards()).unwrap();
    assert_eq!(*watcher.0.lock().unwrap(), [30]);
}
