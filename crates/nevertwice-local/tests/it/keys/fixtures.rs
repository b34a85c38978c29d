//! A folder that version 1 of the layout left is read by every later version: its records, and each answer byte for byte.
//!
//! To make it anew, which only a new version of the layout may: `NVT_WRITE_FIXTURES=1 cargo test -p nevertwice-local --all-features --test
//! it keys::fixtures`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nevertwice_api::{AnswerBytes, Levels};
use nevertwice_core::keys::{CompleteKey, Completion, KeyState, OwnerId, ReleaseKey};
use nevertwice_local::KeysInspection;
use nevertwice_local::storage::Storage;
use nevertwice_testkit::sparse;
use nevertwice_testkit::storage::MemoryStorage;

use super::steps::{RETENTION_MS, Steps, T0, answer, id, look, options};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join("keys-v1")
}

/// One key in each state, a snapshot between them, an answer that was swept, and a process that was killed.
fn make() -> MemoryStorage {
    let storage = MemoryStorage::new(1);
    let mut steps = Steps::open(&storage, T0 - RETENTION_MS, &options()).unwrap();
    let swept = steps.claim(9, 9);
    steps.complete(9, 9, swept.generation, &answer(9, 10)).unwrap().reply.unwrap();
    steps.clock.set(T0);
    assert_eq!(steps.ask(|store| store.sweep(8)).unwrap().freed, 1);
    let whole = steps.claim(1, 1);
    steps.complete(1, 1, whole.generation, &answer(1, 5)).unwrap().reply.unwrap();
    let mut made = steps.store.front().snapshot();
    assert!(steps.store.snapshot());
    look(&mut made).unwrap().unwrap();
    let long = steps.claim(2, 2);
    steps.complete(2, 2, long.generation, &answer(2, 4_000)).unwrap().reply.unwrap();
    let free = steps.claim(3, 3);
    let release = ReleaseKey { owner: OwnerId([3; 32]), generation: free.generation };
    steps.ask(|store| store.release(id(3), release, Levels::NONE)).unwrap().reply.unwrap();
    steps.claim(4, 4);
    let tombstone = steps.claim(5, 5);
    let command = CompleteKey { owner: OwnerId([5; 32]), generation: tombstone.generation, answer: AnswerBytes::tombstone(204, 1 << 20) };
    let told = steps.ask(|store| store.complete(id(5), command, AnswerBytes::default(), Levels::NONE)).unwrap();
    assert_eq!(told.reply, Ok(Completion::Kept));
    drop(steps);
    storage.kill();
    storage
}

fn write(storage: &MemoryStorage) {
    std::fs::create_dir(root()).expect("fixtures are never changed");
    for name in storage.list().unwrap() {
        let bytes = storage.read(&name).unwrap();
        std::fs::write(root().join(format!("{name}.sparse")), sparse::encode(&bytes)).unwrap();
    }
}

fn read() -> MemoryStorage {
    let storage = MemoryStorage::new(2);
    for entry in std::fs::read_dir(root()).expect("the fixture is there") {
        let path = entry.unwrap().path();
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".sparse")).expect("a fixture's name");
        storage.put(name, &sparse::decode(&std::fs::read_to_string(&path).unwrap()));
    }
    storage
}

#[test]
fn a_folder_of_version_1_is_read_with_every_answer() {
    if std::env::var_os("NVT_WRITE_FIXTURES").is_some() {
        write(&make());
    }
    let storage = read();
    let verdict = KeysInspection::open(Arc::new(storage.clone())).unwrap().verify(|| {}).unwrap();
    assert_eq!(verdict.faults, Vec::<String>::new());
    assert_eq!((verdict.report.records, verdict.claims, verdict.answers, verdict.tombstones), (5, 1, 3, 1));
    let mut steps = Steps::open(&storage, T0, &options()).unwrap();
    assert!(steps.report.snapshot.is_some() && steps.report.changes > 0, "{:?}", steps.report);
    assert_eq!(steps.replayed(1).bytes, answer(1, 5));
    assert_eq!(steps.replayed(2).bytes, answer(2, 4_000));
    assert_eq!(steps.replayed(5).bytes, AnswerBytes::default());
    let generation = T0 as u64;
    for key in [1, 2, 3, 4, 5] {
        let record = steps.ask(|store| store.inspect(id(key))).unwrap().expect("it is remembered");
        assert_eq!((record.generation, record.changed_at, record.retention_ms), (generation, T0, RETENTION_MS), "key {key}");
        let is_as_left = match record.state {
            KeyState::Free(freedom) => key == 3 && freedom.owner == OwnerId([3; 32]),
            KeyState::InProgress(claim) => key == 4 && claim.owner == OwnerId([4; 32]) && claim.fingerprint == [7; 32],
            KeyState::Completed(completion) => [1, 2, 5].contains(&key) && completion.owner == OwnerId([key; 32]),
        };
        assert!(is_as_left, "key {key}");
    }
    assert_eq!(steps.ask(|store| store.inspect(id(9))).unwrap(), None);
}

/// What is written today is what the fixture holds: the layout has not changed under its number.
#[test]
fn what_is_written_today_reads_like_the_fixture() {
    let (today, fixture) = (make(), read());
    let verdict = |storage: &MemoryStorage| {
        let mut verdict = KeysInspection::open(Arc::new(storage.clone())).unwrap().verify(|| {}).unwrap();
        verdict.report.took = std::time::Duration::ZERO;
        verdict
    };
    assert_eq!(verdict(&today), verdict(&fixture));
    for name in fixture.list().unwrap().into_iter().filter(|name| nevertwice_local::is_answers(name)) {
        assert_eq!(today.read(&name).unwrap(), fixture.read(&name).unwrap(), "{name}");
    }
}
