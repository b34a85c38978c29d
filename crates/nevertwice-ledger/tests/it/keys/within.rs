//! The completion within a handler's own transaction: killed between any two of its steps, the effect happens once.

use std::time::Duration;

use bytes::Bytes;
use http::Response;
use nevertwice_api::{HeldKey, KeyStore as _, Levels};
use nevertwice_core::keys::{KeyId, KeyRejection, KeyState, LapsePolicy, OwnerId, RegisterKey, Registration, RenewLease};
use nevertwice_ledger::keys::{NotCompleted, SqlKeyStore};
use nevertwice_ledger::outbox::Message;
use nevertwice_ledger::{Database, SqlDatabase};
use nevertwice_testkit::clock::ManualClock;
use nevertwice_testkit::postgres::Postgres;
use sqlx::{PgPool, Postgres as PostgresSql, Sqlite, SqlitePool, Transaction};

use super::place::{bounds, open, sqlite, store};

const T0: i64 = 1_790_000_000_000;
const LEASE_MS: i64 = 60_000;
const KEY: KeyId = KeyId([9; 32]);

fn register(attempt: u8) -> RegisterKey {
    RegisterKey {
        fingerprint: [7; 32],
        owner: OwnerId([attempt; 32]),
        lease_ms: LEASE_MS,
        retention_ms: 24 * 3_600_000,
        expires_at: None,
        lapse: LapsePolicy::Rerun,
    }
}

async fn claim(store: &SqlKeyStore, attempt: u8) -> HeldKey {
    let told = store.register(KEY, register(attempt), Levels::NONE).await.expect("it answers").reply.expect("it may be claimed");
    match told.registration {
        Registration::Fresh(lease) | Registration::TakenOver(lease) => {
            HeldKey { id: KEY, owner: OwnerId([attempt; 32]), generation: lease.generation }
        }
        other => panic!("attempt {attempt} was told {other:?}"),
    }
}

fn answer(text: &str) -> Response<Bytes> {
    Response::builder().status(201).header("location", "/orders/1").body(Bytes::from(text.to_owned())).expect("it is a response")
}

/// How far a handler gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Claimed,
    Written,
    Completed,
    Committed,
}

const STEPS: [Step; 4] = [Step::Claimed, Step::Written, Step::Completed, Step::Committed];

async fn effect<D: SqlDatabase>(work: &mut Transaction<'_, D>, store: &SqlKeyStore)
where
    for<'c> &'c mut D::Connection: sqlx::Executor<'c, Database = D>,
    D::Arguments: sqlx::IntoArguments<D>,
{
    sqlx::query::<D>("INSERT INTO effects (what) VALUES ('one')").execute(&mut **work).await.expect("it is written");
    let at_ms = store.now_ms(work).await.expect("it answers");
    Message::new("orders", "order.placed", "{}").expect("it is a message").put_in(work, at_ms).await.expect("it is left");
}

/// Runs a handler up to a step, and hands out the transaction if it is still open.
async fn run<'t, D: SqlDatabase>(begun: Transaction<'t, D>, store: &SqlKeyStore, held: HeldKey, to: Step) -> Option<Transaction<'t, D>>
where
    for<'c> &'c mut D::Connection: sqlx::Executor<'c, Database = D>,
    D::Arguments: sqlx::IntoArguments<D>,
{
    let mut work = begun;
    if to == Step::Claimed {
        return Some(work);
    }
    effect(&mut work, store).await;
    if to == Step::Written {
        return Some(work);
    }
    let work = store.complete_in(work, &[held], &answer("done")).await.expect("it holds its key");
    if to == Step::Completed {
        return Some(work);
    }
    work.commit().await.expect("it is committed");
    None
}

const TABLE: &str = "CREATE TABLE effects (what TEXT NOT NULL)";
const FIGURES: &str = "SELECT (SELECT count(*) FROM effects), (SELECT count(*) FROM nevertwice_outbox)";

fn sqlite_pool(database: &Database) -> SqlitePool {
    match database {
        Database::Sqlite { write, .. } => write.clone(),
        Database::Postgres { .. } => panic!("it is SQLite"),
    }
}

fn postgres_pool(database: &Database) -> PgPool {
    match database {
        Database::Postgres { pool } => pool.clone(),
        Database::Sqlite { .. } => panic!("it is Postgres"),
    }
}

/// After the fault: a retry gets the answer, or runs once now.
async fn retried<D: SqlDatabase>(
    begin: impl AsyncFnOnce() -> Transaction<'static, D>,
    store: &SqlKeyStore,
    clock: &ManualClock,
    killed_at: Step,
) where
    for<'c> &'c mut D::Connection: sqlx::Executor<'c, Database = D>,
    D::Arguments: sqlx::IntoArguments<D>,
{
    clock.set(T0 + 1_000);
    let told = store.register(KEY, register(2), Levels::NONE).await.expect("it answers").reply;
    if killed_at == Step::Committed {
        let replayed = told.expect("it is known");
        assert!(matches!(replayed.registration, Registration::Replay { .. }), "{replayed:?}");
        assert_eq!(&replayed.bytes.body[..], b"done");
        return;
    }
    assert!(matches!(told, Err(KeyRejection::KeyInProgress { .. })), "killed at {killed_at:?}: a claim is freed by no fault: {told:?}");
    clock.set(T0 + LEASE_MS);
    let held = claim(store, 2).await;
    assert!(run(begin().await, store, held, Step::Committed).await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_dies_between_any_two_steps_leaves_one_effect_in_sqlite() {
    for step in STEPS {
        let (database, folder) = sqlite().await;
        let (store, clock) = store(&database, bounds(100, 1 << 20)).await;
        clock.set(T0);
        let pool = sqlite_pool(&database);
        sqlx::query(TABLE).execute(&pool).await.expect("the table is made");
        let held = claim(&store, 1).await;
        let work = pool.begin_with("BEGIN IMMEDIATE").await.expect("it begins");
        let still_open = run::<Sqlite>(work, &store, held, step).await;
        // What a process that is killed now leaves on the disk.
        let left = tempfile::tempdir().expect("a folder");
        for file in std::fs::read_dir(folder.path()).expect("it is there").flatten() {
            if !file.file_name().to_string_lossy().ends_with("-shm") {
                std::fs::copy(file.path(), left.path().join(file.file_name())).expect("it is copied");
            }
        }
        drop(still_open);
        let database = open(&format!("sqlite:{}", left.path().join("ledger.db").display())).await;
        let (store, clock) = super::place::store(&database, bounds(100, 1 << 20)).await;
        let pool = sqlite_pool(&database);
        let begin = async || pool.begin_with("BEGIN IMMEDIATE").await.expect("it begins");
        retried::<Sqlite>(begin, &store, &clock, step).await;
        let figures: (i64, i64) = sqlx::query_as(FIGURES).fetch_one(&pool).await.expect("it answers");
        assert_eq!(figures, (1, 1), "killed at {step:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_dies_between_any_two_steps_leaves_one_effect_in_postgres() {
    let mut server = Postgres::start(&[]);
    for step in STEPS {
        let database = open(&server.new_database()).await;
        let (store, clock) = store(&database, bounds(100, 1 << 20)).await;
        clock.set(T0);
        let pool = postgres_pool(&database);
        sqlx::query(TABLE).execute(&pool).await.expect("the table is made");
        let held = claim(&store, 1).await;
        let still_open = run::<PostgresSql>(pool.begin().await.expect("it begins"), &store, held, step).await;
        tokio::task::block_in_place(|| {
            server.kill();
            server.resume();
        });
        if let Some(work) = still_open {
            assert!(work.commit().await.is_err(), "killed at {step:?}");
        }
        retried::<PostgresSql>(async || begin_again(&pool).await, &store, &clock, step).await;
        let figures: (i64, i64) = sqlx::query_as(FIGURES).fetch_one(&pool).await.expect("it answers");
        assert_eq!(figures, (1, 1), "killed at {step:?}");
    }
}

/// Connections that were lost while nobody used them are found out one by one.
async fn begin_again(pool: &PgPool) -> Transaction<'static, PostgresSql> {
    for _ in 0..32 {
        if let Ok(work) = pool.begin().await {
            return work;
        }
    }
    panic!("the server did not come back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_that_was_replaced_can_commit_nothing() {
    let (database, _folder) = sqlite().await;
    let (store, clock) = store(&database, bounds(100, 1 << 20)).await;
    let pool = sqlite_pool(&database);
    sqlx::query(TABLE).execute(&pool).await.expect("the table is made");
    clock.set(T0);
    let slow = claim(&store, 1).await;
    clock.set(T0 + LEASE_MS);
    let second = claim(&store, 2).await;
    let mut work = pool.begin_with("BEGIN IMMEDIATE").await.expect("it begins");
    effect(&mut work, &store).await;
    let refused = store.complete_in(work, &[slow], &answer("late")).await.expect_err("it was replaced");
    assert!(matches!(refused, NotCompleted::Rejected(KeyRejection::StaleOwner { .. })), "{refused}");
    assert!(run::<Sqlite>(pool.begin_with("BEGIN IMMEDIATE").await.expect("it begins"), &store, second, Step::Committed).await.is_none());
    let figures: (i64, i64) = sqlx::query_as(FIGURES).fetch_one(&pool).await.expect("it answers");
    assert_eq!(figures, (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_is_run_again_after_a_lost_reply_is_refused_and_rolled_back() {
    let (database, _folder) = sqlite().await;
    let (store, clock) = store(&database, bounds(100, 1 << 20)).await;
    let pool = sqlite_pool(&database);
    sqlx::query(TABLE).execute(&pool).await.expect("the table is made");
    clock.set(T0);
    let held = claim(&store, 1).await;
    assert!(run::<Sqlite>(pool.begin().await.expect("it begins"), &store, held, Step::Committed).await.is_none());
    let mut work = pool.begin().await.expect("it begins");
    effect(&mut work, &store).await;
    let refused = store.complete_in(work, &[held], &answer("again")).await.expect_err("it has happened");
    assert!(matches!(refused, NotCompleted::KeptBefore), "{refused}");
    let figures: (i64, i64) = sqlx::query_as(FIGURES).fetch_one(&pool).await.expect("it answers");
    assert_eq!(figures, (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_rolls_back_leaves_its_claim_as_it_was() {
    let (database, _folder) = sqlite().await;
    let (store, clock) = store(&database, bounds(100, 1 << 20)).await;
    let pool = sqlite_pool(&database);
    sqlx::query(TABLE).execute(&pool).await.expect("the table is made");
    clock.set(T0);
    let held = claim(&store, 1).await;
    let before = store.inspect(KEY).await.expect("it answers");
    let work = run::<Sqlite>(pool.begin().await.expect("it begins"), &store, held, Step::Completed).await.expect("it is open");
    work.rollback().await.expect("it is rolled back");
    assert_eq!(store.inspect(KEY).await.expect("it answers"), before);
    let told = store.register(KEY, register(2), Levels::NONE).await.expect("it answers").reply;
    assert!(matches!(told, Err(KeyRejection::KeyInProgress { .. })), "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_would_take_a_key_over_waits_for_its_completion_and_replays_it() {
    let server = Postgres::start(&[]);
    let database = open(&server.new_database()).await;
    let (store, clock) = store(&database, bounds(100, 1 << 20)).await;
    let pool = postgres_pool(&database);
    sqlx::query(TABLE).execute(&pool).await.expect("the table is made");
    clock.set(T0);
    let held = claim(&store, 1).await;
    clock.set(T0 + LEASE_MS);
    let open_work = run::<PostgresSql>(pool.begin().await.expect("it begins"), &store, held, Step::Completed).await.expect("it is open");
    let second = tokio::spawn(store.register(KEY, register(2), Levels::NONE));
    // A renewal of the attempt's own waits as well, and neither waits for the other.
    let renewal = RenewLease { owner: held.owner, generation: held.generation, lease_ms: LEASE_MS };
    let renewal = tokio::spawn(store.renew(KEY, renewal));
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    for tries in 0.. {
        let waiting: i64 = sqlx::query_scalar(waits).fetch_one(&pool).await.expect("it answers");
        if waiting == 2 {
            break;
        }
        assert!(tries < 3_000, "{waiting} of 2 wait");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    open_work.commit().await.expect("it is committed");
    let told = second.await.expect("no panic").expect("it answers").reply.expect("it is known");
    assert!(matches!(told.registration, Registration::Replay { .. }), "{told:?}");
    assert_eq!(&told.bytes.body[..], b"done");
    let renewed = renewal.await.expect("no panic").expect("it answers").reply;
    assert_eq!(renewed, Err(KeyRejection::KeyCompleted));
    let figures: (i64, i64) = sqlx::query_as(FIGURES).fetch_one(&pool).await.expect("it answers");
    assert_eq!(figures, (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_too_large_leaves_a_tombstone_with_its_effect() {
    let (database, _folder) = sqlite().await;
    let (store, clock) = store(&database, bounds(100, 1 << 20)).await;
    let pool = sqlite_pool(&database);
    sqlx::query(TABLE).execute(&pool).await.expect("the table is made");
    clock.set(T0);
    let held = claim(&store, 1).await;
    let mut work = pool.begin().await.expect("it begins");
    effect(&mut work, &store).await;
    let work = store.complete_in(work, &[held], &answer(&"x".repeat(5_000))).await.expect("it holds its key");
    work.commit().await.expect("it is committed");
    let record = store.inspect(KEY).await.expect("it answers").expect("it is known");
    let KeyState::Completed(completion) = record.state else { panic!("it is completed") };
    assert_eq!((completion.answer.status, completion.answer.body_bytes), (201, 5_000));
    assert_eq!(completion.answer.body, nevertwice_core::keys::BodyKept::Tombstone);
}
