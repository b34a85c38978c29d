//! A backup of format 2, with the audit of what operators did in it, is read for ever. It was made once, and is never changed.

use std::sync::Arc;

use nevertwice_api::AuditAsk;
use nevertwice_api::wire::AuditFact;
use nevertwice_local::backup::{BackupReader, Goal, back_up, restore_to};
use nevertwice_local::feed::{FeedSource, JournalHost};
use nevertwice_local::inspect::Inspection;
use nevertwice_local::storage::Storage;
use nevertwice_testkit::release::{FORMATS, Folder, root};
use nevertwice_testkit::storage::MemoryStorage;

use crate::audit_keys::work;
use crate::backup::{SMALL, into};
use crate::commands::{open, wait, workload};

const NAME: &str = "backup-2";

/// The shards of a folder with their state hashes, and each thing that operators did, a line each.
fn lines(storage: &MemoryStorage) -> Vec<String> {
    let inspection = Inspection::open(Arc::new(storage.clone())).unwrap();
    let contents = inspection.contents().unwrap();
    assert_eq!(contents.damage, None);
    let shards = contents.states.shards().map(|state| format!("{} at {}: hash {}", state.shard(), state.position(), state.state_hash()));
    let mut lines: Vec<String> = shards.collect();
    let (audit, fault) = inspection.audit().unwrap();
    assert_eq!(fault, None);
    let mut asked = AuditAsk::default();
    loop {
        let page = audit.page(&asked).unwrap();
        let facts = page.facts.iter().filter_map(AuditFact::of);
        lines.extend(facts.map(|fact| serde_json::to_string(&fact).unwrap()));
        match page.next {
            Some(next) => asked.cursor = Some(next),
            None => return lines,
        }
    }
}

/// A folder that is restored out of a backup, without what the restoring itself adds to the audit.
fn restored(backup: &MemoryStorage) -> Vec<String> {
    let target = MemoryStorage::new(2);
    restore_to(&BackupReader::open(Arc::new(backup.clone())).unwrap(), &Goal::Latest, Some(into(&target, &SMALL)), &mut |_| {}).unwrap();
    let mut lines = lines(&target);
    lines.retain(|line| !line.contains("restore_backup"));
    lines
}

#[test]
fn the_fixture_is_made_where_it_is_missing() {
    if std::env::var_os("NVT_WRITE_FIXTURES").is_some() && !root(FORMATS).join(NAME).exists() {
        let (storage, backup) = (MemoryStorage::new(1), MemoryStorage::new(2));
        let requests = workload(7, 120);
        let (backend, _) = open(&storage).unwrap();
        work(&backend, &requests[..60], 0..20);
        wait(backend.snapshot()).unwrap();
        work(&backend, &requests[60..], 20..24);
        let mut source = FeedSource(backend.feed().unwrap());
        back_up(Arc::new(backup.clone()), &mut source, "backup", &mut |_| {}).unwrap();
        let files = backup.list().unwrap().into_iter().filter(|name| name != "in-use");
        let files = files.map(|name| (name.clone(), backup.read(&name).unwrap())).collect();
        Folder { files, hashes: restored(&backup) }.write(FORMATS, NAME);
    }
    assert!(root(FORMATS).join(NAME).is_dir(), "make it by NVT_WRITE_FIXTURES=1, once");
}

#[test]
fn a_backup_of_format_2_is_whole_and_restored_with_all_that_operators_did() {
    let fixture = Folder::read(FORMATS, NAME);
    let backup = MemoryStorage::new(3);
    for (name, bytes) in &fixture.files {
        backup.put(name, bytes);
    }
    let inspection = Inspection::open(Arc::new(backup.clone())).unwrap();
    assert_eq!((inspection.file_faults().unwrap(), inspection.audit_faults().unwrap()), (vec![], vec![]));
    assert_eq!(restored(&backup), fixture.hashes);
    for part in ["hash ", "open_market", "release_key"] {
        assert!(fixture.hashes.iter().any(|line| line.contains(part)), "{part}: it is no example");
    }
    // Every byte of it counts, or is looked at.
    let name = fixture.files.keys().find(|name| name.starts_with("audit-")).expect("it has an audit");
    backup.flip(name, 100, 1);
    assert!(!inspection.file_faults().unwrap().is_empty());
}
