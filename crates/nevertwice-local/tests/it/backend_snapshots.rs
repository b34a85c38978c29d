//! Snapshots beside the sequencer, and what goes with them.

use std::sync::Arc;

use nevertwice_core::Decision;
use nevertwice_local::error::OpenError;
use nevertwice_local::inspect::Inspection;
use nevertwice_local::journal::is_segment;
use nevertwice_local::snapshot::{is_snapshot, snapshot_name};
use nevertwice_local::storage::Storage;
use nevertwice_testkit::storage::MemoryStorage;

use crate::commands::{Twin, open, remembered, submit, wait, workload};

fn count(storage: &MemoryStorage, is: fn(&str) -> bool) -> usize {
    storage.list().unwrap().iter().filter(|name| is(name)).count()
}

fn hashes(storage: &MemoryStorage) -> Vec<String> {
    let contents = Inspection::open(Arc::new(storage.clone())).unwrap().contents().unwrap();
    contents.states.shards().map(|state| format!("{} {}", state.shard(), state.state_hash())).collect()
}

#[test]
fn two_snapshots_let_segments_go_and_a_bad_one_falls_back() {
    let storage = MemoryStorage::new(1);
    let mut twin = Twin::new();
    let requests = workload(5, 260);
    let (mut batches, mut pruned) = (Vec::new(), Vec::new());
    {
        let (backend, _) = open(&storage).unwrap();
        let mut most = 0;
        for (number, request) in requests.iter().enumerate() {
            assert_eq!(submit(&backend, request).unwrap().decision, twin.decide(request));
            if [90, 170, 230].contains(&number) {
                most = most.max(count(&storage, is_segment));
                let report = wait(backend.snapshot()).unwrap();
                pruned.push(report.segments_pruned);
                let again = wait(backend.snapshot()).unwrap();
                assert_eq!((again.batch, again.records), (report.batch, report.records), "nothing happened since");
                batches.push(report.batch);
            }
        }
        assert_eq!(pruned[0], 0, "one snapshot alone lets nothing go");
        assert!(pruned[2] > 0, "{pruned:?}");
        assert_eq!(count(&storage, is_snapshot), 2);
        assert!(count(&storage, is_segment) < most + 3);
    }
    let expected: Vec<String> = twin.shards.iter().map(|(state, _)| format!("{} {}", state.shard(), state.state_hash())).collect();
    assert_eq!(hashes(&storage), expected);

    let bad = storage.fork(2);
    bad.flip(&snapshot_name(batches[2]), 1_000, 4);
    assert_eq!(hashes(&bad), expected, "the one before and more of the journal say the same");
    let (backend, report) = open(&bad).unwrap();
    assert_eq!((report.snapshot, report.bad_snapshots.len()), (Some(batches[1]), 1));
    for (state, entries) in &twin.shards {
        for entry in entries {
            let retried = requests.iter().find(|request| &request.shard == state.shard() && request.command.intent == entry.intent);
            assert_eq!(submit(&backend, retried.unwrap()).unwrap().decision, Decision::Replayed(remembered(entry)));
        }
    }
    drop(backend);

    let worse = storage.fork(3);
    worse.flip(&snapshot_name(batches[2]), 1_000, 4);
    worse.flip(&snapshot_name(batches[1]), 1_000, 4);
    assert!(matches!(open(&worse).map(|_| ()), Err(OpenError::Damage(_))), "the journal does not reach back");
}

#[test]
fn what_somebody_still_reads_is_kept() {
    let storage = MemoryStorage::new(2);
    let (backend, _) = open(&storage).unwrap();
    backend.keep_from(1);
    let requests = workload(6, 260);
    for (number, request) in requests.iter().enumerate() {
        submit(&backend, request).unwrap();
        if number % 80 == 79 {
            assert_eq!(wait(backend.snapshot()).unwrap().segments_pruned, 0);
        }
    }
    backend.keep_from(u64::MAX);
    assert!(wait(backend.snapshot()).unwrap().segments_pruned > 0);
}

#[test]
fn an_inspection_reads_every_batch_and_replays_from_the_start() {
    let storage = MemoryStorage::new(3);
    let requests = workload(7, 60);
    let mut twin = Twin::new();
    {
        let (backend, _) = open(&storage).unwrap();
        assert!(matches!(Inspection::open(Arc::new(storage.clone())).map(|_| ()), Err(OpenError::InUse)));
        for request in &requests {
            submit(&backend, request).unwrap();
            twin.decide(request);
        }
        wait(backend.snapshot()).unwrap();
    }
    let calls = storage.calls();
    let inspection = Inspection::open(Arc::new(storage.clone())).unwrap();
    let (mut entries, mut last) = (Vec::new(), 0);
    let damage = inspection.batches(|batch| {
        assert_eq!(batch.frame.batch, last + 1);
        last = batch.frame.batch;
        entries.extend(batch.entries.iter().map(|entry| entry.clone().unwrap()));
        true
    });
    assert_eq!(damage.unwrap(), None);
    let mut expected: Vec<_> = twin.shards.iter().flat_map(|(_, entries)| entries.clone()).collect();
    expected.sort_by_key(|entry| (entry.shard.clone(), entry.position));
    entries.sort_by_key(|entry| (entry.shard.clone(), entry.position));
    assert_eq!(entries, expected);
    let mut seen = 0;
    let contents = inspection.replay(|state, entry| {
        assert_eq!(state.position(), entry.position);
        seen += 1;
    });
    assert_eq!(seen, expected.len());
    for (state, _) in &twin.shards {
        assert_eq!(contents.as_ref().unwrap().states.shard(state.shard()).unwrap().state_hash(), state.state_hash());
    }
    assert_eq!(inspection.snapshots().unwrap().len(), 1);
    assert!(inspection.snapshots().unwrap()[0].1.is_ok());
    assert_eq!(storage.calls(), calls, "an inspection writes nothing");
}
