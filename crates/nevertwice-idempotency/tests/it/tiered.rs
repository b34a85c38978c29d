//! Two stores as one: the suite of all stores, and what becomes of keys when the hot one forgets or is down.

use std::sync::{Arc, Mutex};

use nevertwice_api::{AnswerBytes, BoxFuture, KeyReply, KeyStore, KeyStoreFailure, KeyStoreStatus, Level, Levels, Registered, Swept};
use nevertwice_core::keys::{
    CompleteKey, Completion, KeyId, KeyRecord, KeyRejection, LapsePolicy, Lease, OwnerId, RegisterKey, Registration, ReleaseKey, RenewLease,
};
use nevertwice_idempotency::{MemoryBounds, MemoryStore, TieredStore};
use nevertwice_testkit::key_store::{self, Subject};

use crate::clock::SetClock;

fn memory(records_max: u64, answers_bytes_max: u64, clock: &Arc<SetClock>) -> Arc<MemoryStore> {
    let bounds = MemoryBounds { records_max, answers_bytes_max, answer_bytes_max: 4_096, ..MemoryBounds::default() };
    Arc::new(MemoryStore::with_clock(bounds, clock.clone()))
}

struct Tiers(TieredStore, Arc<SetClock>);

impl Subject for Tiers {
    fn store(&self) -> Arc<dyn KeyStore> {
        Arc::new(self.0.clone())
    }

    fn set_now(&self, at_ms: i64) {
        self.1.set(at_ms);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_are_a_key_store() {
    let mut fresh = |records_max, bytes_max| {
        let clock = Arc::new(SetClock::default());
        let (hot, durable) = (memory(records_max, bytes_max, &clock), memory(records_max, bytes_max, &clock));
        Tiers(TieredStore::new(hot, durable), clock)
    };
    assert_eq!(key_store::run(&mut fresh).await, 8_571);
}

/// A store that forgets everything when it is told to, or is down.
#[derive(Clone)]
struct Forgetful {
    now: Arc<Mutex<Option<Arc<MemoryStore>>>>,
    clock: Arc<SetClock>,
}

impl Forgetful {
    fn new(clock: &Arc<SetClock>) -> Self {
        let forgetful = Self { now: Arc::default(), clock: clock.clone() };
        forgetful.flush();
        forgetful
    }

    fn flush(&self) {
        *self.now.lock().expect("nobody panics with it") = Some(memory(1_000, 1 << 20, &self.clock));
    }

    fn fail(&self) {
        *self.now.lock().expect("nobody panics with it") = None;
    }

    fn ask<T: Send + 'static>(
        &self,
        asked: impl FnOnce(&MemoryStore) -> BoxFuture<'static, Result<T, KeyStoreFailure>>,
    ) -> BoxFuture<'static, Result<T, KeyStoreFailure>> {
        match &*self.now.lock().expect("nobody panics with it") {
            Some(store) => asked(store),
            None => Box::pin(std::future::ready(Err(KeyStoreFailure::Unavailable))),
        }
    }
}

impl KeyStore for Forgetful {
    fn name(&self) -> &'static str {
        "forgetful"
    }
    fn offers(&self) -> Levels {
        Levels::reached(Level::Decided)
    }
    fn outlives_process(&self) -> bool {
        false
    }
    fn answer_bytes_max(&self) -> u64 {
        4_096
    }
    fn register(
        &self,
        id: KeyId,
        command: RegisterKey,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Registered>, KeyStoreFailure>> {
        self.ask(|store| store.register(id, command, levels))
    }
    fn complete(
        &self,
        id: KeyId,
        command: CompleteKey,
        bytes: AnswerBytes,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Completion>, KeyStoreFailure>> {
        self.ask(|store| store.complete(id, command, bytes, levels))
    }
    fn renew(&self, id: KeyId, command: RenewLease) -> BoxFuture<'static, Result<KeyReply<Lease>, KeyStoreFailure>> {
        self.ask(|store| store.renew(id, command))
    }
    fn release(&self, id: KeyId, command: ReleaseKey, levels: Levels) -> BoxFuture<'static, Result<KeyReply<()>, KeyStoreFailure>> {
        self.ask(|store| store.release(id, command, levels))
    }
    fn inspect(&self, id: KeyId) -> BoxFuture<'static, Result<Option<KeyRecord>, KeyStoreFailure>> {
        self.ask(|store| store.inspect(id))
    }
    fn sweep(&self, records_max: usize) -> BoxFuture<'static, Result<Swept, KeyStoreFailure>> {
        self.ask(|store| store.sweep(records_max))
    }
    fn status(&self) -> KeyStoreStatus {
        KeyStoreStatus::default()
    }
}

const ID: KeyId = KeyId([5; 32]);
const T0: i64 = 1_790_000_000_000;

fn register(attempt: u8) -> RegisterKey {
    let lapse = LapsePolicy::Refuse;
    RegisterKey { fingerprint: [7; 32], owner: OwnerId([attempt; 32]), lease_ms: 60_000, retention_ms: 3_600_000, expires_at: None, lapse }
}

fn set_up() -> (TieredStore, Forgetful, Arc<SetClock>) {
    let clock = Arc::new(SetClock::default());
    clock.set(T0);
    let hot = Forgetful::new(&clock);
    (TieredStore::new(Arc::new(hot.clone()), memory(1_000, 1 << 20, &clock)), hot, clock)
}

async fn told(store: &TieredStore, attempt: u8) -> Result<Registered, KeyRejection> {
    store.register(ID, register(attempt), Levels::NONE).await.expect("it answers").reply
}

async fn claimed(store: &TieredStore, attempt: u8) -> u64 {
    match told(store, attempt).await.expect("it is free").registration {
        Registration::Fresh(lease) => lease.generation,
        other => panic!("it is fresh: {other:?}"),
    }
}

async fn completed(store: &TieredStore, attempt: u8, generation: u64) -> AnswerBytes {
    let bytes = AnswerBytes { head: vec![0, 0].into(), body: vec![b'x'; 10].into() };
    let command = CompleteKey { owner: OwnerId([attempt; 32]), generation, answer: bytes.describe(201) };
    let told = store.complete(ID, command, bytes.clone(), Levels::NONE).await.expect("it answers");
    assert_eq!(told.reply, Ok(Completion::Kept));
    bytes
}

#[tokio::test]
async fn a_hot_store_that_forgets_in_the_middle_of_a_handler_doubles_nothing() {
    let (store, hot, clock) = set_up();
    let generation = claimed(&store, 1).await;
    hot.flush();
    assert!(matches!(told(&store, 2).await, Err(KeyRejection::KeyInProgress { .. })), "the durable store knows that somebody is at work");
    // The owner's heartbeat goes on, although the hot store has never heard of it.
    clock.set(T0 + 30_000);
    let renewal = RenewLease { owner: OwnerId([1; 32]), generation, lease_ms: 60_000 };
    store.renew(ID, renewal).await.expect("it answers").reply.expect("it is its owner's");
    clock.set(T0 + 70_000);
    hot.flush();
    assert!(matches!(told(&store, 3).await, Err(KeyRejection::KeyInProgress { .. })), "the renewal counts");
    let bytes = completed(&store, 1, generation).await;
    for attempt in 4..8 {
        let told = told(&store, attempt).await.expect("it is known");
        assert!(matches!(told.registration, Registration::Replay { .. }), "{told:?}");
        assert_eq!(told.bytes, bytes);
        hot.flush();
    }
}

#[tokio::test]
async fn a_hot_store_that_is_down_costs_nothing_but_time() {
    let (store, hot, _clock) = set_up();
    hot.fail();
    let generation = claimed(&store, 1).await;
    assert!(matches!(told(&store, 2).await, Err(KeyRejection::KeyInProgress { .. })));
    hot.flush();
    let bytes = completed(&store, 1, generation).await;
    hot.fail();
    assert_eq!(told(&store, 3).await.expect("it is known").bytes, bytes);
}

#[tokio::test]
async fn a_claim_that_the_durable_store_refuses_is_not_left_in_the_hot_one() {
    let (store, hot, _clock) = set_up();
    let generation = claimed(&store, 1).await;
    completed(&store, 1, generation).await;
    hot.flush();
    let other = RegisterKey { fingerprint: [8; 32], ..register(2) };
    let refused = store.register(ID, other, Levels::NONE).await.expect("it answers").reply;
    assert!(matches!(refused, Err(KeyRejection::FingerprintMismatch { .. })), "{refused:?}");
    assert!(matches!(told(&store, 3).await.expect("it is known").registration, Registration::Replay { .. }));
}

#[tokio::test]
async fn an_answer_that_the_hot_store_has_is_told_without_the_durable_one() {
    let (store, hot, _clock) = set_up();
    let generation = claimed(&store, 1).await;
    let bytes = completed(&store, 1, generation).await;
    let told = hot.register(ID, register(2), Levels::NONE).await.expect("it answers").reply.expect("it is known");
    assert!(matches!(told.registration, Registration::Replay { .. }));
    assert_eq!(told.bytes, bytes);
}
