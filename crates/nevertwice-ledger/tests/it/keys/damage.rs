//! Rows that can't be used, and databases that take no writes.

use nevertwice_api::{AnswerBytes, KeyStore as _, KeyStoreFailure, Levels};
use nevertwice_core::keys::{CompleteKey, KeyId, LapsePolicy, OwnerId, RegisterKey, Registration};
use nevertwice_ledger::Database;
use sqlx::SqlitePool;

use super::place::{bounds, sqlite, store};

fn register(number: u8) -> RegisterKey {
    let lapse = LapsePolicy::Refuse;
    RegisterKey { fingerprint: [7; 32], owner: OwnerId([number; 32]), lease_ms: 60_000, retention_ms: 3_600_000, expires_at: None, lapse }
}

fn writer(database: &Database) -> SqlitePool {
    match database {
        Database::Sqlite { write, .. } => write.clone(),
        Database::Postgres { .. } => panic!("it is SQLite"),
    }
}

#[tokio::test]
async fn a_record_of_a_newer_version_is_refused_and_left_as_it_is() {
    let (database, _folder) = sqlite().await;
    let (store, _clock) = store(&database, bounds(10, 10_000)).await;
    let id = KeyId([1; 32]);
    store.register(id, register(1), Levels::NONE).await.expect("it answers");
    let pool = writer(&database);
    let mut record: Vec<u8> = sqlx::query_scalar("SELECT record FROM nevertwice_keys").fetch_one(&pool).await.expect("a row");
    record[0] = 200;
    sqlx::query("UPDATE nevertwice_keys SET record = $1").bind(&record[..]).execute(&pool).await.expect("it is written");
    assert_eq!(store.register(id, register(2), Levels::NONE).await.err(), Some(KeyStoreFailure::TooNew));
    assert_eq!(store.inspect(id).await.err(), Some(KeyStoreFailure::TooNew));
}

#[tokio::test]
async fn a_row_that_somebody_else_changed_is_not_believed() {
    let (database, _folder) = sqlite().await;
    let (store, _clock) = store(&database, bounds(10, 10_000)).await;
    let id = KeyId([1; 32]);
    store.register(id, register(1), Levels::NONE).await.expect("it answers");
    sqlx::query("UPDATE nevertwice_keys SET state = 1").execute(&writer(&database)).await.expect("it is written");
    assert_eq!(store.register(id, register(2), Levels::NONE).await.err(), Some(KeyStoreFailure::Unavailable));
}

#[tokio::test]
async fn a_full_disk_refuses_new_claims_and_replays_what_it_has() {
    let (database, _folder) = sqlite().await;
    let (store, clock) = store(&database, bounds(1_000, 1 << 20)).await;
    clock.set(1_790_000_000_000);
    let id = KeyId([1; 32]);
    let told = store.register(id, register(1), Levels::NONE).await.expect("it answers").reply.expect("it is free");
    let Registration::Fresh(lease) = told.registration else { panic!("it is fresh") };
    let bytes = AnswerBytes { head: vec![0, 0].into(), body: vec![b'x'; 100].into() };
    let complete = CompleteKey { owner: OwnerId([1; 32]), generation: lease.generation, answer: bytes.describe(200) };
    store.complete(id, complete, bytes.clone(), Levels::NONE).await.expect("it answers").reply.expect("it is kept");
    // SQLite counts pages; at this bound it says what it says on a disk without room.
    sqlx::query("PRAGMA max_page_count = 1").execute(&writer(&database)).await.expect("it is set");
    let mut refused = None;
    for number in 2..=255 {
        match store.register(KeyId([number; 32]), register(number), Levels::NONE).await {
            Ok(_) => {}
            Err(failure) => {
                refused = Some(failure);
                break;
            }
        }
    }
    assert_eq!(refused, Some(KeyStoreFailure::Full));
    let told = store.register(id, register(9), Levels::NONE).await.expect("it answers").reply.expect("it is known");
    assert!(matches!(told.registration, Registration::Replay { .. }) && told.bytes == bytes);
}

#[tokio::test]
async fn a_database_that_takes_no_writes_says_so_and_replays_what_it_has() {
    let (database, _folder) = sqlite().await;
    let (store, _clock) = store(&database, bounds(1_000, 1 << 20)).await;
    store.register(KeyId([1; 32]), register(1), Levels::NONE).await.expect("it answers");
    sqlx::query("PRAGMA query_only = ON").execute(&writer(&database)).await.expect("it is set");
    let refused = store.register(KeyId([2; 32]), register(2), Levels::NONE).await.err();
    assert_eq!(refused, Some(KeyStoreFailure::Unavailable));
    assert_eq!(store.status().records, 1, "room that was taken is given back");
    assert!(store.inspect(KeyId([1; 32])).await.expect("it answers").is_some());
}
