//! Backups of a backend at work, and what is restored from them.

use std::sync::Arc;

use nevertwice_api::{Backend, ErrorCode};
use nevertwice_core::{Decision, Entry, ShardId, Side, State};
use nevertwice_local::backup::{BackupError, BackupReader, BackupReport, Goal, Manifest, Restored, ShardAt, Target, back_up, restore_to};
use nevertwice_local::error::OpenError;
use nevertwice_local::feed::{FeedSource, JournalHost};
use nevertwice_local::inspect::Inspection;
use nevertwice_local::journal::JournalOptions;
use nevertwice_local::source::{FolderSource, Source};
use nevertwice_local::storage::Storage;
use nevertwice_local::{LocalBackend, LocalOptions};
use nevertwice_testkit::storage::MemoryStorage;

use crate::commands::{START_MS, Twin, accepted, market, name, open, open_at, order, request, small_options, submit, wait, workload};

pub(crate) const SMALL: JournalOptions = JournalOptions { segment_bytes: 64 << 10, segments_ahead: 0 };

fn back_up_from(source: &mut dyn Source, folder: &MemoryStorage) -> Result<BackupReport, BackupError> {
    back_up(Arc::new(folder.clone()), source, "backup", &mut |_| {})
}

fn back_up_running(backend: &LocalBackend, folder: &MemoryStorage) -> BackupReport {
    back_up_from(&mut FeedSource(backend.feed().unwrap()), folder).unwrap()
}

/// A folder to restore into.
pub(crate) fn into<'a>(target: &MemoryStorage, options: &'a JournalOptions) -> Target<'a> {
    Target { storage: Arc::new(target.clone()), options, at_ms: START_MS, without_audit: false }
}

fn reader(folder: &MemoryStorage) -> BackupReader {
    BackupReader::open(Arc::new(folder.clone())).unwrap()
}

fn restore(folder: &MemoryStorage, goal: &Goal, target: &MemoryStorage) -> Result<Restored, BackupError> {
    restore_to(&reader(folder), goal, Some(into(target, &SMALL)), &mut |_| {})
}

/// Where the twin's shards are; those that nobody opened are not there.
fn shards_of(twin: &Twin) -> Vec<ShardAt> {
    let open = twin.shards.iter().filter(|(state, _)| state.is_open());
    open.map(|(state, _)| ShardAt { shard: state.shard().clone(), position: state.position(), hash: state.state_hash().to_string() })
        .collect()
}

/// Decides some of the workload, and returns all entries in the order in which they were made.
fn work(backend: &LocalBackend, twin: &mut Twin, requests: &[nevertwice_api::Request]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for request in requests {
        // The epoch is the backend's; all else is compared by state hash.
        if let Decision::Accepted(entry) = submit(backend, request).unwrap().decision {
            let (state, made) = twin.shard(&entry.shard);
            state.apply(&entry).unwrap();
            made.push(entry.clone());
            entries.push(entry);
        }
    }
    entries
}

#[test]
fn a_backup_of_a_backend_at_work_is_brought_up_to_date_and_restores_what_it_says() {
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let (backend, _) = open(&storage).unwrap();
    let mut twin = Twin::new();
    let requests = workload(1, 240);
    let mut fetched = Vec::new();
    for (round, some) in requests.chunks(80).enumerate() {
        work(&backend, &mut twin, some);
        let report = back_up_running(&backend, &folder);
        assert_eq!(report.manifest.shards, shards_of(&twin), "round {round}");
        assert_eq!(report.manifest.batch, backend.journal().durable());
        assert!(!report.began_anew && (report.before.is_some() == (round > 0)));
        fetched.push(report.fetched_bytes);
    }
    let again = back_up_running(&backend, &folder);
    assert_eq!((again.fetched_bytes, again.before), (0, Some(again.manifest.batch)), "nothing happened since");
    assert!(fetched[2] < fetched[0] + fetched[1], "only what is new is fetched: {fetched:?}");

    // The bytes are those of the journal, and who verifies a folder verifies a backup.
    let lag = request(market(), "later", order("ann", Side::Buy, 1));
    submit(&backend, &lag).unwrap();
    let contents = Inspection::open(Arc::new(folder.clone())).unwrap().replay(|_, _| {}).unwrap();
    assert_eq!((contents.damage, contents.report.journal.cut_bytes), (None, 0));
    assert!(matches!(open(&folder).map(|_| ()), Err(OpenError::NotServable { .. })), "nobody serves a backup");

    let target = MemoryStorage::new(3);
    let restored = restore(&folder, &Goal::Latest, &target).unwrap();
    assert_eq!((restored.shards, restored.batches_left_out), (shards_of(&twin), 0));
    assert_eq!(restored.epoch % 1_000, 0);
    let (other, report) = open(&target).unwrap();
    assert_eq!(report.journal.cut_bytes, 0);
    assert_eq!(other.epoch(), restored.epoch + 1, "no position is shared with what the first server still tells");
    for (_, entries) in &twin.shards {
        for entry in entries {
            let asked = requests.iter().find(|request| request.shard == entry.shard && request.command.intent == entry.intent);
            // Where a command came from is in its entry, and not remembered with its intent.
            let remembered = Entry { origin: None, before: None, ..entry.clone() };
            assert_eq!(submit(&other, asked.unwrap()).unwrap().decision, Decision::Replayed(remembered));
        }
    }
    assert!(!matches!(submit(&other, &lag).unwrap().decision, Decision::Replayed(_)), "what came after the backup is not in it");
}

#[test]
fn a_folder_can_be_restored_to_every_position_and_to_every_batch() {
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let (backend, _) = open(&storage).unwrap();
    let mut twin = Twin::new();
    let requests = workload(4, 70);
    // Many are decided together, so that positions lie within batches.
    let mut entries = Vec::new();
    let mut batches = vec![(0, 0)];
    for some in requests.chunks(7) {
        let answers: Vec<_> = some.iter().map(|request| backend.submit(request.clone())).collect();
        for (request, answer) in some.iter().zip(answers) {
            let decision = wait(answer).unwrap().decision;
            assert_eq!(decision, twin.decide(request));
            if let Decision::Accepted(entry) = decision {
                entries.push(entry);
            }
        }
        batches.push((backend.journal().durable(), entries.len()));
    }
    back_up_running(&backend, &folder);
    let expected = |count: usize| {
        let mut states = std::collections::BTreeMap::<ShardId, State>::new();
        for entry in &entries[..count] {
            let fresh = || State::new(entry.shard.clone(), 1, (5, 6));
            states.entry(entry.shard.clone()).or_insert_with(fresh).apply(entry).unwrap();
        }
        let at = |state: &State| ShardAt { shard: state.shard().clone(), position: state.position(), hash: state.state_hash().to_string() };
        states.values().map(at).collect::<Vec<_>>()
    };
    for (at, entry) in entries.iter().enumerate() {
        let target = MemoryStorage::new(at as u64);
        let restored = restore(&folder, &Goal::Shard(entry.shard.clone(), entry.position), &target).unwrap();
        assert_eq!(restored.shards, expected(at + 1), "{} {}", entry.shard, entry.position);
        let contents = Inspection::open(Arc::new(target)).unwrap().contents().unwrap();
        assert_eq!(contents.states.shard(&entry.shard).unwrap().position(), entry.position);
    }
    for (batch, count) in batches {
        // A dry run says the same.
        let dry = restore_to(&reader(&folder), &Goal::Batch(batch), None, &mut |_| {}).unwrap();
        let restored = restore(&folder, &Goal::Batch(batch), &MemoryStorage::new(batch)).unwrap();
        assert_eq!((&dry.shards, dry.batch), (&restored.shards, restored.batch));
        assert_eq!(restored.shards, expected(count), "batch {batch}");
    }
    let last = entries.last().unwrap();
    let mut beyond = last.position;
    beyond.seq += 1;
    let mut other_epoch = last.position;
    other_epoch.epoch += 1;
    let durable = backend.journal().durable();
    for goal in [
        Goal::Batch(durable + 1),
        Goal::Shard(last.shard.clone(), beyond),
        Goal::Shard(last.shard.clone(), other_epoch),
        Goal::Shard(ShardId::market(name("nobody")), last.position),
    ] {
        let refused = restore(&folder, &goal, &MemoryStorage::new(9)).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::PositionUnknown, "{goal:?}");
    }
}

#[test]
fn a_backup_goes_on_after_its_server_was_killed_and_refuses_another_history() {
    for cut in [false, true] {
        let (storage, folder) = (MemoryStorage::new(7), MemoryStorage::new(8));
        let mut twin = Twin::new();
        let requests = workload(2, 120);
        let (backend, _) = open(&storage).unwrap();
        work(&backend, &mut twin, &requests[..60]);
        let first = back_up_running(&backend, &folder).manifest;
        let old = storage.fork(1);
        // Killed: the last batch was not witnessed, so the next start writes it again.
        storage.crash_after(0);
        drop(backend);
        if cut {
            storage.power_loss()
        } else {
            storage.kill()
        }
        let (backend, _) = open(&storage).unwrap();
        work(&backend, &mut twin, &requests[60..]);
        let second = back_up_running(&backend, &folder).manifest;
        assert!(second.batch > first.batch);
        let rewritten = second.segments.iter().any(|extent| extent.first_batch == first.batch);
        assert!(rewritten || !cut, "the last batch begins a segment of its own: {second:?}");
        assert_eq!(second.shards, shards_of(&twin));
        let restored = restore(&folder, &Goal::Latest, &MemoryStorage::new(3)).unwrap();
        assert_eq!(restored.shards, shards_of(&twin));
        assert!(restore(&folder, &Goal::Batch(first.batch), &MemoryStorage::new(3)).unwrap().shards == first.shards);
        // The server is started on an older copy, and goes another way.
        old.kill();
        let (other, _) = open(&old).unwrap();
        for number in 0..80 {
            let another = request(market(), &format!("other-{number}"), order("ben", Side::Buy, 1));
            submit(&other, &another).unwrap();
        }
        let refused = back_up_from(&mut FeedSource(other.feed().unwrap()), &folder).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::HistoryDiffers);
        assert_eq!(reader(&folder).manifest(), &second, "and what was there still counts");
    }
}

#[test]
fn a_backup_begins_with_a_snapshot_where_the_journal_does_not_reach_back() {
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let (backend, _) = open(&storage).unwrap();
    let mut twin = Twin::new();
    let requests = workload(5, 400);
    let prune = |backend: &LocalBackend| wait(backend.snapshot()).unwrap().segments_pruned;
    work(&backend, &mut twin, &requests[..90]);
    prune(&backend);
    work(&backend, &mut twin, &requests[90..200]);
    assert!(prune(&backend) > 0, "the journal does not reach back");
    work(&backend, &mut twin, &requests[200..210]);
    let first = back_up_running(&backend, &folder);
    assert_eq!(first.manifest.shards, shards_of(&twin));
    assert!(first.manifest.snapshots.len() == 1 && first.manifest.segments[0].first_batch <= first.manifest.snapshots[0].batch);
    let oldest = first.manifest.snapshots[0].batch;
    let at_snapshot = restore(&folder, &Goal::Batch(oldest), &MemoryStorage::new(4)).unwrap();
    assert_eq!(at_snapshot.batch, oldest);
    let before = restore(&folder, &Goal::Batch(oldest - 1), &MemoryStorage::new(4)).unwrap_err();
    assert_eq!(before.code(), ErrorCode::PositionUnknown);

    // Its reader's name is forgotten, and the journal goes on without it.
    let clock_later = START_MS + 120_000;
    drop(backend);
    let (backend, _) = open_at(&storage, &small_options(), clock_later).unwrap();
    let mut later = Vec::new();
    for number in 0..300 {
        let side = if number % 2 == 0 { Side::Sell } else { Side::Buy };
        later.push(request(market(), &format!("late-{number}"), order("ann", side, 1)));
        accepted(submit(&backend, &later[number]));
        if number == 150 {
            prune(&backend);
        }
    }
    assert!(prune(&backend) > 0);
    let anew = back_up_running(&backend, &folder);
    assert!(anew.began_anew && anew.manifest.snapshots[0].batch > first.manifest.batch);
    let target = MemoryStorage::new(5);
    let restored = restore(&folder, &Goal::Latest, &target).unwrap();
    assert_eq!(restored.shards, anew.manifest.shards);
    let (other, _) = open_at(&target, &small_options(), clock_later).unwrap();
    assert!(matches!(submit(&other, &later[299]).unwrap().decision, Decision::Replayed(_)));
    assert!(matches!(submit(&other, &requests[0]).unwrap().decision, Decision::Replayed(_)), "the snapshot remembers");
}

#[test]
fn what_a_reader_still_needs_is_kept_for_a_while() {
    let storage = MemoryStorage::new(1);
    let (backend, _) = open(&storage).unwrap();
    let requests = workload(6, 260);
    let pull = nevertwice_local::source::Pull { after: 3, bytes_max: 1, reader: Some("slow".to_owned()), ..Default::default() };
    for (number, request) in requests.iter().enumerate() {
        submit(&backend, request).unwrap();
        if number == 20 {
            backend.feed().unwrap().batches(&pull).unwrap();
        }
        if number % 80 == 79 {
            assert_eq!(wait(backend.snapshot()).unwrap().segments_pruned, 0);
        }
    }
    assert!(backend.feed().unwrap().batches(&pull).is_ok());
    let gone = nevertwice_local::source::Pull { after: backend.journal().durable(), ..pull };
    backend.feed().unwrap().batches(&gone).unwrap();
    assert!(wait(backend.snapshot()).unwrap().segments_pruned > 0);
}

#[test]
fn a_stopped_folder_is_backed_up_too() {
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let mut twin = Twin::new();
    let requests = workload(3, 120);
    for some in requests.chunks(40) {
        let (backend, _) = open(&storage).unwrap();
        assert!(matches!(FolderSource::open(Arc::new(storage.clone()), &[]).map(|_| ()), Err(OpenError::InUse)));
        work(&backend, &mut twin, some);
        backend.stop();
        drop(backend);
        let calls = storage.calls();
        let mut source = FolderSource::open(Arc::new(storage.clone()), &["a.check", "b.check"]).unwrap();
        storage.put("a.check", b"a note\n");
        let report = back_up_from(&mut source, &folder).unwrap();
        assert_eq!(report.manifest.shards, shards_of(&twin));
        assert_eq!(storage.calls(), calls, "nothing was written where it was read");
    }
    let target = MemoryStorage::new(3);
    restore(&folder, &Goal::Latest, &target).unwrap();
    assert_eq!(target.read("a.check").unwrap(), b"a note\n", "small files go with it");
    let again = restore(&folder, &Goal::Latest, &target).unwrap_err();
    assert!(matches!(again, BackupError::NotEmpty), "a folder that holds something is left alone");
    let other = back_up_from(&mut FolderSource::open(Arc::new(target), &[]).unwrap(), &folder).unwrap_err();
    assert_eq!(other.code(), ErrorCode::HistoryDiffers, "a restored folder is another journal");
}

#[test]
fn whatever_interrupts_a_backup_what_it_held_still_counts() {
    let storage = MemoryStorage::new(1);
    let (backend, _) = open(&storage).unwrap();
    let mut twin = Twin::new();
    let requests = workload(8, 160);
    work(&backend, &mut twin, &requests[..80]);
    let folder = MemoryStorage::new(2);
    let first = back_up_running(&backend, &folder).manifest;
    work(&backend, &mut twin, &requests[80..]);
    let whole = {
        let fork = folder.fork(0);
        let before = fork.calls();
        back_up_running(&backend, &fork);
        fork.calls() - before
    };
    assert!(whole > 10, "{whole}");
    let mut finished = 0;
    for at in 0..whole {
        for started in [true, false] {
            let broken = if started { folder.fork(at) } else { MemoryStorage::new(at) };
            broken.crash_after(at);
            let interrupted = back_up_from(&mut FeedSource(backend.feed().unwrap()), &broken);
            broken.power_loss();
            let manifest = Manifest::read(&broken).unwrap();
            if started {
                let manifest = manifest.expect("the backup from before counts");
                assert!(manifest == first || manifest.shards == shards_of(&twin), "call {at}");
                assert_eq!(restore(&broken, &Goal::Latest, &MemoryStorage::new(1)).unwrap().shards, manifest.shards, "call {at}");
            }
            finished += usize::from(interrupted.is_ok());
            // The next one mends all that.
            assert_eq!(back_up_running(&backend, &broken).manifest.shards, shards_of(&twin), "call {at}");
        }
    }
    assert!(finished < whole as usize);
}

#[test]
fn a_restore_that_was_interrupted_is_not_taken_for_a_folder() {
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let (backend, _) = open(&storage).unwrap();
    work(&backend, &mut Twin::new(), &workload(8, 100));
    let manifest = back_up_running(&backend, &folder).manifest;
    let target = MemoryStorage::new(3);
    restore(&folder, &Goal::Latest, &target).unwrap();
    let whole = target.calls();
    for at in 0..whole {
        let target = MemoryStorage::new(at);
        target.crash_after(at);
        assert!(restore(&folder, &Goal::Latest, &target).is_err(), "call {at}");
        target.power_loss();
        match open(&target) {
            Ok((backend, report)) => {
                // Nothing was there yet, or all of it.
                assert!(backend.journal().durable() == 1 || report.journal.last_batch == manifest.batch + 1, "call {at}");
            }
            Err(error) => assert_eq!(error.code(), ErrorCode::DataFolderInvalid, "call {at}: {error}"),
        }
    }
}

#[test]
fn damage_to_a_backup_is_found_and_a_manifest_of_any_bytes_is_refused_or_read() {
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let (backend, _) = open_at(&storage, &LocalOptions { ..small_options() }, START_MS).unwrap();
    work(&backend, &mut Twin::new(), &workload(9, 120));
    wait(backend.snapshot()).unwrap();
    let manifest = back_up_running(&backend, &folder).manifest;
    for extent in &manifest.segments {
        let name = format!("journal-{:020}.segment", extent.segment);
        let bytes = folder.read(&name).unwrap();
        for at in (0..bytes.len()).step_by(2_000).filter(|at| bytes[*at] != 0) {
            let damaged = folder.fork(1);
            damaged.flip(&name, at, 1);
            let refused = restore(&damaged, &Goal::Latest, &MemoryStorage::new(1)).unwrap_err();
            assert_eq!(refused.code(), ErrorCode::BackupInvalid, "{name} {at}");
            let refused = back_up_from(&mut FeedSource(backend.feed().unwrap()), &damaged).unwrap_err();
            assert_eq!(refused.code(), ErrorCode::BackupInvalid, "{name} {at}");
        }
    }
    let text = folder.read("backup.manifest").unwrap();
    for at in 0..text.len() {
        let damaged = folder.fork(2);
        damaged.flip("backup.manifest", at, 1 << (at % 7));
        assert!(Manifest::read(&damaged).is_err(), "byte {at}");
        damaged.put("backup.manifest", &text[..at]);
        assert!(Manifest::read(&damaged).is_err(), "cut at {at}");
    }
    let strange = MemoryStorage::new(3);
    strange.put("holiday.jpg", b"somebody's");
    let refused = back_up_from(&mut FeedSource(backend.feed().unwrap()), &strange).unwrap_err();
    assert!(matches!(refused, BackupError::NotEmpty));
    assert_eq!(refused.code(), ErrorCode::DataFolderInvalid);
}
