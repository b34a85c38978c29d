//! The backend at work: decisions, reads, waiting, levels, start and stop.

use std::sync::Arc;

use nevertwice_api::{Backend, ErrorCode, Failure, Health, Level, Levels, NoObserver};
use nevertwice_core::{Decision, Position, Query, Rejection, ShardId, Side, View};
use nevertwice_local::inspect::Inspection;
use nevertwice_local::storage::{FileStorage, Storage};
use nevertwice_local::{LocalBackend, LocalOptions};
use nevertwice_testkit::clock::ManualClock;
use nevertwice_testkit::storage::MemoryStorage;

use crate::commands::{
    START_MS, Twin, accepted, market, name, open, open_at, opening, order, rejected, remembered, request, sale, small_options, submit,
    wait, workload,
};

#[test]
fn answers_are_those_of_the_core_and_survive_a_stop() {
    let storage = MemoryStorage::new(1);
    let mut twin = Twin::new();
    let requests = workload(1, 150);
    let answers: Vec<_> = {
        let (backend, report) = open(&storage).unwrap();
        assert_eq!((report.entries, report.snapshot), (0, None));
        let answers = requests.iter().map(|request| {
            let answer = submit(&backend, request).unwrap();
            assert_eq!(answer.decision, twin.decide(request));
            let state = &twin.shard(&request.shard).0;
            match &answer.decision {
                Decision::Replayed(entry) => assert!(entry.position <= answer.position),
                _ => assert_eq!(answer.position, state.position()),
            }
            assert_eq!(answer.levels, Levels::reached(Level::Journaled));
            answer
        });
        let answers = answers.collect();
        backend.stop();
        assert_eq!(wait(backend.submit(requests[0].clone())), Err(Failure::ShuttingDown));
        assert_eq!(backend.status().health, Health::Stopping);
        answers
    };
    let contents = Inspection::open(Arc::new(storage.clone())).unwrap().contents().unwrap();
    for (state, _) in &twin.shards {
        assert_eq!(contents.states.shard(state.shard()).unwrap().state_hash(), state.state_hash());
    }
    let (backend, report) = open(&storage).unwrap();
    assert_eq!(report.entries, twin.shards.iter().map(|(_, entries)| entries.len() as u64).sum::<u64>());
    assert_eq!(report.journal.cut_bytes, 0);
    for (request, answer) in requests.iter().zip(&answers) {
        if let Decision::Accepted(entry) = &answer.decision {
            assert_eq!(submit(&backend, request).unwrap().decision, Decision::Replayed(remembered(entry)));
        }
    }
    assert_eq!(wait(backend.shards()).unwrap(), [market(), sale()]);
}

#[test]
fn reads_and_waits_tell_the_position_and_its_levels() {
    let storage = MemoryStorage::new(2);
    let (backend, _) = open(&storage).unwrap();
    for request in opening() {
        accepted(submit(&backend, &request));
    }
    let last = accepted(submit(&backend, &request(market(), "buy", order("ann", Side::Buy, 10)))).position;
    let reading = wait(backend.read(market(), Query::Account { account: name("ann") }, None)).unwrap();
    assert_eq!((reading.position, reading.levels), (last, Levels::reached(Level::Journaled)));
    assert!(matches!(reading.view, Ok(View::Account(account)) if account.balance < 100_000));
    let missing = wait(backend.read(ShardId::market(name("nobody")), Query::Market, None)).unwrap();
    assert_eq!((missing.view, missing.position), (Err(Rejection::UnknownMarket), Position::default()));

    assert_eq!(wait(backend.wait(market(), last, Level::Journaled)), Ok(Levels::reached(Level::Journaled)));
    let first = Position { epoch: 1, seq: 1 };
    assert_eq!(wait(backend.wait(market(), first, Level::Decided)), Ok(Levels::reached(Level::Journaled)));
    for unknown in
        [Position { epoch: 1, seq: last.seq + 1 }, Position { epoch: 2, seq: 1 }, Position { epoch: 0, seq: 1 }, Position::default()]
    {
        assert_eq!(wait(backend.wait(market(), unknown, Level::Journaled)), Err(Failure::PositionUnknown), "{unknown}");
    }
    assert_eq!(wait(backend.wait(sale(), first, Level::Journaled)), Err(Failure::PositionUnknown));
    for level in [Level::Replicated, Level::Ledgered] {
        let unavailable = Failure::LevelUnavailable(level);
        assert_eq!(wait(backend.wait(market(), first, level)), Err(unavailable.clone()));
        let mut more = request(market(), "more", order("ann", Side::Buy, 1));
        more.levels = Levels::reached(level);
        assert!(matches!(wait(backend.submit(more)), Err(Failure::LevelUnavailable(_))));
        assert_eq!(wait(backend.read(market(), Query::Market, Some(level))).unwrap_err(), unavailable);
    }
}

#[test]
fn a_late_copy_of_an_expired_intent_does_nothing_when_the_clock_steps_back() {
    let storage = MemoryStorage::new(7);
    let clock = Arc::new(ManualClock::new(START_MS));
    let opened = LocalBackend::open(Arc::new(storage.clone()), clock.clone(), Arc::new(NoObserver), &small_options());
    let (backend, _) = opened.unwrap();
    for request in opening() {
        accepted(submit(&backend, &request));
    }
    let mut late = request(market(), "late", order("ann", Side::Buy, 1));
    late.command.intent.expires_at = Some(START_MS + 1_000);
    clock.set(START_MS + 2_000);
    let expired = Rejection::IntentExpired { expires_at: START_MS + 1_000 };
    assert_eq!(rejected(submit(&backend, &late)), expired, "its sender gives it up");
    clock.set(START_MS + 500);
    assert_eq!(rejected(submit(&backend, &late)), expired, "the last word stays the last");
    let entry = accepted(submit(&backend, &request(market(), "other", order("ann", Side::Buy, 1))));
    assert_eq!(entry.at_ms, START_MS + 2_000, "what happens after it happens at its instant or later");
}

#[test]
fn naming_shards_that_do_not_exist_leaves_nothing_behind() {
    let storage = MemoryStorage::new(3);
    let (backend, _) = open(&storage).unwrap();
    let calls = storage.calls();
    for number in 0..50 {
        let shard = ShardId::market(name(&format!("m{number}")));
        let answer = submit(&backend, &request(shard, "k", order("ann", Side::Buy, 1)));
        assert_eq!(rejected(answer), Rejection::UnknownMarket);
    }
    assert_eq!(wait(backend.shards()).unwrap(), []);
    assert_eq!(storage.calls(), calls, "nothing was written");
}

#[test]
fn a_folder_in_use_too_new_or_ahead_of_the_clock_is_refused_unchanged() {
    let storage = MemoryStorage::new(4);
    let (backend, _) = open(&storage).unwrap();
    assert_eq!(open(&storage).map(|_| ()).unwrap_err().code(), ErrorCode::DataFolderInUse);
    for request in opening() {
        accepted(submit(&backend, &request));
    }
    drop(backend);
    let calls = storage.calls();
    let early = open_at(&storage, &small_options(), START_MS - 60_001);
    assert_eq!(early.map(|_| ()).unwrap_err().code(), ErrorCode::ClockBehind);
    let marker = storage.read("format").unwrap();
    let newer = String::from_utf8(marker.clone()).unwrap().replace("format 1", "format 9");
    storage.put("format", newer.as_bytes());
    assert_eq!(open(&storage).map(|_| ()).unwrap_err().code(), ErrorCode::DataTooNew);
    storage.put("format", &marker);
    assert_eq!(storage.calls(), calls, "nothing was written");
    open_at(&storage, &small_options(), START_MS - 60_000).unwrap();
}

#[test]
fn options_that_cannot_work_are_refused() {
    let storage = MemoryStorage::new(5);
    let good = small_options();
    let mut bad = [good.clone(), good.clone(), good.clone(), good.clone(), good];
    bad[0].level = Level::Replicated;
    bad[1].queue_max = 0;
    bad[2].group_items_max = 0;
    bad[3].journal.segment_bytes = 4_096;
    bad[4].clock_ahead_ms_max = -1;
    for options in bad {
        assert_eq!(open_at(&storage, &options, START_MS).map(|_| ()).unwrap_err().code(), ErrorCode::ConfigurationInvalid);
    }
}

#[test]
fn many_callers_at_once_on_a_real_disk_get_one_effect_each() {
    let folder = tempfile::tempdir().unwrap();
    let storage = FileStorage::create(folder.path()).unwrap();
    let options = LocalOptions { snapshot_bytes: 50_000, ..small_options() };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let mut told = Vec::new();
    {
        let (backend, _) = open_at(&storage, &options, START_MS).unwrap();
        let backend = Arc::new(backend);
        for request in opening() {
            accepted(submit(&backend, &request));
        }
        let tasks: Vec<_> = (0..40)
            .map(|task| {
                let backend = Arc::clone(&backend);
                runtime.spawn(async move {
                    let mut told = Vec::new();
                    for number in 0..50 {
                        // Each key is sent by two tasks.
                        let key = format!("k-{}-{number}", task / 2);
                        let answer = backend.submit(request(market(), &key, order("ben", Side::Buy, 1))).await.unwrap();
                        told.push((key, answer));
                    }
                    told
                })
            })
            .collect();
        for task in tasks {
            told.extend(wait(task).unwrap());
        }
    }
    let effects = told.iter().filter(|(_, answer)| matches!(answer.decision, Decision::Accepted(_))).count();
    let (backend, report) = open_at(&storage, &options, START_MS).unwrap();
    let mut entries = std::collections::BTreeMap::new();
    for (key, answer) in told {
        match (answer.decision, submit(&backend, &request(market(), &key, order("ben", Side::Buy, 1))).unwrap().decision) {
            (Decision::Accepted(first) | Decision::Replayed(first), Decision::Replayed(again)) => {
                assert_eq!(first, again);
                assert_eq!(entries.entry(key).or_insert(first.position), &first.position);
            }
            (Decision::Rejected(_), _) => {}
            other => panic!("{key}: {other:?}"),
        }
    }
    assert_eq!(entries.len(), effects);
    assert!(report.snapshot.is_some(), "snapshots were made meanwhile");
}
