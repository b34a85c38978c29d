//! The stores in SQL do what every store of keys promises, on real databases.

use std::sync::atomic::{AtomicU64, Ordering};

use nevertwice_ledger::Database;
use nevertwice_testkit::key_store::run;
use nevertwice_testkit::postgres::PostgresServer;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use super::place::{Set, bounds, patient, sqlite, store};

fn now<T>(work: impl Future<Output = T>) -> T {
    block_in_place(|| Handle::current().block_on(work))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_in_sqlite_is_a_key_store() {
    let mut fresh = |records_max, bytes_max| {
        now(async {
            let (database, folder) = sqlite(&patient()).await;
            let (store, clock) = store(&database, bounds(records_max, bytes_max)).await;
            Set { store, clock, _folder: Some(folder) }
        })
    };
    assert_eq!(run(&mut fresh).await, 8_571);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_in_postgres_is_a_key_store() {
    let server = PostgresServer::start(&[]);
    let number = AtomicU64::new(0);
    let mut before: Option<Database> = None;
    let mut fresh = |records_max, bytes_max| {
        now(async {
            // The suite is done with the one before when it asks for another.
            if let Some(before) = before.take() {
                before.close().await;
            }
            let address = server.database(&format!("keys{}", number.fetch_add(1, Ordering::Relaxed)));
            let database = Database::open(&address, &patient()).await.expect("it opens");
            let (store, clock) = store(&database, bounds(records_max, bytes_max)).await;
            before = Some(database);
            Set { store, clock, _folder: None }
        })
    };
    assert_eq!(run(&mut fresh).await, 8_571);
}
