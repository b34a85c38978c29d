//! Every file of every kind of folder, damaged in every way: whoever looks comes to an end, says what is wrong, or finds all that was
//! there.

use std::collections::BTreeMap;
use std::sync::Arc;

use nevertwice_api::AuditPage;
use nevertwice_local::backup::{BackupReader, Goal, ShardAt, back_up, restore_to, shards_at};
use nevertwice_local::chance::SystemChance;
use nevertwice_local::feed::{FeedSource, JournalHost};
use nevertwice_local::inspect::Inspection;
use nevertwice_local::source::FolderSource;
use nevertwice_local::standby::{Asker, JournalCopy};
use nevertwice_local::storage::Storage;
use nevertwice_testkit::storage::MemoryStorage;

use crate::audit::{audit_of, run};
use crate::commands::{open, small_options, wait, workload};
use crate::support::Random;

/// A folder, and what is in it.
struct Whole {
    kind: &'static str,
    storage: MemoryStorage,
    shards: Vec<ShardAt>,
    entries: Vec<nevertwice_core::Entry>,
}

impl Whole {
    fn of(kind: &'static str, storage: MemoryStorage) -> Whole {
        assert_eq!(look(&storage), Ok(vec![]), "{kind}: nothing is wrong with it");
        let contents = Inspection::open(Arc::new(storage.clone())).unwrap().contents().unwrap();
        let (entries, fault) = audit_of(&storage);
        assert!(!entries.is_empty() && fault.is_none());
        Whole { kind, shards: shards_at(&contents.states), entries, storage }
    }
}

/// Folders of a server that was stopped, and was killed; of a backup, of a standby, of a promoted one, and of a restored one.
fn houses() -> Vec<Whole> {
    let storage = MemoryStorage::new(1);
    let requests = workload(5, 300);
    let (backend, _) = open(&storage).unwrap();
    run(&backend, &requests[..120], 40);
    backend.stop();
    drop(backend);
    let (backend, _) = open(&storage).unwrap();
    run(&backend, &requests[120..240], 40);
    let (backup, standby) = (MemoryStorage::new(2), MemoryStorage::new(3));
    let mut source = FeedSource(backend.feed().unwrap());
    back_up(Arc::new(backup.clone()), &mut source, "backup", &mut |_| {}).unwrap();
    let disk: Arc<dyn Storage> = Arc::new(standby.clone());
    let mut copy = JournalCopy::install(&disk, &mut source, &small_options().journal, &SystemChance).unwrap().copy;
    let asker = Asker { name: "standby".to_owned(), wait_ms: 0 };
    copy.pull(&mut source, &asker).unwrap();
    run(&backend, &requests[240..], 1_000);
    back_up(Arc::new(backup.clone()), &mut source, "backup", &mut |_| {}).unwrap();
    while copy.pull(&mut source, &asker).unwrap().batches > 0 {}
    copy.leave().unwrap();
    let promoted = standby.fork(4);
    drop(open(&promoted).unwrap());
    let restored = MemoryStorage::new(5);
    let target = crate::backup::into(&restored, &crate::backup::SMALL);
    restore_to(&BackupReader::open(Arc::new(backup.clone())).unwrap(), &Goal::Latest, Some(target), &mut |_| {}).unwrap();
    let killed = storage.fork(6);
    killed.kill();
    wait(backend.snapshot()).unwrap();
    backend.stop();
    drop(backend);
    vec![
        Whole::of("stopped", storage),
        Whole::of("killed", killed),
        Whole::of("backup", backup),
        Whole::of("standby", standby),
        Whole::of("promoted", promoted),
        Whole::of("restored", restored),
    ]
}

/// All that `verify` looks at: what is wrong, piece by piece, or why nothing can be looked at.
fn look(storage: &MemoryStorage) -> Result<Vec<String>, String> {
    let text = |error: nevertwice_local::error::OpenError| error.to_string();
    let inspection = Inspection::open(Arc::new(storage.clone())).map_err(text)?;
    let mut faults = Vec::new();
    let replayed = inspection.replay(|_, _| {}).map_err(text)?;
    faults.extend(replayed.damage.map(|damage| damage.to_string()));
    faults.extend(inspection.snapshots().map_err(text)?.into_iter().filter_map(|(name, read)| Some(format!("{name}: {}", read.err()?))));
    faults.extend(inspection.audit_faults().map_err(text)?);
    faults.extend(inspection.file_faults().map_err(text)?);
    faults.extend(inspection.contents().map_err(text)?.damage.map(|damage| damage.to_string()));
    Ok(faults)
}

/// Whoever else reads such folders; each of them only has to come to an end.
fn use_it(storage: &MemoryStorage) {
    let inspection = Inspection::open(Arc::new(storage.clone()));
    if let Ok(inspection) = inspection {
        let _ = inspection.batches(|batch| batch.entries.iter().all(Result::is_ok));
        let _ = inspection.last_entry();
        if let Ok((audit, _)) = inspection.audit() {
            let _: Result<AuditPage, _> = audit.page(&nevertwice_api::AuditAsk::default());
        }
    }
    if let Ok(backup) = BackupReader::open(Arc::new(storage.fork(1))) {
        let _ = restore_to(&backup, &Goal::Latest, None, &mut |_| {});
        let target = MemoryStorage::new(1);
        let _ = restore_to(&backup, &Goal::Latest, Some(crate::backup::into(&target, &crate::backup::SMALL)), &mut |_| {});
    }
    if let Ok(mut source) = FolderSource::open(Arc::new(storage.fork(2)), &["person-key.check"]) {
        let _ = back_up(Arc::new(MemoryStorage::new(1)), &mut source, "backup", &mut |_| {});
    }
    let disk: Arc<dyn Storage> = Arc::new(storage.fork(3));
    drop(JournalCopy::resume(&disk, &small_options().journal, &SystemChance));
    drop(open(&storage.fork(4)));
}

/// Ways to damage a file.
pub(crate) fn damages(bytes: &[u8], other: &[u8], random: &mut Random) -> Vec<(String, Vec<u8>)> {
    let mut ways = vec![
        ("empty".to_owned(), Vec::new()),
        ("doubled".to_owned(), [bytes, bytes].concat()),
        ("of zeros".to_owned(), vec![0; bytes.len()]),
        ("another file".to_owned(), other.to_vec()),
        ("longer".to_owned(), [bytes, &[random.below(255) as u8 + 1; 77]].concat()),
    ];
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    for _ in 0..4 {
        let at = random.below(used as u64 + 1) as usize;
        ways.push((format!("cut at {at}"), bytes[..at].to_vec()));
    }
    // The version stands behind the magic in frames and snapshots, and in a line of its own in the small files.
    let mut places = vec![4, 5];
    places.extend(bytes.windows(7).position(|window| window == b"format ").map(|at| at + 7));
    places.extend((0..8).map(|_| random.below(used.max(1) as u64) as usize));
    for at in places.into_iter().filter(|at| *at < bytes.len()) {
        let mut flipped = bytes.to_vec();
        flipped[at] ^= 1 << random.below(8);
        ways.push((format!("flipped at {at}"), flipped));
    }
    ways
}

#[test]
fn whatever_is_done_to_a_file_it_is_told_or_nothing_is_missing() {
    let mut random = Random(11);
    let (mut told, mut harmless) = (BTreeMap::<&str, u32>::new(), 0);
    for Whole { kind, storage, shards, entries } in houses() {
        let mut names = storage.list().unwrap();
        names.sort();
        for (at, name) in names.iter().enumerate() {
            let bytes = storage.read(name).unwrap();
            let other = storage.read(&names[(at + 1) % names.len()]).unwrap();
            for (way, changed) in damages(&bytes, &other, &mut random) {
                if changed == bytes {
                    continue;
                }
                let damaged = storage.fork(7);
                damaged.put(name, &changed);
                use_it(&damaged);
                match look(&damaged) {
                    Err(_) => *told.entry(kind).or_default() += 1,
                    Ok(faults) if !faults.is_empty() => *told.entry(kind).or_default() += 1,
                    Ok(_) => {
                        let contents = Inspection::open(Arc::new(damaged.clone())).unwrap().contents().unwrap();
                        let is_torn_tail = kind == "killed" && contents.states.shards().count() <= shards.len();
                        let found = (shards_at(&contents.states), audit_of(&damaged).0);
                        assert!(found == (shards.clone(), entries.clone()) || is_torn_tail, "{kind}, {name}, {way}: nothing was told");
                        harmless += 1;
                    }
                }
            }
            let damaged = storage.fork(8);
            damaged.remove(name).unwrap();
            use_it(&damaged);
            let _ = look(&damaged);
        }
    }
    println!("told {told:?}, harmless {harmless}");
    assert!(told.len() == 6 && told.values().all(|count| *count > 40), "{told:?}");
}

#[test]
fn a_bit_in_the_padding_of_a_sealed_segment_is_told() {
    let stopped = houses().remove(0);
    let Whole { storage, .. } = stopped;
    let mut checked = 0;
    let frames = Inspection::open(Arc::new(storage.clone())).unwrap().frames().unwrap();
    // The last one is the seal, which nothing behind it proves to be durable.
    for frame in &frames[..frames.len() - 1] {
        let name = format!("journal-{:020}.segment", frame.segment);
        let bytes = storage.read(&name).unwrap();
        let end = frame.end as usize - 1;
        if bytes.get(end) == Some(&0) {
            let damaged = storage.fork(1);
            damaged.flip(&name, end, 4);
            let faults = look(&damaged).unwrap();
            assert!(faults.iter().any(|fault| fault.contains(&format!("segment {}", frame.segment))), "batch {}: {faults:?}", frame.batch);
            drop(open(&damaged).expect("it counts for nothing, and is served"));
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked}");
}
