//! `nevertwice verify` reads the keys of a data folder as well.

use std::path::Path;
use std::sync::Arc;

use nevertwice_api::{AnswerBytes, KeyStore as _, Levels};
use nevertwice_core::keys::{CompleteKey, KeyId, LapsePolicy, OwnerId, RegisterKey, Registration};
use nevertwice_local::clock::SystemClock;
use nevertwice_local::storage::FileStorage;
use nevertwice_local::{KEYS_FOLDER, KeyStoreOptions, LocalKeyStore, is_answers};

use crate::reports::{command, folder};

/// A key with an answer, and one that was claimed, in the folder of keys of a data folder.
fn add_keys(data: &Path) {
    let storage = FileStorage::create(data.join(KEYS_FOLDER)).expect("it takes files");
    let mut options = KeyStoreOptions::default();
    options.journal.segment_bytes = 512 << 10;
    let (store, _) = LocalKeyStore::open(Arc::new(storage), Arc::new(SystemClock), &options).expect("it opens");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime can be made");
    let bytes = AnswerBytes { head: vec![0, 0].into(), body: vec![b'x'; 998].into() };
    for number in [1, 2] {
        let owner = OwnerId([number; 32]);
        let lapse = LapsePolicy::Refuse;
        let register = RegisterKey { fingerprint: [0; 32], owner, lease_ms: 60_000, retention_ms: 86_400_000, expires_at: None, lapse };
        let told = runtime.block_on(store.register(KeyId([number; 32]), register, Levels::NONE)).expect("it answers").reply;
        let Ok(Registration::Fresh(lease)) = told.map(|registered| registered.registration) else { panic!("the key is new") };
        if number == 1 {
            let complete = CompleteKey { owner, generation: lease.generation, answer: bytes.describe(201) };
            let told = runtime.block_on(store.complete(KeyId([number; 32]), complete, bytes.clone(), Levels::NONE));
            assert!(told.expect("it answers").reply.is_ok());
        }
    }
    store.stop();
}

#[test]
fn verify_reads_every_answer_of_the_keys_and_names_the_file_of_a_damaged_one() {
    let data = folder(3);
    add_keys(data.path());
    let output = command(&["verify"], data.path()).output().expect("the binary starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("2 keys: 1 claims, 1 answers of 1000 bytes, 0 of them tombstones\n"), "{text}");

    let keys = data.path().join(KEYS_FOLDER);
    let entries = std::fs::read_dir(&keys).expect("it can be listed").filter_map(|entry| Some(entry.ok()?.path()));
    let is_it = |path: &std::path::PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(is_answers);
    let file = entries.into_iter().find(is_it).expect("the answer has a file");
    let mut bytes = std::fs::read(&file).expect("it can be read");
    bytes[500] ^= 1;
    std::fs::write(&file, bytes).expect("it can be written");
    let output = command(&["verify"], data.path()).output().expect("the binary starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && text.ends_with("not clean\n"), "{text}");
    assert!(text.contains("FAULT keys: answers-00000000000000000001.bytes at byte 0: "), "{text}");
}
