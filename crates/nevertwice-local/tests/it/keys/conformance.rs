//! The store of keys does what every store of keys promises, on a real disk.

use std::sync::Arc;

use nevertwice_api::KeyStore;
use nevertwice_local::journal::JournalOptions;
use nevertwice_local::storage::FileStorage;
use nevertwice_local::{KeyStoreOptions, LocalKeyStore};
use nevertwice_testkit::clock::ManualClock;
use nevertwice_testkit::key_store::{Subject, run};
use nevertwice_testkit::key_store_principals;

struct Local {
    store: Arc<LocalKeyStore>,
    clock: Arc<ManualClock>,
    _folder: tempfile::TempDir,
}

impl Subject for Local {
    fn store(&self) -> Arc<dyn KeyStore> {
        self.store.clone()
    }

    fn set_now(&self, at_ms: i64) {
        self.clock.set(at_ms);
    }
}

fn local(records_max: u64, answers_bytes_max: u64) -> Local {
    local_by(KeyStoreOptions { records_max, answers_bytes_max, ..Default::default() })
}

fn local_by(options: KeyStoreOptions) -> Local {
    let folder = tempfile::tempdir().unwrap();
    let storage = Arc::new(FileStorage::create(folder.path()).unwrap());
    let clock = Arc::new(ManualClock::default());
    let journal = JournalOptions { segment_bytes: 512 << 10, segments_ahead: 1 };
    // Snapshots come often here, so that they are part of what is held to the suite.
    let options = KeyStoreOptions { answer_bytes_max: 4_096, journal, snapshot_bytes: 8 << 10, ..options };
    let (store, _) = LocalKeyStore::open(storage, clock.clone(), &options).unwrap();
    Local { store: Arc::new(store), clock, _folder: folder }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_local_store_is_a_key_store() {
    let cases = run(&mut local).await;
    assert_eq!(cases, 8_571);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_principal_does_not_fill_the_local_store() {
    let of_one = key_store_principals::OF_ONE;
    let options = KeyStoreOptions { records_max: 100, answers_bytes_max: 1 << 20, of_one, ..Default::default() };
    let cases = key_store_principals::run(&mut || local_by(options.clone())).await;
    assert_eq!(cases, 45);
}
