//! The store in a folder.

use std::fs;
use std::path::{Path, PathBuf};

use nevertwice_client::{FolderStore, IntentState, IntentStore, Record};
use serde_json::{Value, json};

fn record(key: &str, state: IntentState) -> Record {
    Record { key: key.to_owned(), expires_at: 1_790_000_000_000, digest: "00".to_owned(), state }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.filter(|path| !path.ends_with("lock")).collect()
}

#[test]
fn it_keeps_over_a_restart_and_forgets() {
    let held = tempfile::tempdir().expect("a folder");
    let folder = held.path().join("deep/intents");
    let store = FolderStore::new(&folder).expect("a store");
    assert_eq!(store.get("cart"), Ok(None));
    let (new, sent) = (record("key-1", IntentState::New), record("key-1", IntentState::Sent));
    assert_eq!(store.swap("cart", None, Some(&new)), Ok(true));
    assert_eq!(store.swap("cart", Some(&new), Some(&sent)), Ok(true));
    let again = FolderStore::new(&folder).expect("a store");
    assert_eq!(again.get("cart"), Ok(Some(sent.clone())));
    assert_eq!(again.swap("cart", Some(&sent), None), Ok(true));
    assert_eq!(again.swap("cart", None, None), Ok(true));
    assert!(files(&folder).is_empty());
}

#[test]
fn only_what_was_seen_is_replaced() {
    let held = tempfile::tempdir().expect("a folder");
    let store = FolderStore::new(held.path()).expect("a store");
    let (kept, other) = (record("key-1", IntentState::New), record("key-2", IntentState::New));
    assert_eq!(store.swap("cart", Some(&kept), Some(&other)), Ok(false));
    assert_eq!(store.swap("cart", None, Some(&kept)), Ok(true));
    for (old, new) in [(None, Some(&other)), (Some(&other), Some(&kept)), (Some(&other), None), (None, None)] {
        assert_eq!(store.swap("cart", old, new), Ok(false));
    }
    assert_eq!((store.get("cart"), files(held.path()).len()), (Ok(Some(kept)), 1));
}

#[test]
fn of_many_at_once_one_comes_first() {
    let held = tempfile::tempdir().expect("a folder");
    let add = |index: u32| {
        let store = FolderStore::new(held.path()).expect("a store");
        store.swap("cart", None, Some(&record(&format!("key-{index}"), IntentState::New))).expect("usable")
    };
    let first: Vec<bool> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16).map(|index| scope.spawn(move || add(index))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!((first.len(), first.iter().filter(|first| **first).count()), (16, 1));
}

#[test]
fn any_name_is_a_file_in_the_folder() {
    let held = tempfile::tempdir().expect("a folder");
    let folder = held.path().join("intents");
    let store = FolderStore::new(&folder).expect("a store");
    for name in ["../../etc/passwd", "a/b", "\0", "ü"] {
        assert_eq!(store.swap(name, None, Some(&record(name, IntentState::New))), Ok(true));
        assert_eq!(store.get(name).expect("readable").expect("kept").key, name);
    }
    assert_eq!((files(&folder).len(), files(held.path()).len()), (4, 1));
}

#[test]
fn what_is_no_record_is_told_and_not_taken_for_nothing() {
    let held = tempfile::tempdir().expect("a folder");
    let store = FolderStore::new(held.path()).expect("a store");
    store.swap("cart", None, Some(&record("key-1", IntentState::New))).expect("kept");
    let path = files(held.path()).remove(0);
    let good: Value = serde_json::from_slice(&fs::read(&path).expect("readable")).expect("JSON");
    let mut bad: Vec<String> = ["", "[]", "{", "{}"].map(str::to_owned).to_vec();
    bad.extend(["x".repeat(5_000), "[".repeat(4_000), format!("{good}{}", " ".repeat(5_000))]);
    for (member, value) in
        [("version", json!(2)), ("state", json!("gone")), ("expires_at", json!("1")), ("key", json!(1)), ("more", json!(1))]
    {
        let mut changed = good.clone();
        changed[member] = value;
        bad.push(changed.to_string());
    }
    for text in bad {
        fs::write(&path, &text).expect("written");
        assert!(store.get("cart").is_err(), "{text}");
        assert!(store.swap("cart", None, Some(&record("key-2", IntentState::New))).is_err(), "{text}");
    }
}

#[test]
fn a_folder_that_cannot_be_is_told() {
    let held = tempfile::NamedTempFile::new().expect("a file");
    FolderStore::new(held.path().join("below")).expect_err("no folder");
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let held = tempfile::tempdir().expect("a folder");
    let folder = held.path().join("intents");
    FolderStore::new(&folder).expect("a store").swap("cart", None, Some(&record("key-1", IntentState::New))).expect("kept");
    for path in [&folder, &files(&folder)[0]] {
        assert_eq!(path.metadata().expect("there").permissions().mode() & 0o077, 0, "{}", path.display());
    }
}
