//! Databases for a test.

use std::sync::Arc;

use nevertwice_api::KeyStore;
use nevertwice_ledger::keys::{KeyClock, SqlKeyOptions, SqlKeyStore};
use nevertwice_ledger::{Database, DatabaseOptions};
use nevertwice_testkit::clock::ManualClock;
use nevertwice_testkit::key_store::Subject;

use nevertwice_local::clock::Clock as _;

/// A store whose clock a test sets.
pub(crate) struct Set {
    pub(crate) store: SqlKeyStore,
    pub(crate) clock: Arc<ManualClock>,
    /// What goes with it.
    pub(crate) _folder: Option<tempfile::TempDir>,
}

impl Subject for Set {
    fn store(&self) -> Arc<dyn KeyStore> {
        Arc::new(self.store.clone())
    }

    fn set_now(&self, at_ms: i64) {
        self.clock.set(at_ms);
    }
}

/// A store in a database, with a clock that is set.
pub(crate) async fn store(database: &Database, options: SqlKeyOptions) -> (SqlKeyStore, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    let shown = Arc::clone(&clock);
    let options = SqlKeyOptions { clock: KeyClock::Given(Arc::new(move || shown.now_ms())), ..options };
    (SqlKeyStore::open(database, options).await.expect("the store opens"), clock)
}

/// Bounds as the suite wants them. A machine that is busy must not fail a test that is about something else.
pub(crate) fn bounds(records_max: u64, answers_bytes_max: u64) -> SqlKeyOptions {
    SqlKeyOptions { records_max, answers_bytes_max, answer_bytes_max: 4_096, command_ms_max: 60_000, ..SqlKeyOptions::default() }
}

pub(crate) fn patient() -> DatabaseOptions {
    DatabaseOptions { wait_ms: 60_000, statement_ms: 60_000, connect_ms: 60_000, ..DatabaseOptions::default() }
}

/// Opens a database with its tables.
pub(crate) async fn open(address: &str) -> Database {
    let address = address.parse().expect("an address");
    let database = Database::open(&address, &patient()).await.expect("it opens");
    database.migrate().await.expect("its tables are made");
    database
}

/// A SQLite database in a folder of its own.
pub(crate) async fn sqlite() -> (Database, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let address = format!("sqlite:{}", folder.path().join("ledger.db").display());
    (open(&address).await, folder)
}
