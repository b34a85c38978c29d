//! What is not as it was written is said, and names its file; it never becomes a key that nobody has used.

use std::sync::Arc;

use nevertwice_api::{AnswerBytes, ErrorCode, Levels, NoObserver};
use nevertwice_core::keys::{BodyKept, Registration};
use nevertwice_local::storage::Storage;
use nevertwice_local::{KeyStoreOptions, KeysInspection, LocalBackend, LocalOptions, is_answers};
use nevertwice_testkit::clock::ManualClock;
use nevertwice_testkit::storage::MemoryStorage;

use super::steps::{Steps, T0, answer, id, options, register};
use crate::support::crc32c;

fn answers(storage: &MemoryStorage) -> Vec<String> {
    storage.list().unwrap().into_iter().filter(|name| is_answers(name)).collect()
}

/// A stopped store with two answers, and the name of the file in which they lie.
fn stopped() -> (MemoryStorage, String) {
    let storage = MemoryStorage::new(1);
    let mut steps = Steps::open(&storage, T0, &options()).unwrap();
    for key in [1, 2] {
        let lease = steps.claim(key, key);
        steps.complete(key, key, lease.generation, &answer(key, 1_000)).unwrap().reply.unwrap();
    }
    steps.stop();
    let names = answers(&storage);
    assert_eq!(names.len(), 1);
    (storage, names[0].clone())
}

fn faults(storage: &MemoryStorage) -> Vec<String> {
    let inspection = KeysInspection::open(Arc::new(storage.clone())).unwrap();
    let calls = storage.calls();
    let verdict = inspection.verify(|| {}).unwrap();
    assert_eq!(storage.calls(), calls, "nothing is written by looking");
    verdict.faults
}

#[test]
fn a_whole_folder_is_clean_and_all_of_it_is_counted() {
    let (storage, _) = stopped();
    let inspection = KeysInspection::open(Arc::new(storage.clone())).unwrap();
    let mut seen = 0;
    let verdict = inspection.verify(|| seen += 1).unwrap();
    assert_eq!(verdict.faults, Vec::<String>::new());
    assert_eq!((seen, verdict.report.records, verdict.answers, verdict.answer_bytes), (2, 2, 2, 2 * 1_002));
    let (steps, storage) = (Steps::open(&storage, T0, &options()).unwrap(), storage);
    assert_eq!(KeysInspection::open(Arc::new(storage)).map(|_| ()).unwrap_err().code(), ErrorCode::DataFolderInUse);
    steps.stop();
}

/// The request was carried out: a retry hears that its answer is not kept, and never that the key is free.
#[test]
fn a_damaged_answer_is_replayed_as_one_that_was_not_kept() {
    let (storage, name) = stopped();
    storage.flip(&name, 500, 1);
    let faults = faults(&storage);
    assert!(faults.len() == 1 && faults[0].contains(&name) && faults[0].contains("byte 0"), "{faults:?}");
    let mut steps = Steps::open(&storage, T0, &options()).unwrap();
    let told = steps.replayed(1);
    assert_eq!(told.bytes, AnswerBytes::default());
    let Registration::Replay { answer: kept, .. } = told.registration else { panic!("it is a replay") };
    assert_eq!((kept.body, kept.status, kept.body_bytes), (BodyKept::Tombstone, 201, 1_000));
    assert_eq!(steps.replayed(2).bytes, answer(2, 1_000), "its neighbour is whole");
}

#[test]
fn a_missing_or_short_file_of_answers_refuses_the_start_and_is_named() {
    for cut in [None, Some(0), Some(500), Some(4_096 + 1_001)] {
        let (storage, name) = stopped();
        match cut {
            None => storage.remove(&name).unwrap(),
            Some(len) => storage.truncate(&name, len).unwrap(),
        }
        let calls = storage.calls();
        let refused = Steps::open(&storage, T0, &options()).map(|_| ()).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::JournalDamaged, "{cut:?}");
        assert!(refused.to_string().contains(&name), "{cut:?}: {refused}");
        assert_eq!(storage.calls(), calls, "{cut:?}: nothing was done");
        let faults = faults(&storage);
        assert!(!faults.is_empty() && faults.iter().all(|fault| fault.contains(&name)), "{cut:?}: {faults:?}");
    }
}

/// A crash between an answer and the change that names it leaves a file that nothing names.
#[test]
fn an_orphan_is_removed_at_the_start_and_its_number_is_not_used_again() {
    let (storage, name) = stopped();
    let orphan = name.replace("00001.bytes", "00007.bytes");
    storage.put(&orphan, b"left behind");
    storage.put("answers-1.bytes", b"not a name that this store gives");
    let mut steps = Steps::open(&storage, T0, &options()).unwrap();
    assert_eq!(steps.report.orphans, 1);
    assert_eq!(answers(&storage), std::slice::from_ref(&name));
    let lease = steps.claim(3, 3);
    steps.complete(3, 3, lease.generation, &answer(3, 10)).unwrap().reply.unwrap();
    assert_eq!(answers(&storage), [name.clone(), name.replace("00001.bytes", "00008.bytes")]);
    assert!(storage.list().unwrap().contains(&"answers-1.bytes".to_owned()));
}

#[test]
fn a_change_of_a_later_version_is_refused_and_nothing_is_done() {
    let (storage, _) = stopped();
    let name = storage.list().unwrap().into_iter().find(|name| name.ends_with(".segment")).unwrap();
    let mut bytes = storage.read(&name).unwrap();
    let frames: Vec<usize> = (0..bytes.len()).step_by(4_096).filter(|at| bytes[*at..].starts_with(b"nvtJ") && bytes[at + 40] > 0).collect();
    assert_eq!(frames.len(), 4);
    let at = frames[3];
    bytes[at + 64] = 3;
    let end = at + 64 + u32::from_le_bytes(bytes[at + 44..at + 48].try_into().unwrap()) as usize;
    let crc = crc32c(&[&bytes[at..at + 60], &bytes[at + 64..end]].concat());
    bytes[at + 60..at + 64].copy_from_slice(&crc.to_le_bytes());
    // The frames behind it link to its checksum: they go, so that this is all that is wrong.
    bytes[end.next_multiple_of(4_096)..].fill(0);
    storage.put(&name, &bytes);
    storage.remove("reach").unwrap();
    let calls = storage.calls();
    let refused = Steps::open(&storage, T0, &options()).map(|_| ()).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::DataTooNew, "{refused}");
    assert!(refused.to_string().contains("a record of a key has version 3"), "{refused}");
    assert_eq!(storage.calls(), calls);
}

#[test]
fn a_folder_of_keys_and_one_of_markets_are_told_apart() {
    let (keys, _) = stopped();
    let clock = Arc::new(ManualClock::new(T0));
    let refused = LocalBackend::open(Arc::new(keys.clone()), clock.clone(), Arc::new(NoObserver), &LocalOptions::default());
    let refused = refused.map(|_| ()).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::DataFolderInvalid);
    assert!(refused.to_string().contains("it holds keys"), "{refused}");
    let shards = MemoryStorage::new(2);
    drop(LocalBackend::open(Arc::new(shards.clone()), clock, Arc::new(NoObserver), &LocalOptions::default()).unwrap());
    let refused = Steps::open(&shards, T0, &options()).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("markets and sales"), "{refused}");
}

#[test]
fn settings_that_cannot_work_are_refused() {
    use nevertwice_api::Level;

    let bad = [
        KeyStoreOptions { level: Level::Replicated, ..options() },
        KeyStoreOptions { level: Level::Ledgered, ..options() },
        KeyStoreOptions { queue_max: 0, ..options() },
        KeyStoreOptions { group_items_max: 0, ..options() },
        KeyStoreOptions { group_items_max: 64, ..options() },
        KeyStoreOptions { records_max: u64::MAX, ..options() },
        KeyStoreOptions { answer_bytes_max: 2 << 30, ..options() },
        KeyStoreOptions { clock_ahead_ms_max: -1, ..options() },
    ];
    for options in bad {
        let refused = Steps::open(&MemoryStorage::new(3), T0, &options).map(|_| ()).expect_err(&format!("{options:?}"));
        assert_eq!(refused.code(), ErrorCode::ConfigurationInvalid, "{options:?}");
    }
}

/// The bad snapshot is passed over for the one before it, and what a segment below it held is not needed.
#[test]
fn a_damaged_snapshot_is_passed_over_for_the_one_before_it() {
    let storage = MemoryStorage::new(4);
    let mut steps = Steps::open(&storage, T0, &options()).unwrap();
    let mut kept = Vec::new();
    for key in 0..30 {
        let lease = steps.claim(key, key);
        let bytes = answer(key, 2_000);
        steps.complete(key, key, lease.generation, &bytes).unwrap().reply.unwrap();
        kept.push(bytes);
        if key % 10 == 9 {
            let mut made = steps.store.front().snapshot();
            assert!(steps.store.snapshot());
            super::steps::look(&mut made).unwrap().unwrap();
        }
    }
    steps.stop();
    let snapshots: Vec<String> = storage.list().unwrap().into_iter().filter(|name| name.starts_with("snapshot-")).collect();
    assert_eq!(snapshots.len(), 2, "{snapshots:?}");
    storage.flip(&snapshots[1], 300, 1);
    let mut steps = Steps::open(&storage, T0, &options()).unwrap();
    assert_eq!((steps.report.bad_snapshots.len(), steps.report.records), (1, 30));
    for (key, bytes) in (0..).zip(kept) {
        assert_eq!(steps.replayed(key).bytes, bytes);
    }
    let told = steps.ask(|store| store.register(id(99), register(1), Levels::NONE));
    assert!(told.unwrap().reply.is_ok());
}
