//! What operators do to keys stands in the audit: durable before it is done, once, and in every copy.

use std::sync::Arc;

use nevertwice_api::{AuditAsk, Backend, Fact, Failure, KeyDeed, KeyFact, KeyStanding};
use nevertwice_core::{CallerName, CallerRole, IdempotencyKey, Origin, PeerAddress, Principal};
use nevertwice_local::LocalBackend;
use nevertwice_local::backup::{BackupReader, Goal, back_up, restore_to};
use nevertwice_local::chance::SystemChance;
use nevertwice_local::feed::{FeedSource, JournalHost};
use nevertwice_local::inspect::Inspection;
use nevertwice_local::is_audit;
use nevertwice_local::standby::{Asker, JournalCopy};
use nevertwice_local::storage::Storage;
use nevertwice_testkit::storage::MemoryStorage;

use crate::audit::{audit_of, names};
use crate::backup::{SMALL, into};
use crate::commands::{START_MS, open, small_options, submit, wait, workload};

/// What was done to the key of that number.
fn fact(number: u64) -> KeyFact {
    KeyFact {
        deed: KeyDeed::Released,
        at_ms: START_MS,
        origin: Origin {
            caller: CallerName::new("ops").unwrap(),
            role: CallerRole::Operator,
            address: PeerAddress::new("10.0.0.9").ok(),
            trace: None,
        },
        principal: Principal::new("ann").unwrap(),
        scope: "charges".to_owned(),
        key: IdempotencyKey::new(&format!("k{number}")).unwrap(),
        generation: Some(number),
        before: KeyStanding::InProgress { lease_ms: -5 },
        after: KeyStanding::Free,
        batch: 0,
    }
}

fn keys(facts: impl IntoIterator<Item = Fact>) -> Vec<String> {
    let keys = facts.into_iter().filter_map(|fact| match fact {
        Fact::Key(fact) => Some(fact),
        Fact::Entry(_) | Fact::Folder(_) => None,
    });
    keys.map(|fact| {
        assert!(fact.batch > 0, "it says which batch tells it");
        assert_eq!(*fact, KeyFact { batch: fact.batch, ..self::fact(fact.generation.unwrap()) });
        fact.key.to_string()
    })
    .collect()
}

fn told(backend: &LocalBackend) -> Vec<String> {
    let (mut facts, mut asked) = (Vec::new(), AuditAsk::default());
    loop {
        let page = backend.history().unwrap().audit(&asked).unwrap();
        facts.extend(page.facts);
        match page.next {
            Some(next) => asked.cursor = Some(next),
            None => return keys(facts),
        }
    }
}

fn told_in(storage: &MemoryStorage) -> Vec<String> {
    let inspection = Inspection::open(Arc::new(storage.clone())).unwrap();
    assert_eq!(inspection.audit_faults().unwrap(), Vec::<String>::new());
    let (audit, fault) = inspection.audit().unwrap();
    assert_eq!(fault, None);
    let (mut facts, mut asked) = (Vec::new(), AuditAsk::default());
    loop {
        let page = audit.page(&asked).unwrap();
        facts.extend(page.facts);
        match page.next {
            Some(next) => asked.cursor = Some(next),
            None => return keys(facts),
        }
    }
}

fn named(numbers: std::ops::Range<u64>) -> Vec<String> {
    numbers.map(|number| format!("k{number}")).collect()
}

/// Decisions and what is done to keys, together in one batch and apart.
pub(crate) fn work(backend: &LocalBackend, requests: &[nevertwice_api::Request], numbers: std::ops::Range<u64>) {
    let mut requests = requests.iter();
    for number in numbers {
        let orders: Vec<_> = requests.by_ref().take(3).map(|request| backend.submit(request.clone())).collect();
        let recorded = backend.record_key(fact(number));
        orders.into_iter().for_each(|order| drop(wait(order)));
        assert_eq!(wait(recorded), Ok(true));
    }
}

#[test]
fn what_is_done_to_a_key_is_durable_when_it_is_answered_and_told_once() {
    let storage = MemoryStorage::new(1);
    let requests = workload(5, 200);
    let (backend, _) = open(&storage).unwrap();
    work(&backend, &requests[..60], 0..20);
    assert_eq!(told(&backend), named(0..20));
    let after = storage.fork(2);
    after.power_loss();
    assert_eq!(told_in(&after), named(0..20), "whenever the power goes");
    wait(backend.snapshot()).unwrap();
    work(&backend, &requests[60..120], 20..40);
    backend.stop();
    drop(backend);
    assert_eq!(told_in(&storage), named(0..40));
    // It changed no state: what was decided around it is what it was.
    let (entries, _) = audit_of(&storage);
    let (backend, _) = open(&storage).unwrap();
    assert_eq!(told(&backend), named(0..40));
    work(&backend, &requests[120..], 40..50);
    assert!(!entries.is_empty());
    assert_eq!(told(&backend), named(0..50));
    drop(submit(&backend, &requests[0]));
}

#[test]
fn what_was_done_to_keys_goes_into_every_copy_once_and_up_to_its_end() {
    let (storage, backup, standby) = (MemoryStorage::new(1), MemoryStorage::new(2), MemoryStorage::new(3));
    let requests = workload(7, 300);
    let (backend, _) = open(&storage).unwrap();
    work(&backend, &requests[..90], 0..30);
    wait(backend.snapshot()).unwrap();
    work(&backend, &requests[90..120], 30..40);
    let mut source = FeedSource(backend.feed().unwrap());
    let disk: Arc<dyn Storage> = Arc::new(standby.clone());
    let mut copy = JournalCopy::install(&disk, &mut source, &small_options().journal, &SystemChance).unwrap().copy;
    let asker = Asker { name: "standby".to_owned(), wait_ms: 0 };
    copy.pull(&mut source, &asker).unwrap();
    let first = back_up(Arc::new(backup.clone()), &mut source, "backup", &mut |_| {}).unwrap().manifest;
    work(&backend, &requests[120..180], 40..60);
    while copy.pull(&mut source, &asker).unwrap().batches > 0 {}
    copy.leave().unwrap();
    assert_eq!(told_in(&standby), named(0..60));
    back_up(Arc::new(backup.clone()), &mut source, "backup", &mut |_| {}).unwrap();
    assert_eq!(told_in(&backup), named(0..60));
    let reader = BackupReader::open(Arc::new(backup.clone())).unwrap();
    for (goal, upto) in [(Goal::Latest, 60), (Goal::Batch(first.batch), 40)] {
        let target = MemoryStorage::new(4);
        restore_to(&reader, &goal, Some(into(&target, &SMALL)), &mut |_| {}).unwrap();
        assert_eq!(told_in(&target), named(0..upto));
        let (restored, _) = open(&target).unwrap();
        assert_eq!(told(&restored), named(0..upto));
    }
}

#[test]
fn a_fact_of_a_key_that_the_audit_lost_is_missed() {
    let storage = MemoryStorage::new(1);
    let (backend, _) = open(&storage).unwrap();
    work(&backend, &workload(5, 30), 0..10);
    wait(backend.snapshot()).unwrap();
    backend.stop();
    drop(backend);
    let name = names(&storage, is_audit).remove(0);
    // Another name in the same place, with all checksums made right.
    let mut bytes = storage.read(&name).unwrap();
    let at = bytes.windows(2).position(|window| window == b"k7").unwrap();
    bytes[at + 1] = b'x';
    reseal(&mut bytes);
    storage.put(&name, &bytes);
    let faults = Inspection::open(Arc::new(storage.clone())).unwrap().audit_faults().unwrap();
    assert!(faults.iter().any(|fault| fault.contains("did to keys")), "{faults:?}");
}

/// Makes the checksums of the one frame right.
fn reseal(bytes: &mut [u8]) {
    let length = u32::from_le_bytes(bytes[60..64].try_into().unwrap()) as usize;
    let payload = crate::support::crc32c(&bytes[80..80 + length]);
    bytes[64..68].copy_from_slice(&payload.to_le_bytes());
    let header = crate::support::crc32c(&bytes[..76]);
    bytes[76..80].copy_from_slice(&header.to_le_bytes());
}

#[test]
fn a_backend_that_does_not_go_on_refuses_to_record() {
    let storage = MemoryStorage::new(1);
    let (backend, _) = open(&storage).unwrap();
    storage.fail_after(0);
    assert_eq!(wait(backend.record_key(fact(1))), Err(Failure::JournalFailed));
    assert_eq!(wait(backend.record_key(fact(2))), Err(Failure::JournalFailed));
    backend.stop();
    assert_eq!(wait(backend.record_key(fact(3))), Err(Failure::ShuttingDown));
}
