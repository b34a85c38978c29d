//! What operators did goes with the data: into backups, out of them up to a position, and to standbys.

use std::collections::BTreeMap;
use std::sync::Arc;

use nevertwice_api::{AuditAsk, Backend, ErrorCode, Fact, FolderDeed, FolderFact, Request};
use nevertwice_core::{Decision, Entry, Position, ShardId};
use nevertwice_local::LocalBackend;
use nevertwice_local::backup::{
    BackupError, BackupReader, BackupReport, CopiedAudit, Goal, Manifest, Restored, Target, back_up, restore_to,
};
use nevertwice_local::chance::SystemChance;
use nevertwice_local::feed::{FeedSource, JournalHost};
use nevertwice_local::inspect::Inspection;
use nevertwice_local::is_audit;
use nevertwice_local::source::{FolderSource, Listing, Piece, Pull, Pulled, Source, SourceError};
use nevertwice_local::standby::{Asker, JournalCopy};
use nevertwice_local::storage::Storage;
use nevertwice_testkit::storage::MemoryStorage;

use crate::audit::{audit_of, names, running};
use crate::backup::{SMALL, into};
use crate::commands::{START_MS, open, small_options, submit, wait, workload};

/// All that was accepted, in order, with the batches behind which some of it had come.
#[derive(Default)]
struct Past {
    entries: Vec<Entry>,
    batches: Vec<(u64, usize)>,
}

impl Past {
    fn work(&mut self, backend: &LocalBackend, requests: &[Request], snapshot_every: usize) {
        // Several are decided together, so that positions lie within batches.
        for (round, some) in requests.chunks(3).enumerate() {
            let answers: Vec<_> = some.iter().map(|request| backend.submit(request.clone())).collect();
            for answer in answers {
                if let Decision::Accepted(entry) = wait(answer).unwrap().decision {
                    self.entries.push(entry);
                }
            }
            self.batches.push((backend.journal().durable(), self.entries.len()));
            if (round + 1) % snapshot_every == 0 {
                wait(backend.snapshot()).unwrap();
            }
        }
    }

    /// What operators did among the first entries.
    fn deeds(&self, count: usize) -> Vec<Entry> {
        self.entries[..count].iter().filter(|entry| entry.is_operators()).cloned().collect()
    }

    fn all(&self) -> Vec<Entry> {
        self.deeds(self.entries.len())
    }
}

fn back_up_from(source: &mut dyn Source, folder: &MemoryStorage) -> Result<BackupReport, BackupError> {
    back_up(Arc::new(folder.clone()), source, "backup", &mut |_| {})
}

fn feed(backend: &LocalBackend) -> FeedSource {
    FeedSource(backend.feed().expect("a backend has a journal"))
}

fn restore(folder: &MemoryStorage, goal: &Goal, target: &MemoryStorage) -> Result<Restored, BackupError> {
    let backup = BackupReader::open(Arc::new(folder.clone()))?;
    restore_to(&backup, goal, Some(into(target, &SMALL)), &mut |_| {})
}

fn begins_after(storage: &MemoryStorage) -> u64 {
    let (audit, _) = Inspection::open(Arc::new(storage.clone())).unwrap().audit().unwrap();
    audit.page(&AuditAsk::default()).unwrap().begins_after
}

fn faults(storage: &MemoryStorage) -> Vec<String> {
    Inspection::open(Arc::new(storage.clone())).unwrap().audit_faults().unwrap()
}

/// A server whose journal has lost its beginning, at work, and all that happened.
fn aged(storage: &MemoryStorage, requests: &[Request]) -> (LocalBackend, Past) {
    let mut past = Past::default();
    let (backend, _) = open(storage).unwrap();
    past.work(&backend, &requests[..requests.len() / 2], 8);
    backend.stop();
    drop(backend);
    let (backend, _) = open(storage).unwrap();
    past.work(&backend, &requests[requests.len() / 2..], 8);
    assert!(backend.journal().first() > 1, "the journal does not reach back");
    (backend, past)
}

#[test]
fn a_backup_has_the_whole_audit_and_a_restored_folder_has_it_up_to_its_position() {
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let requests = workload(5, 420);
    let (backend, mut past) = aged(&storage, &requests[..240]);
    let mut manifests = Vec::new();
    for some in requests[240..].chunks(60) {
        manifests.push(back_up_from(&mut feed(&backend), &folder).unwrap().manifest);
        past.work(&backend, some, 1_000);
    }
    let report = back_up_from(&mut feed(&backend), &folder).unwrap();
    assert!(!report.began_anew && report.manifest.segments[0].first_batch > 1);
    assert_eq!(audit_of(&folder), (past.all(), None), "who reads a folder reads a backup");
    assert_eq!((begins_after(&folder), faults(&folder)), (0, vec![]));
    let stored = report.manifest.audit.clone().unwrap();
    assert_eq!((stored.after, stored.files.len()), (0, 1), "a short file is gone on with");
    assert_ne!(Some(&stored), manifests[0].audit.as_ref());
    assert_eq!(back_up_from(&mut feed(&backend), &folder).unwrap().fetched_bytes, 0, "nothing happened since");

    // To every batch from the first snapshot on, and to every position that lies behind it.
    let oldest = report.manifest.snapshots[0].batch;
    let mut restored_to = 0;
    for (batch, count) in past.batches.iter().filter(|(batch, _)| *batch >= oldest) {
        let target = MemoryStorage::new(*batch);
        let restored = restore(&folder, &Goal::Batch(*batch), &target).unwrap();
        let expected = past.deeds(*count);
        assert_eq!(restored.audit, Some(CopiedAudit { begins_after: 0, entries: expected.len() as u64 }));
        assert_eq!(audit_of(&target), (expected, None), "batch {batch}");
        restored_to += 1;
    }
    let first = past.batches.iter().find(|(batch, _)| *batch >= oldest).map_or(0, |(_, count)| *count);
    for (at, entry) in past.entries.iter().enumerate().skip(first) {
        let target = MemoryStorage::new(at as u64);
        let Ok(_) = restore(&folder, &Goal::Shard(entry.shard.clone(), entry.position), &target) else { continue };
        assert_eq!(audit_of(&target), (past.deeds(at + 1), None), "{} {}", entry.shard, entry.position);
        assert_eq!(faults(&target), Vec::<String>::new());
        restored_to += 1;
    }
    assert!(restored_to > 100, "{restored_to}");

    // A server goes on with it.
    let target = MemoryStorage::new(3);
    restore(&folder, &Goal::Latest, &target).unwrap();
    let expected = past.all();
    let (other, _) = open(&target).unwrap();
    assert_eq!(running(&other), expected);
    let mut later = Past::default();
    later.work(&other, &workload(77, 60), 6);
    let expected = [expected, later.all()].concat();
    assert_eq!(running(&other), expected);
    other.stop();
    drop(other);
    assert_eq!(audit_of(&target), (expected.clone(), None));
    // And so does a backup of that.
    let second = MemoryStorage::new(4);
    back_up_from(&mut FolderSource::open(Arc::new(target), &[]).unwrap(), &second).unwrap();
    assert_eq!(audit_of(&second), (expected, None));
}

#[test]
fn a_backup_that_begins_anew_fetches_the_audit_anew() {
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let requests = workload(6, 900);
    let (backend, mut past) = aged(&storage, &requests[..200]);
    let first = back_up_from(&mut feed(&backend), &folder).unwrap().manifest;
    backend.stop();
    drop(backend);
    // Nobody keeps anything for its reader any more.
    let (backend, _) = open(&storage).unwrap();
    past.work(&backend, &requests[200..], 30);
    assert!(backend.journal().first() > first.batch + 1);
    let anew = back_up_from(&mut feed(&backend), &folder).unwrap();
    assert!(anew.began_anew);
    assert_eq!(audit_of(&folder), (past.all(), None));
    let target = MemoryStorage::new(3);
    restore(&folder, &Goal::Latest, &target).unwrap();
    assert_eq!(audit_of(&target), (past.all(), None));
    let files = names(&folder, is_audit);
    assert_eq!(files.len(), anew.manifest.audit.unwrap().files.len(), "what no longer counts has gone");
}

#[test]
fn a_standby_has_the_whole_audit_however_late_it_began() {
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let requests = workload(7, 400);
    let (backend, mut past) = aged(&storage, &requests[..240]);
    let disk: Arc<dyn Storage> = Arc::new(folder.clone());
    let mut source = feed(&backend);
    let asker = Asker { name: "standby".to_owned(), wait_ms: 0 };
    let mut copy = JournalCopy::install(&disk, &mut source, &small_options().journal, &SystemChance).unwrap().copy;
    // From now on what it needs is kept.
    copy.pull(&mut source, &asker).unwrap();
    for some in requests[240..].chunks(40) {
        past.work(&backend, some, 5);
        while copy.pull(&mut source, &asker).unwrap().batches > 0 {}
        let after = folder.fork(3);
        after.power_loss();
        assert_eq!(audit_of(&after), (past.all(), None), "whenever the power goes");
    }
    copy.leave().unwrap();
    let expected = past.all();
    assert_eq!((audit_of(&folder), begins_after(&folder)), ((expected.clone(), None), 0));
    // It becomes the server that decides, and what it makes is backed up with all of it.
    drop((backend, storage));
    let (promoted, report) = open(&folder).unwrap();
    assert!(report.followed.is_some());
    assert!(running(&promoted).starts_with(&expected) && expected.len() > 40);
    let [promotion] = folder_facts(&promoted).try_into().unwrap();
    assert_eq!((promotion.deed, promotion.asker, promotion.at_ms), (FolderDeed::Promoted, None, START_MS));
    let last = report.journal.last_batch;
    assert_eq!((promotion.before.batch, promotion.after.batch, promotion.after.epoch), (last, last + 1, promoted.epoch()));
    assert_eq!((promotion.shards, promotion.before.journal), (report.positions, report.followed.unwrap().0));
    let backup = MemoryStorage::new(4);
    back_up_from(&mut feed(&promoted), &backup).unwrap();
    let target = MemoryStorage::new(5);
    restore(&backup, &Goal::Latest, &target).unwrap();
    assert_eq!(audit_of(&target).0, running(&promoted));
    let (other, _) = open(&target).unwrap();
    let deeds: Vec<FolderDeed> = folder_facts(&other).iter().map(|fact| fact.deed).collect();
    assert_eq!(deeds, [FolderDeed::Promoted, FolderDeed::Restored], "and what was done to the folder goes with it");
}

/// What was done to the folder of a backend.
fn folder_facts(backend: &LocalBackend) -> Vec<FolderFact> {
    let (mut found, mut asked) = (Vec::new(), AuditAsk::default());
    loop {
        let page = backend.history().expect("it has one").audit(&asked).unwrap();
        found.extend(page.facts.into_iter().filter_map(|fact| match fact {
            Fact::Folder(fact) => Some(*fact),
            Fact::Entry(_) | Fact::Key(_) => None,
        }));
        match page.next {
            Some(next) => asked.cursor = Some(next),
            None => return found,
        }
    }
}

#[test]
fn a_promotion_is_told_by_who_asked_for_it_or_never_happened() {
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let (backend, past) = aged(&storage, &workload(7, 200));
    let disk: Arc<dyn Storage> = Arc::new(folder.clone());
    let mut source = feed(&backend);
    let copy = JournalCopy::install(&disk, &mut source, &small_options().journal, &SystemChance).unwrap().copy;
    copy.leave().unwrap();
    let calls = {
        let fork = folder.fork(1);
        drop(open(&fork).unwrap());
        fork.calls()
    };
    let mut told = 0;
    for at in 0..calls {
        // Killed at any call, and started again by whoever keeps it running: each start is a promotion until one was told.
        let fork = folder.fork(at);
        fork.crash_after(at);
        drop(open(&fork));
        if at % 2 == 0 {
            fork.power_loss()
        } else {
            fork.kill()
        }
        let (promoted, report) = open(&fork).unwrap();
        let facts = folder_facts(&promoted);
        let last = facts.last().unwrap_or_else(|| panic!("call {at}: nothing is told"));
        if report.followed.is_none() {
            told += 1;
            assert_eq!(facts.len(), 1, "call {at}");
        } else {
            assert_eq!(last.after.epoch, promoted.epoch(), "call {at}");
        }
        assert!(past.all().starts_with(&running(&promoted)), "call {at}");
    }
    assert!(told > 0);
}

/// A backup as a version made it that knew nothing of the audit.
fn without_audit(folder: &MemoryStorage) -> MemoryStorage {
    let old = folder.fork(9);
    for name in names(&old, is_audit) {
        old.remove(&name).unwrap();
    }
    let text = String::from_utf8(old.read("backup.manifest").unwrap()).unwrap();
    let kept = text.lines().filter(|line| !line.starts_with("audit") && !line.starts_with("check"));
    let body: String = kept.map(|line| line.replace("format 2", "format 1") + "\n").collect();
    let check = crc32c::crc32c(body.as_bytes());
    old.put("backup.manifest", format!("{body}check {check:08x}\n").as_bytes());
    old
}

#[test]
fn a_backup_without_an_audit_is_restored_says_what_lacks_and_gets_it_with_the_next_one() {
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let requests = workload(5, 300);
    let (backend, past) = aged(&storage, &requests[..240]);
    back_up_from(&mut feed(&backend), &folder).unwrap();
    let old = without_audit(&folder);
    let manifest = Manifest::read(&old).unwrap().unwrap();
    assert_eq!(manifest.audit, None);
    let lacking = manifest.segments[0].first_batch - 1;
    assert!(lacking > 0);
    let target = MemoryStorage::new(3);
    let restored = restore(&old, &Goal::Latest, &target).unwrap();
    assert_eq!(restored.audit.map(|audit| audit.begins_after), Some(lacking), "it says from where on it tells");
    let (told, fault) = audit_of(&target);
    assert_eq!((begins_after(&target), fault), (lacking, None));
    assert!(past.all().ends_with(&told) && !told.is_empty());
    let (other, _) = open(&target).unwrap();
    assert_eq!(running(&other), told);

    let report = back_up_from(&mut feed(&backend), &old).unwrap();
    assert_eq!(report.manifest.audit.map(|audit| audit.after), Some(0));
    assert_eq!(audit_of(&old), (past.all(), None));
}

/// A server of a version that does not give its audit.
struct Silent<S>(S);

impl<S: Source> Source for Silent<S> {
    fn listing(&mut self) -> Result<Listing, SourceError> {
        self.0.listing()
    }
    fn batches(&mut self, pull: &Pull) -> Result<Pulled, SourceError> {
        self.0.batches(pull)
    }
    fn audit(&mut self, _after: u64) -> Result<Vec<u8>, SourceError> {
        Err(SourceError::NoAudit)
    }
    fn snapshot(&mut self, batch: u64, from: u64) -> Result<Piece, SourceError> {
        self.0.snapshot(batch, from)
    }
}

#[test]
fn a_source_that_gives_no_audit_is_copied_all_the_same() {
    let storage = MemoryStorage::new(1);
    let requests = workload(5, 300);
    let (backend, past) = aged(&storage, &requests[..240]);
    let backup = MemoryStorage::new(2);
    assert_eq!(back_up_from(&mut Silent(feed(&backend)), &backup).unwrap().manifest.audit, None);
    let target = MemoryStorage::new(3);
    restore(&backup, &Goal::Latest, &target).unwrap();
    assert!(past.all().ends_with(&audit_of(&target).0) && begins_after(&target) > 0);
    let folder = MemoryStorage::new(4);
    let disk: Arc<dyn Storage> = Arc::new(folder.clone());
    let begun = JournalCopy::install(&disk, &mut Silent(feed(&backend)), &small_options().journal, &SystemChance).unwrap();
    begun.copy.leave().unwrap();
    assert!(begins_after(&folder) > 0);
}

#[test]
fn damage_to_the_audit_of_a_backup_is_found_and_named() {
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let (backend, past) = aged(&storage, &workload(8, 240));
    back_up_from(&mut feed(&backend), &folder).unwrap();
    let [name] = names(&folder, is_audit).try_into().unwrap();
    let bytes = folder.read(&name).unwrap();
    let refused = |damaged: &MemoryStorage, what: &str| {
        let restored = restore(damaged, &Goal::Latest, &MemoryStorage::new(1)).unwrap_err();
        let gone_on = back_up_from(&mut feed(&backend), damaged).unwrap_err();
        for error in [restored, gone_on] {
            assert_eq!(error.code(), ErrorCode::BackupInvalid, "{what}: {error}");
            assert!(error.to_string().contains(&name), "{what}: {error}");
        }
    };
    for at in (0..bytes.len()).step_by(97) {
        let damaged = folder.fork(1);
        damaged.flip(&name, at, 1 << (at % 8));
        refused(&damaged, &format!("byte {at}"));
    }
    for (what, other) in [
        ("cut", bytes[..bytes.len() - 1].to_vec()),
        ("empty", Vec::new()),
        ("of zeros", vec![0; bytes.len()]),
        ("turned round", bytes.iter().rev().copied().collect()),
    ] {
        let damaged = folder.fork(1);
        damaged.put(&name, &other);
        refused(&damaged, what);
    }
    let damaged = folder.fork(1);
    damaged.remove(&name).unwrap();
    refused(&damaged, "missing");
    // The data are not lost with it: the batches tell what they do.
    let target = MemoryStorage::new(1);
    let into = Target { without_audit: true, ..into(&target, &SMALL) };
    let restored = restore_to(&BackupReader::open(Arc::new(damaged)).unwrap(), &Goal::Latest, Some(into), &mut |_| {}).unwrap();
    assert_eq!(restored.audit.map(|audit| audit.begins_after), Some(begins_after(&target)));
    assert!(begins_after(&target) > 0 && past.all().ends_with(&audit_of(&target).0));
    // What lies behind the end that the manifest names counts for nothing.
    let longer = folder.fork(1);
    longer.put(&name, &[bytes.as_slice(), &[7; 5_000]].concat());
    restore(&longer, &Goal::Latest, &MemoryStorage::new(1)).unwrap();
    back_up_from(&mut feed(&backend), &longer).unwrap();
    assert_eq!(longer.read(&name).unwrap(), bytes);
}

#[test]
fn a_source_whose_audit_is_damaged_is_not_copied_without_it() {
    let storage = MemoryStorage::new(1);
    let (backend, _) = aged(&storage, &workload(8, 240));
    let name = names(&storage, is_audit).remove(0);
    storage.flip(&name, 100, 1);
    let folder = MemoryStorage::new(2);
    let refused = back_up_from(&mut feed(&backend), &folder).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::HistoryDamaged);
    assert!(refused.to_string().contains(&name), "{refused}");
    backend.stop();
    drop(backend);
    let refused = FolderSource::open(Arc::new(storage), &[]).and_then(|mut source| {
        source.audit(0).map_err(|error| match error {
            SourceError::Open(error) => error,
            other => panic!("{other}"),
        })
    });
    assert_eq!(refused.map(|_| ()).unwrap_err().code(), ErrorCode::HistoryDamaged);
}

#[test]
fn whatever_interrupts_a_backup_its_audit_fits_its_manifest() {
    let storage = MemoryStorage::new(1);
    let requests = workload(8, 300);
    let (backend, mut past) = aged(&storage, &requests[..200]);
    let folder = MemoryStorage::new(2);
    back_up_from(&mut feed(&backend), &folder).unwrap();
    let before = past.all();
    past.work(&backend, &requests[200..], 1_000);
    let whole = {
        let fork = folder.fork(0);
        let calls = fork.calls();
        back_up_from(&mut feed(&backend), &fork).unwrap();
        fork.calls() - calls
    };
    let mut seen = BTreeMap::<bool, u32>::new();
    for at in 0..whole {
        let broken = folder.fork(at);
        broken.crash_after(at);
        let _interrupted = back_up_from(&mut feed(&backend), &broken);
        broken.power_loss();
        let target = MemoryStorage::new(at);
        restore(&broken, &Goal::Latest, &target).unwrap();
        let (told, fault) = audit_of(&target);
        assert_eq!(fault, None);
        assert!(told == before || told == past.all(), "call {at}");
        *seen.entry(told == before).or_default() += 1;
        assert!(audit_of(&broken).1.is_none(), "call {at}: what is not named yet harms nobody");
        back_up_from(&mut feed(&backend), &broken).unwrap();
        assert_eq!(audit_of(&broken), (past.all(), None), "call {at}: the next one mends all that");
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
}

#[test]
fn a_position_that_two_histories_share_in_number_is_told_by_its_epoch() {
    // A restored folder goes on in an epoch of its own: what operators did there and in the first folder is told apart.
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let requests = workload(5, 300);
    let (backend, past) = aged(&storage, &requests[..240]);
    back_up_from(&mut feed(&backend), &folder).unwrap();
    let target = MemoryStorage::new(3);
    restore(&folder, &Goal::Latest, &target).unwrap();
    let (other, _) = open(&target).unwrap();
    let mut places: Vec<(ShardId, Position)> = Vec::new();
    for backend in [&backend, &other] {
        for request in &requests[240..] {
            if let Decision::Accepted(entry) = submit(backend, request).unwrap().decision {
                places.push((entry.shard, entry.position));
            }
        }
    }
    let count = places.len();
    places.sort();
    places.dedup();
    assert_eq!(places.len(), count);
    assert!(running(&other).starts_with(&past.all()));
}
