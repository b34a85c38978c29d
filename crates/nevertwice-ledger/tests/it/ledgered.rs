//! What a backend whose answers wait for the ledger says when the ledger does not follow.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use nevertwice_api::{Backend as _, Failure, LedgerWatch as _, Level, Levels, NoObserver, Request};
use nevertwice_core::model::{Step, Workload, WorkloadOptions};
use nevertwice_core::{Decision, Query, State};
use nevertwice_ledger::{Database, LedgerWriter, Ledgered, LedgeredOptions, Now, WriterOptions};
use nevertwice_local::clock::Clock as _;
use nevertwice_local::storage::FileStorage;
use nevertwice_local::{LocalBackend, LocalOptions};
use nevertwice_testkit::clock::ManualClock;
use tokio::sync::watch;

use crate::support::Scratch;

struct Place {
    _folder: tempfile::TempDir,
    ledgered: Ledgered,
    writer: Option<LedgerWriter>,
    ahead_ms: Arc<AtomicI64>,
}

/// A backend and its writer, which does not run yet.
fn place(database: &Database, is_default: bool) -> Place {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let storage = Arc::new(FileStorage::create(folder.path()).expect("a temporary folder can be used"));
    let clock = Arc::new(ManualClock::default());
    let options = LocalOptions { clock_ahead_ms_max: i64::MAX, ..LocalOptions::default() };
    clock.set(opening_at_ms());
    let (local, _) = LocalBackend::open(storage, clock.clone(), Arc::new(NoObserver), &options).expect("it opens");
    let ahead_ms = Arc::new(AtomicI64::new(0));
    let ahead = ahead_ms.clone();
    let now: Now = Arc::new(move || clock.now_ms() + ahead.load(Ordering::Relaxed));
    let writer = LedgerWriter::new(database.clone(), Arc::new(local.entries()), now.clone(), WriterOptions::default());
    let options = LedgeredOptions { is_default, wait_ms: 300, lag_ms_max: 10_000 };
    let ledgered = Ledgered::new(Arc::new(local), writer.watermarks(), now, options);
    Place { _folder: folder, ledgered, writer: Some(writer), ahead_ms }
}

/// The first step that is accepted, which opens a market or a sale.
fn opening_step() -> Step {
    let mut workload = Workload::new(1, WorkloadOptions::default());
    loop {
        let step = workload.next_step();
        let decision = State::new(step.shard.clone(), 1, (3, 5)).decide(&step.command, step.at_ms);
        if matches!(decision, Decision::Accepted(_)) {
            return step;
        }
        workload.observe(&step, &decision);
    }
}

fn opening() -> Request {
    let step = opening_step();
    Request { shard: step.shard, command: step.command, levels: Levels::NONE }
}

fn opening_at_ms() -> i64 {
    opening_step().at_ms
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadline_that_passes_first_is_an_unknown_outcome_and_the_same_key_tells() {
    for scratch in Scratch::both() {
        let database = scratch.open().await;
        let mut place = place(&database, true);
        // Nobody writes yet: neither a yes, nor what follows from it.
        let request = opening();
        let shard = request.shard.clone();
        assert_eq!(place.ledgered.submit(request.clone()).await, Err(Failure::OutcomeUnknown), "{}", scratch.name);
        assert_eq!(place.ledgered.submit(request.clone()).await, Err(Failure::OutcomeUnknown), "{}: a replay is no safer", scratch.name);
        let query = if shard.kind == nevertwice_core::ShardKind::Market { Query::Market } else { Query::Sale };
        let read = place.ledgered.read(shard.clone(), query.clone(), None).await;
        assert_eq!(read, Err(Failure::OutcomeUnknown), "{}: a read shows it", scratch.name);
        // Who asks for less is told less.
        let reading = place.ledgered.read(shard.clone(), query, Some(Level::Journaled)).await.expect("it is durable here");
        assert!(!reading.levels.contains(Level::Ledgered));
        let risk = place.writer.as_ref().expect("it does not run").watermarks().status(0);
        assert_eq!(risk.shards[0].entries_at_risk, 1, "{}", scratch.name);
        let (stop, stopped) = watch::channel(false);
        let running = tokio::spawn(place.writer.take().expect("it does not run").run(stopped));
        let answer = place.ledgered.wait(shard, reading.position, Level::Ledgered).await;
        // A slow machine may need another attempt, as any client would make.
        let answer = match answer {
            Err(Failure::OutcomeUnknown) => place.ledgered.wait(request.shard.clone(), reading.position, Level::Ledgered).await,
            told => told,
        };
        assert!(answer.expect("it is in the ledger").contains(Level::Ledgered));
        let answer = place.ledgered.submit(request).await.expect("it is told");
        assert!(matches!(answer.decision, Decision::Replayed(_)) && answer.levels.contains(Level::Ledgered), "{}", scratch.name);
        stop.send_replace(true);
        running.await.expect("it does not panic");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_that_is_too_far_behind_refuses_decisions_before_they_are_made() {
    let scratch = Scratch::sqlite();
    let database = scratch.open().await;
    let mut place = place(&database, false);
    let request = opening();
    let answer = place.ledgered.submit(request.clone()).await.expect("it waits for nobody");
    assert!(!answer.levels.contains(Level::Ledgered), "nobody writes yet");
    place.ahead_ms.store(10_000, Ordering::Relaxed);
    assert!(place.ledgered.submit(request.clone()).await.is_ok(), "it may be so far behind");
    place.ahead_ms.store(10_001, Ordering::Relaxed);
    let refused = place.ledgered.submit(request.clone()).await;
    assert_eq!(refused, Err(Failure::LedgerBehind { lag_ms: 10_001, lag_ms_max: 10_000 }));
    let (stop, stopped) = watch::channel(false);
    let running = tokio::spawn(place.writer.take().expect("it does not run").run(stopped));
    let told = loop {
        match place.ledgered.submit(request.clone()).await {
            Err(Failure::LedgerBehind { .. }) => tokio::task::yield_now().await,
            told => break told.expect("it has caught up"),
        }
    };
    assert!(told.levels.contains(Level::Ledgered), "by now it is there");
    stop.send_replace(true);
    running.await.expect("it does not panic");
}
