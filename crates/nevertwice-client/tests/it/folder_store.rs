//! The store in a folder.

use std::fs;
use std::path::{Path, PathBuf};

use nevertwice_client::{FolderStore, IntentState, IntentStore, Record};
use serde_json::{Value, json};

fn record(key: &str, state: IntentState) -> Record {
    Record { key: key.to_owned(), expires_at: 1_790_000_000_000, digest: "00".to_owned(), state }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
}

#[test]
fn it_keeps_over_a_restart_and_forgets() {
    let held = tempfile::tempdir().expect("a folder");
    let folder = held.path().join("deep/intents");
    let store = FolderStore::new(&folder).expect("a store");
    assert_eq!(store.get("cart"), Ok(None));
    assert_eq!(store.add("cart", record("key-1", IntentState::New)), Ok(record("key-1", IntentState::New)));
    store.put("cart", record("key-1", IntentState::Sent)).expect("kept");
    let again = FolderStore::new(&folder).expect("a store");
    assert_eq!(again.get("cart"), Ok(Some(record("key-1", IntentState::Sent))));
    assert_eq!(again.add("cart", record("key-2", IntentState::New)), Ok(record("key-1", IntentState::Sent)));
    for _ in 0..2 {
        again.remove("cart").expect("forgotten");
    }
    assert_eq!(files(&folder), [""; 0].map(PathBuf::from));
}

#[test]
fn of_many_at_once_one_comes_first() {
    let held = tempfile::tempdir().expect("a folder");
    let add = |index: u32| {
        let store = FolderStore::new(held.path()).expect("a store");
        store.add("cart", record(&format!("key-{index}"), IntentState::New)).expect("kept").key
    };
    let kept: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16).map(|index| scope.spawn(move || add(index))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(kept.len() == 16 && kept.iter().all(|key| *key == kept[0]), "{kept:?}");
    assert_eq!(files(held.path()).len(), 1);
}

#[test]
fn any_name_is_a_file_in_the_folder() {
    let held = tempfile::tempdir().expect("a folder");
    let folder = held.path().join("intents");
    let store = FolderStore::new(&folder).expect("a store");
    for name in ["../../etc/passwd", "a/b", "\0", "ü"] {
        store.add(name, record(name, IntentState::New)).expect("kept");
        assert_eq!(store.get(name).expect("readable").expect("kept").key, name);
    }
    assert_eq!((files(&folder).len(), files(held.path()).len()), (4, 1));
}

#[test]
fn what_is_no_record_is_told_and_not_taken_for_nothing() {
    let held = tempfile::tempdir().expect("a folder");
    let store = FolderStore::new(held.path()).expect("a store");
    store.add("cart", record("key-1", IntentState::New)).expect("kept");
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
        assert!(store.add("cart", record("key-2", IntentState::New)).is_err(), "{text}");
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
    FolderStore::new(&folder).expect("a store").add("cart", record("key-1", IntentState::New)).expect("kept");
    for path in [&folder, &files(&folder)[0]] {
        assert_eq!(path.metadata().expect("there").permissions().mode() & 0o077, 0, "{}", path.display());
    }
}
