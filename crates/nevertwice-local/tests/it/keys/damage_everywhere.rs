//! Every file of a folder of keys, damaged in every way and place: it is told, or every record is as it was. No record goes in silence.

use std::collections::BTreeMap;
use std::sync::Arc;

use nevertwice_api::{AnswerBytes, ErrorCode};
use nevertwice_core::keys::{BodyKept, KeyRecord, Registration};
use nevertwice_local::error::OpenError;
use nevertwice_local::storage::Storage;
use nevertwice_local::{KeysInspection, is_answers};
use nevertwice_testkit::storage::MemoryStorage;

use super::steps::{Steps, T0, answer, id, look, options};
use crate::damage::damages;
use crate::support::Random;

/// The keys of a folder: each has an answer but every third, which is claimed, and every seventh, which was given back.
const KEYS: u8 = 36;
/// Between two bits that are flipped.
const STRIDE: usize = 61;

/// A folder, and what is in it.
struct Whole {
    kind: &'static str,
    storage: MemoryStorage,
    /// All records, after each change; the last one is what is in it.
    history: Vec<Records>,
    /// Nothing proves of the last group that it was durable, nor of the last segment, if all of it is gone.
    is_killed: bool,
}

type Records = BTreeMap<u8, KeyRecord>;

impl Whole {
    fn records(&self) -> &Records {
        self.history.last().expect("something happened")
    }

    /// What may be there when nothing is said of damage to that file.
    fn may_be(&self, damaged: &str) -> &[Records] {
        let last = names(&self.storage).into_iter().rfind(|name| name.ends_with(".segment"));
        let first = match self.is_killed {
            false => self.history.len() - 1,
            true if last.as_deref() == Some(damaged) => 0,
            true => self.history.len() - 2,
        };
        &self.history[first..]
    }
}

fn length(key: u8) -> usize {
    usize::from(key) * 100
}

/// Of a store that was stopped, with snapshots and segments that went, and of one that was killed.
fn houses() -> [Whole; 2] {
    let storage = MemoryStorage::new(1);
    let mut steps = Steps::open(&storage, T0, &options()).unwrap();
    let mut history = Vec::new();
    for key in 0..KEYS {
        let lease = steps.claim(key, key);
        history.push(records(&mut steps));
        if key % 7 == 6 {
            let command =
                nevertwice_core::keys::ReleaseKey { owner: nevertwice_core::keys::OwnerId([key; 32]), generation: lease.generation };
            steps.ask(|store| store.release(id(key), command, nevertwice_api::Levels::NONE)).unwrap().reply.unwrap();
        } else if key % 3 != 2 {
            steps.complete(key, key, lease.generation, &answer(key, length(key))).unwrap().reply.unwrap();
        }
        history.push(records(&mut steps));
        if key % 12 == 11 {
            let mut made = steps.store.front().snapshot();
            assert!(steps.store.snapshot());
            look(&mut made).unwrap().unwrap();
        }
    }
    // A few changes that are in no snapshot.
    for key in KEYS..KEYS + 4 {
        let lease = steps.claim(key, key);
        history.push(records(&mut steps));
        steps.complete(key, key, lease.generation, &answer(key, length(key))).unwrap().reply.unwrap();
        history.push(records(&mut steps));
    }
    let killed = storage.fork(2);
    steps.stop();
    [
        Whole { kind: "stopped", storage, history: history.clone(), is_killed: false },
        Whole { kind: "killed", storage: killed, history, is_killed: true },
    ]
}

fn records(steps: &mut Steps) -> Records {
    (0..KEYS + 4).filter_map(|key| Some((key, steps.ask(|store| store.inspect(id(key))).unwrap()?))).collect()
}

/// What `verify` says is wrong, or why nothing can be looked at.
fn faults(storage: &MemoryStorage) -> Result<Vec<String>, OpenError> {
    let calls = storage.calls();
    let verdict = KeysInspection::open(Arc::new(storage.clone()))?.verify(|| {});
    assert_eq!(storage.calls(), calls, "nothing is written by looking");
    Ok(verdict?.faults)
}

/// Serves the folder: the same keys, with their answers or without, or a refusal with a code of damage.
fn serve(whole: &Whole, damaged: &MemoryStorage, what: &str) -> Option<Records> {
    let mut steps = match Steps::open(damaged, T0, &options()) {
        Ok(steps) => steps,
        Err(error) => {
            let known = matches!(error.code(), ErrorCode::JournalDamaged | ErrorCode::DataFolderInvalid | ErrorCode::DataTooNew);
            assert!(known, "{what}: {error}");
            return None;
        }
    };
    let found = records(&mut steps);
    assert!(whole.history.contains(&found), "{what}: the keys are what they never were");
    for (key, record) in &found {
        if !matches!(record.state, nevertwice_core::keys::KeyState::Completed(_)) {
            continue;
        }
        let told = steps.replayed(*key);
        let Registration::Replay { answer: kept, .. } = told.registration else { panic!("{what}: it is a replay") };
        let bytes = if kept.body == BodyKept::Whole { answer(*key, length(*key)) } else { AnswerBytes::default() };
        assert_eq!(told.bytes, bytes, "{what}: key {key} has another's answer");
    }
    steps.stop();
    Some(found)
}

#[derive(Default, Debug)]
struct Counts {
    told: u32,
    harmless: u32,
}

fn check(whole: &Whole, name: &str, damaged: &MemoryStorage, what: &str, counts: &mut Counts) {
    let told = faults(&damaged.fork(3));
    let served = serve(whole, &damaged.fork(4), what);
    match told {
        Ok(faults) if faults.is_empty() => {
            let found = served.unwrap_or_else(|| panic!("{what}: nothing was told, and it is not served"));
            assert!(whole.may_be(name).contains(&found), "{what}: nothing was told, and a record is gone");
            counts.harmless += 1;
        }
        Ok(faults) => {
            assert!(faults.iter().all(|fault| !fault.is_empty() && !fault.contains('\n')), "{what}: {faults:?}");
            counts.told += 1;
        }
        Err(error) => {
            assert!(served.is_none(), "{what}: it is served, and looking says: {error}");
            counts.told += 1;
        }
    }
}

fn names(storage: &MemoryStorage) -> Vec<String> {
    let mut names = storage.list().unwrap();
    names.sort();
    names
}

#[test]
fn whole_folders_are_clean() {
    for whole in houses() {
        let mut counts = Counts::default();
        check(&whole, "", &whole.storage, whole.kind, &mut counts);
        assert_eq!((counts.told, counts.harmless), (0, 1), "{}", whole.kind);
        assert_eq!(serve(&whole, &whole.storage.fork(5), whole.kind).as_ref(), Some(whole.records()), "{}", whole.kind);
        assert!(names(&whole.storage).iter().any(|name| is_answers(name)), "{}", whole.kind);
    }
}

#[test]
fn a_flipped_bit_anywhere_is_told_or_harmless() {
    let mut counts = Counts::default();
    for whole in houses() {
        for name in names(&whole.storage) {
            let bytes = whole.storage.read(&name).unwrap();
            let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            // Of headers every byte, of what follows them some in each region; and small files whole.
            let is_header = |at: usize| at % 4_096 < 64 && bytes[at / 4_096 * 4_096..].starts_with(b"nvt");
            let places = (0..used).filter(|at| at % STRIDE == 0 || used < 256 || (is_header(*at) && at % 3 == 0));
            for at in places {
                let damaged = whole.storage.fork(6);
                damaged.flip(&name, at, 1 << (at % 8));
                check(&whole, &name, &damaged, &format!("{}, {name}, flipped at {at}", whole.kind), &mut counts);
            }
        }
    }
    println!("{counts:?}");
    assert!(counts.told > 1_000, "{counts:?}");
}

#[test]
fn a_file_that_is_cut_replaced_or_missing_is_told_or_harmless() {
    let mut random = Random(11);
    let mut counts = Counts::default();
    for whole in houses() {
        let names = names(&whole.storage);
        for (at, name) in names.iter().enumerate() {
            let bytes = whole.storage.read(name).unwrap();
            let other = whole.storage.read(&names[(at + 1) % names.len()]).unwrap();
            let cuts = (0..bytes.len()).step_by(2_048).map(|length| (format!("cut at {length}"), bytes[..length].to_vec()));
            for (way, changed) in damages(&bytes, &other, &mut random).into_iter().chain(cuts).filter(|(_, changed)| *changed != bytes) {
                let damaged = whole.storage.fork(6);
                damaged.put(name, &changed);
                check(&whole, name, &damaged, &format!("{}, {name}, {way}", whole.kind), &mut counts);
            }
            let damaged = whole.storage.fork(7);
            damaged.remove(name).unwrap();
            check(&whole, name, &damaged, &format!("{}, {name}, removed", whole.kind), &mut counts);
        }
    }
    println!("{counts:?}");
    assert!(counts.told > 100, "{counts:?}");
}
