//! Backups of keys: what is in them, and what is made out of them.

use std::sync::Arc;

use nevertwice_local::backup::BackupError;
use nevertwice_local::journal::JournalOptions;
use nevertwice_local::source::{Piece, SourceError};
use nevertwice_local::storage::Storage;
use nevertwice_local::{KeysCopied, KeysFolder, KeysListing, KeysSource, back_up_keys, is_answers, restore_keys};
use nevertwice_testkit::storage::MemoryStorage;

use super::steps::{RETENTION_MS, Steps, T0, answer, id, options};

const NOTE: &str = "keys-secret.check";

fn shared(storage: &MemoryStorage) -> Arc<dyn Storage> {
    Arc::new(storage.clone())
}

fn back_up(from: &MemoryStorage, into: &MemoryStorage) -> Result<Option<KeysCopied>, BackupError> {
    let mut source = KeysFolder::open(shared(from), NOTE).expect("it is a folder of keys");
    back_up_keys(&shared(into), &mut source, &mut |_| {})
}

fn restore(copy: &MemoryStorage, into: &MemoryStorage) -> Result<Option<KeysCopied>, BackupError> {
    restore_keys(&shared(copy), &shared(into), NOTE, &JournalOptions { segment_bytes: 64 << 10, segments_ahead: 0 })
}

/// A stopped folder: two answers, a claim, and what was forgotten at the end.
fn folder() -> MemoryStorage {
    let storage = MemoryStorage::new(1);
    let mut steps = Steps::open(&storage, T0 - RETENTION_MS, &options()).unwrap();
    let old = steps.claim(9, 9);
    steps.complete(9, 9, old.generation, &answer(9, 100)).unwrap().reply.unwrap();
    steps.clock.set(T0);
    for key in [1, 2] {
        let lease = steps.claim(key, key);
        steps.complete(key, key, lease.generation, &answer(key, 500 * usize::from(key))).unwrap().reply.unwrap();
    }
    steps.claim(3, 3);
    steps.stop();
    storage.put(NOTE, b"a note");
    storage
}

#[test]
fn a_restored_folder_has_every_key_and_every_answer_of_the_backup() {
    let (from, copy, target) = (folder(), MemoryStorage::new(2), MemoryStorage::new(3));
    let copied = back_up(&from, &copy).unwrap().expect("there are keys");
    assert_eq!((copied.records, copied.answers, copied.at_ms), (3, 2, T0));
    assert_eq!(restore(&copy, &target).unwrap(), Some(copied));
    assert_eq!(target.read(NOTE).unwrap(), b"a note");
    let mut steps = Steps::open(&target, T0, &options()).unwrap();
    assert_eq!(steps.replayed(1).bytes, answer(1, 500));
    assert_eq!(steps.replayed(2).bytes, answer(2, 1_000));
    assert!(steps.register(3, 4).unwrap().is_err(), "somebody works on it");
    assert_eq!(steps.ask(|store| store.inspect(id(9))).unwrap(), None, "it was forgotten");
    let lease = steps.claim(5, 5);
    steps.complete(5, 5, lease.generation, &answer(5, 40)).unwrap().reply.unwrap();
    steps.stop();
    assert!(matches!(restore(&copy, &target), Err(BackupError::NotEmpty)));
}

#[test]
fn a_later_backup_fetches_what_came_and_lets_go_what_went() {
    let (from, copy) = (folder(), MemoryStorage::new(2));
    back_up(&from, &copy).unwrap();
    let mut steps = Steps::open(&from, T0 + 1, &options()).unwrap();
    let lease = steps.claim(4, 4);
    steps.complete(4, 4, lease.generation, &answer(4, 700)).unwrap().reply.unwrap();
    steps.stop();
    let copied = back_up(&from, &copy).unwrap().expect("there are keys");
    assert_eq!((copied.records, copied.answers, copied.at_ms), (4, 3, T0 + 1));
    let snapshots = copy.list().unwrap().into_iter().filter(|name| name.starts_with("snapshot-")).count();
    assert_eq!(snapshots, 1, "only the last one counts");
    // Another server's keys do not go into the same backup.
    let refused = back_up(&folder(), &copy).expect_err("they are others");
    assert!(matches!(refused, BackupError::Differs { .. }), "{refused}");
    assert_eq!(restore(&copy, &MemoryStorage::new(3)).unwrap().expect("it still counts").records, 4);
}

#[test]
fn what_is_damaged_is_told_and_nothing_is_made_of_it() {
    let damaged = |name: &str, change: fn(&mut Vec<u8>)| {
        let (from, copy) = (folder(), MemoryStorage::new(2));
        back_up(&from, &copy).unwrap();
        let names = copy.list().unwrap();
        let name = names.iter().find(|file| file.starts_with(name)).expect("it is there");
        let mut bytes = copy.read(name).unwrap();
        change(&mut bytes);
        copy.put(name, &bytes);
        let target = MemoryStorage::new(3);
        let refused = restore(&copy, &target).expect_err("it is damaged");
        assert!(matches!(refused, BackupError::Invalid { .. }), "{name}: {refused}");
        assert!(!target.list().unwrap().iter().any(|name| name == "format"), "{name}");
    };
    for name in ["answers-", "snapshot-", "keys.manifest"] {
        damaged(name, |bytes| {
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
        });
        damaged(name, |bytes| bytes.truncate(bytes.len() / 2));
    }
    let (empty, copy, target) = (MemoryStorage::new(6), MemoryStorage::new(7), MemoryStorage::new(8));
    Steps::open(&empty, T0, &options()).unwrap().stop();
    back_up(&empty, &copy).unwrap();
    assert_eq!(restore(&copy, &target).unwrap().map(|copied| copied.records), Some(0));
    assert_eq!(target.list().unwrap(), Vec::<String>::new(), "a start makes it, with a secret of its own");
    let nothing = MemoryStorage::new(4);
    assert_eq!(restore(&nothing, &MemoryStorage::new(5)).unwrap(), None, "it is no copy of keys");
}

/// A source from which the files of answers go before they are fetched.
struct Forgetful(KeysFolder, i64);

impl KeysSource for Forgetful {
    fn snapshot_keys(&mut self, into: &Arc<dyn Storage>) -> Result<Option<KeysListing>, SourceError> {
        Ok(self.0.snapshot_keys(into)?.map(|listing| KeysListing { at_ms: self.1, ..listing }))
    }

    fn answers(&mut self, name: &str, _from: u64) -> Result<Piece, SourceError> {
        assert!(is_answers(name));
        Err(SourceError::NoSnapshot)
    }
}

#[test]
fn an_answer_may_go_while_it_is_copied_only_if_it_was_forgotten() {
    let from = folder();
    let source = |at_ms| Forgetful(KeysFolder::open(shared(&from), NOTE).unwrap(), at_ms);
    let refused = back_up_keys(&shared(&MemoryStorage::new(2)), &mut source(T0 - 2 * RETENTION_MS - 60_000), &mut |_| {});
    assert!(matches!(refused, Err(BackupError::Invalid { .. })), "{refused:?}");
    let (copy, target) = (MemoryStorage::new(2), MemoryStorage::new(3));
    let copied = back_up_keys(&shared(&copy), &mut source(T0 + RETENTION_MS - 1), &mut |_| {}).unwrap().expect("there are keys");
    assert_eq!((copied.records, copied.answers), (1, 0), "the claim is left");
    restore(&copy, &target).unwrap();
    let mut steps = Steps::open(&target, T0, &options()).unwrap();
    assert_eq!(steps.ask(|store| store.inspect(id(1))).unwrap(), None);
    assert!(steps.register(3, 4).unwrap().is_err(), "somebody works on it");
}
