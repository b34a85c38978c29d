//! A file with the answers of keys, in a real folder of keys: a replay brings the bytes that were kept, or says that they are not
//! kept, and never others.

use std::sync::{Arc, LazyLock};

use nevertwice_api::{AnswerBytes, ErrorCode, KeyStore as _, Levels};
use nevertwice_core::keys::{BodyKept, CompleteKey, KeyId, LapsePolicy, OwnerId, RegisterKey, Registration};
use nevertwice_local::storage::Storage as _;
use nevertwice_local::{KeyStoreOptions, KeysInspection, LocalKeyStore, is_answers};
use nevertwice_testkit::clock::ManualClock;
use nevertwice_testkit::storage::MemoryStorage;

use super::SMALL;
use crate::Verdict;
use crate::seeds::house::wait;

/// The bodies of the answers, by their lengths.
const LENGTHS: [usize; 5] = [0, 1, 600, 2_000, 3_900];
const NOW_MS: i64 = 1_790_000_000_000;

/// A folder of keys that was stopped, and the name of its file of answers.
pub(crate) static FOLDER: LazyLock<(MemoryStorage, String)> = LazyLock::new(|| {
    let storage = MemoryStorage::new(8);
    let store = open(&storage).unwrap_or_else(|code| panic!("an empty folder is opened: {code}"));
    for (number, length) in (0..).zip(LENGTHS) {
        let Some(Registration::Fresh(lease)) = register(&store, number) else { panic!("the key is new") };
        let bytes = answer(number, length);
        let complete = CompleteKey { owner: OwnerId([number; 32]), generation: lease.generation, answer: bytes.describe(201) };
        let told = wait(store.complete(KeyId([number; 32]), complete, bytes, Levels::NONE)).expect("it answers");
        told.reply.expect("its owner completes it");
    }
    store.stop();
    let names = storage.list().expect("memory can be listed");
    let name = names.into_iter().find(|name| is_answers(name)).expect("there are answers");
    (storage, name)
});

fn open(storage: &MemoryStorage) -> Result<LocalKeyStore, ErrorCode> {
    let options = KeyStoreOptions { journal: SMALL, group_items_max: 16, answer_bytes_max: 4_096, ..KeyStoreOptions::default() };
    let opened = LocalKeyStore::open(Arc::new(storage.clone()), Arc::new(ManualClock::new(NOW_MS)), &options);
    opened.map(|(store, _)| store).map_err(|error| error.code())
}

fn answer(number: u8, length: usize) -> AnswerBytes {
    AnswerBytes { head: vec![0, number].into(), body: vec![number | 0x80; length].into() }
}

fn ask(store: &LocalKeyStore, number: u8, owner: u8) -> Option<nevertwice_api::Registered> {
    let register = RegisterKey {
        fingerprint: [1; 32],
        owner: OwnerId([owner; 32]),
        lease_ms: 60_000,
        retention_ms: 86_400_000,
        expires_at: None,
        lapse: LapsePolicy::Refuse,
    };
    wait(store.register(KeyId([number; 32]), register, Levels::NONE)).expect("it answers").reply.ok()
}

fn register(store: &LocalKeyStore, number: u8) -> Option<Registration> {
    ask(store, number, number).map(|registered| registered.registration)
}

/// The input is the file. Accepted: every answer is repeated as it was.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let (folder, name) = &*FOLDER;
    let storage = folder.fork(1);
    storage.put(name, bytes);
    let verdict = KeysInspection::open(Arc::new(storage.clone())).and_then(|keys| keys.verify(|| {})).expect("it can be looked at");
    assert!(verdict.faults.iter().all(|fault| fault.contains(name.as_str())), "{:?}: the file is named", verdict.faults);
    let store = match open(&storage) {
        Ok(store) => store,
        Err(code) => {
            assert_eq!(code, ErrorCode::JournalDamaged);
            assert!(!verdict.faults.is_empty(), "what is not served is told by looking as well");
            return Verdict::Refused;
        }
    };
    let mut lost = 0;
    for (number, length) in (0..).zip(LENGTHS) {
        let Some(registered) = ask(&store, number, 200) else { panic!("key {number} was carried out") };
        let Registration::Replay { answer: kept, .. } = registered.registration else { panic!("key {number} is run again") };
        let whole = answer(number, length);
        if kept.body == BodyKept::Whole {
            assert_eq!(registered.bytes, whole, "others than were kept");
        } else {
            assert_eq!((registered.bytes, kept.status), (AnswerBytes::default(), 201));
            lost += 1;
        }
    }
    store.stop();
    assert_eq!(verdict.faults.len(), lost, "{:?}: what can't be repeated is told by looking", verdict.faults);
    Verdict::of(lost == 0)
}
