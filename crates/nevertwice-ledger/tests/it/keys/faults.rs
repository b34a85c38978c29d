//! Postgres is killed while keys are claimed and answered: nothing that was told is forgotten, and no key has two owners.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nevertwice_api::{AnswerBytes, KeyStore as _, KeyStoreFailure, Levels};
use nevertwice_core::keys::{CompleteKey, Completion, KeyId, KeyRejection, LapsePolicy, Lease, OwnerId, RegisterKey, Registration};
use nevertwice_ledger::Database;
use nevertwice_ledger::keys::{SqlKeyOptions, SqlKeyStore};
use nevertwice_testkit::postgres::Postgres;
use tokio::task::{JoinSet, spawn_blocking};

use super::place::patient;

const WORKERS: u64 = 12;
const KILLS: usize = 3;
const TRIES_MAX: usize = 2_000;
/// Calls that are done before the server is killed again.
const CALLS_BETWEEN: usize = 120;

fn id(number: u64) -> KeyId {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    KeyId(bytes)
}

/// What was told of keys.
#[derive(Default)]
struct Told {
    under_way: AtomicUsize,
    done: AtomicUsize,
    is_over: AtomicBool,
    /// Each key with the answer that its owner was told is kept.
    kept: Mutex<BTreeMap<u64, AnswerBytes>>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_was_told_is_forgotten_when_postgres_is_killed() {
    let server = Arc::new(Mutex::new(Postgres::start(&[])));
    let address = server.lock().expect("nobody panics with it").new_database();
    let database = Database::open(&address.parse().expect("an address"), &patient()).await.expect("it opens");
    database.migrate().await.expect("its tables are made");
    let options = SqlKeyOptions { command_ms_max: 30_000, ..SqlKeyOptions::default() };
    let store = SqlKeyStore::open(&database, options).await.expect("it opens");
    let told = Arc::new(Told::default());
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        let (store, told) = (store.clone(), Arc::clone(&told));
        workers.spawn(async move {
            let mut key = worker;
            while !told.is_over.load(Ordering::SeqCst) {
                one(&store, &told, key).await;
                key += WORKERS;
            }
        });
    }
    let mut struck = Vec::new();
    for kill in 1..=KILLS {
        while told.done.load(Ordering::SeqCst) < kill * CALLS_BETWEEN {
            tokio::task::yield_now().await;
        }
        let (server, told) = (Arc::clone(&server), Arc::clone(&told));
        let under_way = spawn_blocking(move || {
            let mut server = server.lock().expect("nobody panics with it");
            let under_way = told.under_way.load(Ordering::SeqCst);
            server.kill();
            server.resume();
            under_way
        });
        struck.push(under_way.await.expect("the server is killed"));
    }
    told.is_over.store(true, Ordering::SeqCst);
    while let Some(ended) = workers.join_next().await {
        ended.expect("a worker does not panic");
    }
    println!("calls under way when Postgres was killed: {struck:?}");
    assert!(struck.iter().all(|calls| *calls > 0), "a kill that met nobody proves nothing: {struck:?}");
    let kept = std::mem::take(&mut *told.kept.lock().expect("nobody panics with it"));
    assert!(kept.len() > CALLS_BETWEEN, "{} answers were kept", kept.len());
    for (number, bytes) in kept.iter() {
        let again = store.register(id(*number), register(*number, u64::MAX), Levels::NONE).await.expect("it answers").reply;
        let replayed = again.unwrap_or_else(|rejection| panic!("key {number} was told kept and is refused: {rejection:?}"));
        assert!(matches!(replayed.registration, Registration::Replay { .. }), "key {number} was told kept: {replayed:?}");
        assert_eq!(replayed.bytes, *bytes, "key {number} has another answer");
    }
}

fn owner(key: u64, attempt: u64) -> OwnerId {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&key.to_be_bytes());
    bytes[8..16].copy_from_slice(&attempt.to_be_bytes());
    OwnerId(bytes)
}

fn register(key: u64, attempt: u64) -> RegisterKey {
    let lapse = LapsePolicy::Refuse;
    RegisterKey { fingerprint: [7; 32], owner: owner(key, attempt), lease_ms: 60_000, retention_ms: 3_600_000, expires_at: None, lapse }
}

/// Claims a key and answers it, again and again by the same owner until the store says what became of it.
async fn one(store: &SqlKeyStore, told: &Told, key: u64) {
    let lease: Lease = insist(
        told,
        || store.register(id(key), register(key, 1), Levels::NONE),
        |registered| match registered.registration {
            Registration::Fresh(lease) | Registration::Resumed(lease) => lease,
            other => panic!("key {key} is nobody else's: {other:?}"),
        },
    )
    .await;
    // Another attempt never gets it meanwhile.
    if let Ok(other) = store.register(id(key), register(key, 2), Levels::NONE).await {
        assert!(matches!(other.reply, Err(KeyRejection::KeyInProgress { .. })), "key {key} has two owners: {other:?}");
    }
    let bytes = AnswerBytes { head: vec![0, 0].into(), body: key.to_string().into_bytes().into() };
    let complete = CompleteKey { owner: owner(key, 1), generation: lease.generation, answer: bytes.describe(201) };
    let asked = || store.complete(id(key), complete.clone(), bytes.clone(), Levels::NONE);
    insist(told, asked, |completion: Completion| completion).await;
    told.kept.lock().expect("nobody panics with it").insert(key, bytes);
}

async fn insist<R, T, F>(told: &Told, asked: impl Fn() -> F, taken: impl Fn(R) -> T) -> T
where
    F: Future<Output = Result<nevertwice_api::KeyReply<R>, KeyStoreFailure>>,
{
    for _ in 0..TRIES_MAX {
        told.under_way.fetch_add(1, Ordering::SeqCst);
        let reply = asked().await;
        told.under_way.fetch_sub(1, Ordering::SeqCst);
        match reply {
            Ok(reply) => {
                told.done.fetch_add(1, Ordering::SeqCst);
                return taken(reply.reply.unwrap_or_else(|rejection| panic!("an owner is refused: {rejection:?}")));
            }
            // The server is on its way: it is asked again in a while.
            Err(KeyStoreFailure::Unavailable | KeyStoreFailure::OutcomeUnknown) => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(other) => panic!("the store says {other}"),
        }
    }
    panic!("the store did not come back");
}
