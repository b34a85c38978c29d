//! What becomes of keys when the server, the network or the memory fails.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use nevertwice_api::{AnswerBytes, KeyReply, KeyStore, KeyStoreFailure, Level, Levels, Registered};
use nevertwice_core::keys::{
    CompleteKey, Completion, KeyId, KeyRejection, LapsePolicy, Lease, OwnerId, RegisterKey, Registration, ReleaseKey, RenewLease,
};
use nevertwice_redis::clock::MachineClock;
use nevertwice_redis::{KeyStoreOpenError, LinkOptions, RedisKeyOptions, RedisKeyStore};
use nevertwice_testkit::redis::{RedisServer, pair};

use super::relay::Relay;
use super::support::SetClock;

async fn open(url: &str, options: RedisKeyOptions) -> RedisKeyStore {
    RedisKeyStore::open(url.parse().unwrap(), options, Arc::new(MachineClock)).await.unwrap()
}

fn id(number: u8) -> KeyId {
    KeyId([number; 32])
}

fn register(number: u8) -> RegisterKey {
    RegisterKey {
        fingerprint: [7; 32],
        owner: OwnerId([number; 32]),
        lease_ms: 60_000,
        retention_ms: 3_600_000,
        expires_at: None,
        lapse: LapsePolicy::Refuse,
    }
}

async fn claim(store: &RedisKeyStore, key: u8, owner: u8) -> Result<KeyReply<Registered>, KeyStoreFailure> {
    store.register(id(key), register(owner), Levels::NONE).await
}

fn lease(told: Result<KeyReply<Registered>, KeyStoreFailure>) -> Lease {
    match told.expect("the store answers").reply.expect("the key is free").registration {
        Registration::Fresh(lease) | Registration::Resumed(lease) => lease,
        other => panic!("the key is not the caller's: {other:?}"),
    }
}

fn answer(body: &str) -> AnswerBytes {
    AnswerBytes { head: Bytes::from_static(&[0, 0]), body: Bytes::copy_from_slice(body.as_bytes()) }
}

async fn complete(store: &RedisKeyStore, key: u8, owner: u8, generation: u64, body: &str) -> Result<KeyReply<Completion>, KeyStoreFailure> {
    let bytes = answer(body);
    let command = CompleteKey { owner: OwnerId([owner; 32]), generation, answer: bytes.describe(201) };
    store.complete(id(key), command, bytes, Levels::NONE).await
}

#[tokio::test]
async fn scripts_that_the_server_forgets_between_calls_are_loaded_again() {
    let server = RedisServer::start(&[]);
    let store = open(&server.url(), RedisKeyOptions::default()).await;
    let flush = || server.ask(&["SCRIPT", "FLUSH"]);
    let claimed = lease(claim(&store, 1, 1).await);
    flush();
    let renewal = RenewLease { owner: OwnerId([1; 32]), generation: claimed.generation, lease_ms: 1_000 };
    assert!(store.renew(id(1), renewal).await.unwrap().reply.is_ok());
    flush();
    assert_eq!(complete(&store, 1, 1, claimed.generation, "done").await.unwrap().reply, Ok(Completion::Kept));
    flush();
    let told = claim(&store, 1, 2).await.unwrap().reply.unwrap();
    assert!(matches!(told.registration, Registration::Replay { .. }) && told.bytes == answer("done"));
    assert_eq!(store.runner().counts().unknown.load(Ordering::Relaxed), 4);
    assert_eq!(store.runner().counts().unknown_twice.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_server_that_lost_its_keys_is_told_and_not_served_as_an_empty_one() {
    let server = RedisServer::start(&[]);
    let store = open(&server.url(), RedisKeyOptions::default()).await;
    let claimed = lease(claim(&store, 1, 1).await);
    complete(&store, 1, 1, claimed.generation, "charged").await.unwrap().reply.unwrap();
    server.ask(&["FLUSHALL"]);
    assert_eq!(claim(&store, 1, 2).await, Err(KeyStoreFailure::Unavailable), "a retry would charge once more");
    assert!(store.is_forgotten());
    assert_eq!(claim(&store, 2, 2).await, Err(KeyStoreFailure::Unavailable), "and so would any other");
    assert_eq!(store.inspect(id(1)).await, Err(KeyStoreFailure::Unavailable));
    let anew = open(&server.url(), RedisKeyOptions::default()).await;
    lease(claim(&anew, 3, 3).await);
    assert_eq!(claim(&store, 4, 4).await, Err(KeyStoreFailure::Unavailable), "who knew the old store does not go on in the new one");
}

#[tokio::test]
async fn a_reply_that_is_lost_is_told_by_the_same_command_of_the_same_owner() {
    let server = RedisServer::start(&[]);
    let relay = Relay::start(server.port()).await;
    let store = open(&relay.url(), RedisKeyOptions::default()).await;
    relay.lose_next_reply();
    assert_eq!(claim(&store, 1, 1).await, Err(KeyStoreFailure::OutcomeUnknown));
    let told = claim(&store, 1, 1).await.unwrap().reply.unwrap().registration;
    let Registration::Resumed(claimed) = told else { panic!("its claim stands, and it is told {told:?}") };
    relay.lose_next_reply();
    assert_eq!(complete(&store, 1, 1, claimed.generation, "done").await, Err(KeyStoreFailure::OutcomeUnknown));
    let told = complete(&store, 1, 1, claimed.generation, "other").await.unwrap();
    assert_eq!(told.reply, Ok(Completion::KeptBefore));
    let claimed = lease(claim(&store, 2, 1).await);
    let release = || store.release(id(2), ReleaseKey { owner: OwnerId([1; 32]), generation: claimed.generation }, Levels::NONE);
    relay.lose_next_reply();
    assert_eq!(release().await, Err(KeyStoreFailure::OutcomeUnknown));
    assert_eq!(release().await.unwrap().reply, Ok(()));
    let told = claim(&store, 1, 3).await.unwrap().reply.unwrap();
    assert_eq!(told.bytes, answer("done"), "the first completion stands");
    assert_eq!(relay.lost(), 3, "each loss was of a reply that the server had sent");
}

#[tokio::test]
async fn without_memory_claims_are_refused_and_what_is_begun_can_end() {
    let server = RedisServer::start(&[]);
    let store = open(&server.url(), RedisKeyOptions::default()).await;
    let (first, second) = (lease(claim(&store, 1, 1).await), lease(claim(&store, 2, 2).await));
    server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(claim(&store, 3, 3).await, Err(KeyStoreFailure::Full));
    assert_eq!(complete(&store, 1, 1, first.generation, "done").await.unwrap().reply, Ok(Completion::Kept));
    let told = claim(&store, 1, 4).await.unwrap().reply.unwrap();
    assert_eq!(told.bytes, answer("done"), "a replay needs no memory");
    let told = claim(&store, 2, 4).await.unwrap().reply;
    assert!(matches!(told, Err(KeyRejection::KeyInProgress { .. })), "{told:?}");
    let release = ReleaseKey { owner: OwnerId([2; 32]), generation: second.generation };
    assert_eq!(store.release(id(2), release, Levels::NONE).await.unwrap().reply, Ok(()));
    assert_eq!(claim(&store, 2, 4).await, Err(KeyStoreFailure::Full), "a claim of a free key takes memory as well");
    server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    lease(claim(&store, 3, 3).await);
    assert_eq!(store.status().records, 3);
}

#[tokio::test]
async fn a_replica_that_stands_still_lets_nothing_be_told_as_replicated() {
    let (primary, replica) = pair(&[]);
    // Patience enough for a slow machine: only the replica that stands still is to be too late.
    let link = LinkOptions { reply_ms: 60_000, ..LinkOptions::default() };
    let options = RedisKeyOptions { level: Level::Replicated, replicas: 1, wait_ms: 3_000, link, ..RedisKeyOptions::default() };
    let store = open(&primary.url(), options).await;
    let told = claim(&store, 1, 1).await.unwrap();
    assert!(told.levels.contains(Level::Replicated) && !told.levels.contains(Level::Journaled));
    replica.pause();
    assert_eq!(claim(&store, 2, 2).await, Err(KeyStoreFailure::OutcomeUnknown));
    for key in [1, 3] {
        let told = claim(&store, key, 1).await;
        assert_eq!(told, Err(KeyStoreFailure::Unavailable), "nothing more is decided, nor told again, without it");
    }
    assert_eq!(store.inspect(id(3)).await, Ok(None));
    replica.resume();
    let told = claim(&store, 2, 2).await.unwrap();
    assert!(told.levels.contains(Level::Replicated));
    let Registration::Resumed(claimed) = told.reply.unwrap().registration else { panic!("its claim does not stand") };
    primary.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    let told = complete(&store, 2, 2, claimed.generation, "done").await.unwrap();
    assert!(told.reply == Ok(Completion::Kept) && told.levels.contains(Level::Replicated), "it is confirmed without memory, too");
}

#[tokio::test]
async fn levels_that_the_server_can_not_reach_are_refused() {
    let server = RedisServer::start(&[]);
    let store = open(&server.url(), RedisKeyOptions::default()).await;
    for level in [Level::Replicated, Level::Journaled, Level::Ledgered] {
        let told = store.register(id(1), register(1), Levels::reached(level)).await;
        assert_eq!(told, Err(KeyStoreFailure::LevelUnavailable), "{level}");
        let options = RedisKeyOptions { level, is_fsync_vouched: true, ..RedisKeyOptions::default() };
        let opened = RedisKeyStore::open(server.url().parse().unwrap(), options, Arc::new(MachineClock)).await;
        assert!(matches!(opened.err(), Some(KeyStoreOpenError::Unfit(_))), "{level} on a server without replicas and files");
    }
    let durable = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let options = RedisKeyOptions { level: Level::Journaled, is_fsync_vouched: true, ..RedisKeyOptions::default() };
    let told = claim(&open(&durable.url(), options).await, 1, 1).await.unwrap();
    assert!(told.levels.contains(Level::Journaled));
}

#[tokio::test]
async fn what_was_journaled_is_there_after_a_kill() {
    let mut server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let options = RedisKeyOptions { level: Level::Journaled, is_fsync_vouched: true, ..RedisKeyOptions::default() };
    let store = open(&server.url(), options).await;
    let claimed = lease(claim(&store, 1, 1).await);
    complete(&store, 1, 1, claimed.generation, "charged").await.unwrap().reply.unwrap();
    server.kill();
    assert!(claim(&store, 1, 2).await.is_err());
    server.restart();
    let told = claim(&store, 1, 2).await.unwrap().reply.unwrap();
    assert_eq!(told.bytes, answer("charged"));
    assert!(!store.is_forgotten());
}

#[tokio::test]
async fn a_clock_that_is_an_hour_off_decides_nothing() {
    let server = RedisServer::start(&[]);
    let clock = SetClock::at(nevertwice_redis::clock::Clock::now_ms(&MachineClock) - 3_600_000);
    let address = || server.url().parse().unwrap();
    let store = RedisKeyStore::open(address(), RedisKeyOptions::default(), clock.clone()).await.unwrap();
    assert_eq!(claim(&store, 1, 1).await, Err(KeyStoreFailure::Unavailable));
    assert_eq!(store.inspect(id(1)).await, Ok(None), "nothing was done");
    clock.set(nevertwice_redis::clock::Clock::now_ms(&MachineClock));
    lease(claim(&store, 1, 1).await);
}

#[tokio::test]
async fn a_server_that_would_throw_keys_away_is_refused() {
    let server = RedisServer::start(&["--maxmemory-policy", "allkeys-lru"]);
    let opened = RedisKeyStore::open(server.url().parse().unwrap(), RedisKeyOptions::default(), Arc::new(MachineClock)).await;
    let told = opened.err().expect("it is refused").to_string();
    assert!(told.contains("allkeys-lru") && told.contains("noeviction"), "{told}");
}

#[tokio::test]
async fn a_record_of_a_newer_version_is_refused_and_left_alone() {
    let server = RedisServer::start(&[]);
    let store = open(&server.url(), RedisKeyOptions::default()).await;
    lease(claim(&store, 1, 1).await);
    let key = String::from_utf8(nevertwice_redis::keys::key_record(&id(1))).unwrap();
    server.ask(&["HSET", &key, "v", "2"]);
    assert_eq!(claim(&store, 1, 1).await, Err(KeyStoreFailure::TooNew));
    assert_eq!(store.inspect(id(1)).await, Err(KeyStoreFailure::TooNew));
    let release = ReleaseKey { owner: OwnerId([1; 32]), generation: 1 };
    assert_eq!(store.release(id(1), release, Levels::NONE).await, Err(KeyStoreFailure::TooNew));
    assert_eq!(server.ask(&["HGET", &key, "state"]).text(), "in_progress");
    let impatient = LinkOptions { connect_ms: 50, reply_ms: 50 };
    let nowhere = RedisKeyStore::open(
        "redis://127.0.0.1:1".parse().unwrap(),
        RedisKeyOptions { link: impatient, ..RedisKeyOptions::default() },
        Arc::new(MachineClock),
    );
    assert!(matches!(nowhere.await.err(), Some(KeyStoreOpenError::Link(_))));
}
