//! What operators did: it outlives the journal, without gaps or doubles, and what is wrong with it is told.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use nevertwice_api::{AUDIT_PAGE_MAX, AuditAsk, AuditPage, Backend, ErrorCode, Fact, History, HistoryFailure, NoObserver};
use nevertwice_core::{Before, Entry, Freeze, InstrumentState, Reprice, Side, Unfreeze};
use nevertwice_local::error::OpenError;
use nevertwice_local::inspect::Inspection;
use nevertwice_local::journal::is_segment;
use nevertwice_local::storage::{FileStorage, FolderClaim, Storage, StorageFile};
use nevertwice_local::{LocalBackend, is_audit};
use nevertwice_testkit::clock::ManualClock;
use nevertwice_testkit::storage::MemoryStorage;

use crate::commands::{START_MS, accepted, market, name, open, opening, order, request, sale, small_options, submit, told, wait, workload};

/// All of the audit of a folder that nobody runs, and what is wrong with it.
pub(crate) fn audit_of(storage: &MemoryStorage) -> (Vec<Entry>, Option<String>) {
    let inspection = Inspection::open(Arc::new(storage.clone())).unwrap();
    let (audit, fault) = inspection.audit().unwrap();
    (all(|asked| audit.page(asked).unwrap()), fault)
}

fn all(mut page: impl FnMut(&AuditAsk) -> AuditPage) -> Vec<Entry> {
    let (mut entries, mut asked) = (Vec::new(), AuditAsk::default());
    loop {
        let AuditPage { facts, next, .. } = page(&asked);
        let more: Vec<Entry> = facts.iter().filter_map(Fact::entry).cloned().collect();
        assert!(more.len() <= AUDIT_PAGE_MAX);
        entries.extend(more);
        match next {
            Some(next) => asked.cursor = Some(next),
            None => return entries,
        }
    }
}

fn history(backend: &LocalBackend) -> Arc<dyn History> {
    backend.history().expect("a local backend has one")
}

pub(crate) fn running(backend: &LocalBackend) -> Vec<Entry> {
    let history = history(backend);
    all(|asked| history.audit(asked).unwrap())
}

pub(crate) fn names(storage: &MemoryStorage, is: fn(&str) -> bool) -> Vec<String> {
    let mut names: Vec<String> = storage.list().unwrap().into_iter().filter(|name| is(name)).collect();
    names.sort_unstable();
    names
}

/// Sends all, with a snapshot after every so many, and tells which entries are the operators'.
pub(crate) fn run(backend: &LocalBackend, requests: &[nevertwice_api::Request], every: usize) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (number, request) in requests.iter().enumerate() {
        if let nevertwice_core::Decision::Accepted(entry) = submit(backend, request).unwrap().decision
            && entry.is_operators()
        {
            entries.push(entry);
        }
        if number % every == every - 1 {
            wait(backend.snapshot()).unwrap();
        }
    }
    entries
}

#[test]
fn what_operators_did_outlives_the_journal() {
    let storage = MemoryStorage::new(1);
    let mut expected = Vec::new();
    let requests = workload(5, 260);
    for part in requests.chunks(90) {
        let (backend, _) = open(&storage).unwrap();
        expected.extend(run(&backend, part, 25));
        assert_eq!(running(&backend), expected, "what is not written yet is shown all the same");
        drop(backend);
        assert_eq!(audit_of(&storage), (expected.clone(), None));
    }
    assert!(expected.len() > 25, "{}", expected.len());
    assert!(expected.iter().any(|entry| entry.origin.is_some()) && expected.iter().any(|entry| entry.origin.is_none()));
    let first = names(&storage, is_segment).into_iter().next().expect("there is a segment");
    assert_ne!(first, format!("journal-{:020}.segment", 1), "the beginning of the journal has gone");
    assert_eq!(names(&storage, is_audit).len(), 3, "a file for each process");
}

/// A folder whose audit can't be written, or can't be read, while that is wished.
#[derive(Clone)]
struct Refusing {
    storage: MemoryStorage,
    kind: Arc<Mutex<Option<io::ErrorKind>>>,
    is_unreadable: Arc<AtomicBool>,
}

impl Refusing {
    fn new(seed: u64) -> Refusing {
        Refusing { storage: MemoryStorage::new(seed), kind: Arc::default(), is_unreadable: Arc::default() }
    }

    fn refuse(&self, kind: Option<io::ErrorKind>) {
        *self.kind.lock().unwrap() = kind;
    }

    fn check(&self) -> io::Result<()> {
        self.kind.lock().unwrap().map_or(Ok(()), |kind| Err(kind.into()))
    }

    fn check_read(&self, name: &str) -> io::Result<()> {
        let is_refused = is_audit(name) && self.is_unreadable.load(Ordering::Relaxed);
        if is_refused { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
    }
}

impl Storage for Refusing {
    fn claim(&self) -> io::Result<Box<dyn FolderClaim>> {
        self.storage.claim()
    }
    fn is_claimed(&self) -> io::Result<bool> {
        self.storage.is_claimed()
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.storage.list()
    }
    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let file = self.storage.create(name)?;
        Ok(if name == "audit.tmp" { Box::new(RefusingFile { file, folder: self.clone() }) } else { file })
    }
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        self.check_read(name)?;
        self.storage.open(name)
    }
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.check_read(name)?;
        self.storage.read(name)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.storage.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.storage.remove(name)
    }
    fn truncate(&self, name: &str, len: u64) -> io::Result<()> {
        self.storage.truncate(name, len)
    }
    fn sync_folder(&self) -> io::Result<()> {
        self.storage.sync_folder()
    }
}

struct RefusingFile {
    file: Box<dyn StorageFile>,
    folder: Refusing,
}

impl StorageFile for RefusingFile {
    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, into)
    }
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.folder.check()?;
        self.file.write_at(offset, bytes)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[test]
fn an_audit_that_cant_be_read_is_no_damage_and_is_read_once_it_can_be() {
    let folder = Refusing::new(9);
    let (backend, _) = open(&folder).unwrap();
    let expected = run(&backend, &workload(5, 120), 40);
    assert!(!names(&folder.storage, is_audit).is_empty());
    folder.is_unreadable.store(true, Ordering::Relaxed);
    let failure = history(&backend).audit(&AuditAsk::default()).unwrap_err();
    assert_eq!(failure.code(), ErrorCode::HistoryUnreadable);
    folder.is_unreadable.store(false, Ordering::Relaxed);
    assert_eq!(running(&backend), expected);
}

#[test]
fn the_journal_waits_for_an_audit_that_finds_no_room() {
    let folder = Refusing::new(2);
    let requests = workload(6, 320);
    let (backend, _) = open(&folder).unwrap();
    let mut expected = run(&backend, &requests[..80], 40);
    folder.refuse(Some(io::ErrorKind::StorageFull));
    // What was written by then may still go.
    expected.extend(run(&backend, &requests[80..120], 40));
    let segments = names(&folder.storage, is_segment).into_iter().next();
    expected.extend(run(&backend, &requests[120..240], 40));
    assert_eq!(names(&folder.storage, is_segment).into_iter().next(), segments, "nothing goes that the audit has not got");
    assert_eq!(running(&backend), expected);
    folder.refuse(None);
    expected.extend(run(&backend, &requests[240..], 40));
    assert_ne!(names(&folder.storage, is_segment).into_iter().next(), segments, "it goes on by itself");
    drop(backend);
    assert_eq!(audit_of(&folder.storage), (expected, None));
}

#[test]
fn an_audit_that_failed_is_made_up_for_after_a_restart() {
    let folder = Refusing::new(3);
    let requests = workload(7, 320);
    let (backend, _) = open(&folder).unwrap();
    let mut expected = run(&backend, &requests[..80], 40);
    folder.refuse(Some(io::ErrorKind::Other));
    expected.extend(run(&backend, &requests[80..120], 40));
    folder.refuse(None);
    let segments = names(&folder.storage, is_segment).into_iter().next();
    let files = names(&folder.storage, is_audit);
    expected.extend(run(&backend, &requests[120..240], 40));
    assert_eq!(names(&folder.storage, is_segment).into_iter().next(), segments, "a failed write is not tried again");
    assert_eq!((running(&backend), names(&folder.storage, is_audit)), (expected.clone(), files));
    drop(backend);
    let (backend, _) = open(&folder).unwrap();
    assert_eq!(running(&backend), expected);
    expected.extend(run(&backend, &requests[240..], 40));
    assert_ne!(names(&folder.storage, is_segment).into_iter().next(), segments);
    drop(backend);
    assert_eq!(audit_of(&folder.storage), (expected, None));
}

#[test]
fn a_page_is_bounded_and_goes_on_where_it_ended_even_after_a_restart() {
    let storage = MemoryStorage::new(4);
    let (mut expected, mut asked, mut found) = (Vec::new(), AuditAsk::default(), Vec::new());
    for life in 0..4 {
        let (backend, _) = open(&storage).unwrap();
        if life == 0 {
            opening().iter().for_each(|request| expected.push(accepted(submit(&backend, request))));
        }
        for number in 0..70 {
            let base = 101 + life * 1_000 + number;
            let reprice = told(request(market(), &format!("base-{base}"), Reprice { instrument: name("messi"), base }));
            expected.push(accepted(submit(&backend, &reprice)));
            if number % 30 == 7 {
                wait(backend.snapshot()).unwrap();
            }
        }
        let page = history(&backend).audit(&asked).unwrap();
        let page_entries: Vec<Entry> = page.facts.iter().filter_map(Fact::entry).cloned().collect();
        assert_eq!(page_entries.len(), if life == 3 { expected.len() - found.len() } else { (expected.len() - found.len()).min(100) });
        found.extend(page_entries);
        // Where nothing follows, a reader begins again from the place that he knows.
        asked.cursor = page.next.or(asked.cursor);
        if page.next.is_none() {
            found.clear();
            asked.cursor = None;
        }
    }
    assert_eq!(audit_of(&storage), (expected.clone(), None));
    let (backend, _) = open(&storage).unwrap();
    let only = |ask: AuditAsk| {
        let history = history(&backend);
        all(|asked| history.audit(&AuditAsk { cursor: asked.cursor, ..ask.clone() }).unwrap())
    };
    assert_eq!(only(AuditAsk { shard: Some(market()), ..AuditAsk::default() }), expected);
    assert_eq!(only(AuditAsk { shard: Some(sale()), ..AuditAsk::default() }), []);
    assert_eq!(only(AuditAsk { from_ms: Some(START_MS), until_ms: Some(START_MS + 1), ..AuditAsk::default() }), expected);
    assert_eq!(only(AuditAsk { from_ms: Some(START_MS + 1), ..AuditAsk::default() }), []);
    assert_eq!(only(AuditAsk { until_ms: Some(START_MS), ..AuditAsk::default() }), []);
}

#[test]
fn an_entry_tells_who_did_it_and_what_was_before() {
    let folder = tempfile::tempdir().unwrap();
    let storage = FileStorage::create(folder.path().join("data")).unwrap();
    let clock = Arc::new(ManualClock::new(START_MS));
    let open = || LocalBackend::open(Arc::new(storage.clone()), clock.clone(), Arc::new(NoObserver), &small_options()).unwrap().0;
    let backend = open();
    opening().iter().for_each(|request| drop(accepted(submit(&backend, request))));
    let reprice = told(request(market(), "reprice", Reprice { instrument: name("messi"), base: 90 }));
    let entry = accepted(submit(&backend, &reprice));
    assert_eq!(entry.origin, reprice.command.origin);
    backend.stop();
    drop(backend);
    let backend = open();
    let last = running(&backend).pop().expect("there is something");
    assert_eq!(last, entry);
    assert!(
        matches!(last.before.as_deref(), Some(Before::Instrument(before)) if before.base == 100 && before.state == InstrumentState::Active)
    );
}

/// A folder with two files of the audit of several frames each, closed, whose journal has lost its beginning.
fn aged() -> (MemoryStorage, Vec<Entry>) {
    let storage = MemoryStorage::new(9);
    let mut expected = Vec::new();
    for part in workload(8, 260).chunks(130) {
        let (backend, _) = open(&storage).unwrap();
        expected.extend(run(&backend, part, 25));
    }
    assert_eq!(names(&storage, is_audit).len(), 2);
    (storage, expected)
}

fn refused(storage: &MemoryStorage) -> String {
    match open(storage).map(|_| ()) {
        Err(error @ OpenError::Audit { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_missing_or_changed_is_told_and_nothing_is_served() {
    let (storage, expected) = aged();
    let files = names(&storage, is_audit);
    // The first file is gone; the second; both, which looks like a folder that never kept an audit.
    let first = storage.fork(1);
    first.remove(&files[0]).unwrap();
    assert!(refused(&first).contains(&files[1]));
    let second = storage.fork(2);
    second.remove(&files[1]).unwrap();
    assert!(refused(&second).contains("the journal begins with batch"));
    let both = storage.fork(3);
    files.iter().for_each(|file| both.remove(file).unwrap());
    let (backend, _) = open(&both).unwrap();
    let page = history(&backend).audit(&AuditAsk::default()).unwrap();
    assert!(page.begins_after > 0, "it says that it does not begin with the first batch");
    assert!(expected.ends_with(&running(&backend)));
    drop(backend);
    // A journal from before the audit: something that was durable is missing.
    let older = storage.fork(4);
    for segment in names(&older, is_segment) {
        older.remove(&segment).unwrap();
    }
    assert!(open(&older).is_err());
}

#[test]
fn a_flipped_bit_is_found() {
    let (storage, expected) = aged();
    for file in names(&storage, is_audit) {
        let len = storage.read(&file).unwrap().len();
        for at in (0..len).step_by(701) {
            let flipped = storage.fork(at as u64);
            flipped.flip(&file, at, 16);
            let faults = Inspection::open(Arc::new(flipped.clone())).unwrap().audit_faults().unwrap();
            let (readable, fault) = audit_up_to_damage(&flipped);
            // Zeros behind a frame are nobody's, and the last frame of all is made again from the journal while that has it.
            if faults.is_empty() {
                assert_eq!((readable, fault), (expected.clone(), None), "{file} byte {at}");
            } else {
                assert!(expected.starts_with(&readable), "{file} byte {at}: what is shown is what was written");
            }
        }
    }
}

fn audit_up_to_damage(storage: &MemoryStorage) -> (Vec<Entry>, Option<String>) {
    let inspection = Inspection::open(Arc::new(storage.clone())).unwrap();
    let (audit, fault) = inspection.audit().unwrap();
    let (mut entries, mut asked) = (Vec::new(), AuditAsk::default());
    loop {
        match audit.page(&asked) {
            Ok(AuditPage { facts, next, .. }) => {
                entries.extend(facts.iter().filter_map(Fact::entry).cloned());
                match next {
                    Some(next) => asked.cursor = Some(next),
                    None => return (entries, fault),
                }
            }
            Err(HistoryFailure::Damaged { what }) => return (entries, Some(what)),
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn a_restart_without_news_writes_nothing() {
    let storage = MemoryStorage::new(11);
    let (backend, _) = open(&storage).unwrap();
    let expected = run(&backend, &workload(9, 40), 20);
    drop(backend);
    let files = names(&storage, is_audit);
    for _ in 0..3 {
        let (backend, _) = open(&storage).unwrap();
        // An order is no news for the audit.
        accepted(submit(&backend, &request(market(), &format!("o-{}", backend.epoch()), order("ann", Side::Buy, 1))));
        assert_eq!(running(&backend), expected);
    }
    assert_eq!(names(&storage, is_audit), files);
    let (backend, _) = open(&storage).unwrap();
    accepted(submit(&backend, &request(market(), "freeze", Freeze { instrument: name("messi") })));
    accepted(submit(&backend, &request(market(), "unfreeze", Unfreeze { instrument: name("messi") })));
    drop(backend);
    assert_eq!(names(&storage, is_audit).len(), files.len() + 1);
    assert_eq!(audit_of(&storage).0.len(), expected.len() + 2);
}
