//! Databases for the tests.

use nevertwice_ledger::{Address, Database, DatabaseOptions, Durability};
use nevertwice_testkit::postgres::Postgres;
use tempfile::TempDir;

/// For tests that do not ask what outlives a power cut.
pub(crate) const QUICK: DatabaseOptions =
    DatabaseOptions { connections_max: 8, connect_ms: 20_000, wait_ms: 20_000, statement_ms: 60_000, durability: Durability::Process };

/// An empty database of either kind; a SQLite file goes with it.
pub(crate) struct Scratch {
    pub(crate) name: &'static str,
    pub(crate) address: Address,
    _folder: Option<TempDir>,
}

impl Scratch {
    pub(crate) fn sqlite() -> Scratch {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let address = format!("sqlite:{}", folder.path().join("ledger.db").display());
        Scratch { name: "sqlite", address: address.parse().expect("an address"), _folder: Some(folder) }
    }

    pub(crate) fn postgres() -> Scratch {
        let address = Postgres::shared().new_database();
        Scratch { name: "postgres", address: address.parse().expect("an address"), _folder: None }
    }

    /// One of each kind.
    pub(crate) fn both() -> [Scratch; 2] {
        [Scratch::sqlite(), Scratch::postgres()]
    }

    /// Opens it, with its tables.
    pub(crate) async fn open(&self) -> Database {
        let database = Database::open(&self.address, &QUICK).await.expect("it opens");
        database.migrate().await.expect("its tables are made");
        database
    }
}
