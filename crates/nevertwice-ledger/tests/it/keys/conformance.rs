//! The stores in SQL do what every store of keys promises, on real databases.

use nevertwice_ledger::Database;
use nevertwice_testkit::key_store::run;
use nevertwice_testkit::postgres::Postgres;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use super::place::{Set, bounds, open, sqlite, store};

fn now<T>(work: impl Future<Output = T>) -> T {
    block_in_place(|| Handle::current().block_on(work))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_in_sqlite_is_a_key_store() {
    let mut fresh = |records_max, bytes_max| {
        now(async {
            let (database, folder) = sqlite().await;
            let (store, clock) = store(&database, bounds(records_max, bytes_max)).await;
            Set { store, clock, _folder: Some(folder) }
        })
    };
    assert_eq!(run(&mut fresh).await, 8_571);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_in_postgres_is_a_key_store() {
    let server = Postgres::start(&[("max_connections", "40")]);
    let mut before: Option<Database> = None;
    let mut fresh = |records_max, bytes_max| {
        now(async {
            // The suite is done with the one before when it asks for another.
            if let Some(before) = before.take() {
                before.close().await;
            }
            let database = open(&server.new_database()).await;
            let (store, clock) = store(&database, bounds(records_max, bytes_max)).await;
            before = Some(database);
            Set { store, clock, _folder: None }
        })
    };
    assert_eq!(run(&mut fresh).await, 8_571);
}
