//! A store that fails, is slow, or loses its replies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use nevertwice_api::{AnswerBytes, BoxFuture, KeyReply, KeyStore, KeyStoreFailure, KeyStoreStatus, Levels, Registered, ShareBounds, Swept};
use nevertwice_core::keys::LapsePolicy;
use nevertwice_core::keys::{CompleteKey, Completion, KeyId, KeyRecord, Lease, RegisterKey, ReleaseKey, RenewLease};
use nevertwice_idempotency::{AskWhatBecame, Became, MemoryBounds, MemoryStore, Outcome, Policy, Secrets, StoreDown, StoreLimits};

use crate::clock::PausedClock;
use crate::house::{Handled, House, memory, request, respond};

/// How the next operations go wrong.
#[derive(Default)]
struct Faults {
    /// So many registrations happen, and their replies never come.
    registrations_lost: AtomicU32,
    /// So many operations of any kind fail before anything happens.
    down: AtomicU32,
    /// So many completions fail.
    completions_down: AtomicU32,
    asked: AtomicU32,
}

struct Faulty(Arc<MemoryStore>, Arc<Faults>);

fn strikes(count: &AtomicU32) -> bool {
    count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

impl Faulty {
    fn guarded<T: Send + 'static>(
        &self,
        answer: impl FnOnce() -> BoxFuture<'static, Result<T, KeyStoreFailure>>,
    ) -> BoxFuture<'static, Result<T, KeyStoreFailure>> {
        self.1.asked.fetch_add(1, Ordering::SeqCst);
        if strikes(&self.1.down) { Box::pin(std::future::ready(Err(KeyStoreFailure::Unavailable))) } else { answer() }
    }
}

impl KeyStore for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }
    fn offers(&self) -> Levels {
        self.0.offers()
    }
    fn outlives_process(&self) -> bool {
        true
    }
    fn answer_bytes_max(&self) -> u64 {
        self.0.answer_bytes_max()
    }
    fn register(
        &self,
        id: KeyId,
        command: RegisterKey,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Registered>, KeyStoreFailure>> {
        self.guarded(|| {
            let answer = self.0.register(id, command, levels);
            if strikes(&self.1.registrations_lost) { Box::pin(std::future::pending()) } else { answer }
        })
    }
    fn complete(
        &self,
        id: KeyId,
        command: CompleteKey,
        bytes: AnswerBytes,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Completion>, KeyStoreFailure>> {
        if strikes(&self.1.completions_down) {
            return Box::pin(std::future::ready(Err(KeyStoreFailure::Unavailable)));
        }
        self.guarded(|| self.0.complete(id, command, bytes, levels))
    }
    fn renew(&self, id: KeyId, command: RenewLease) -> BoxFuture<'static, Result<KeyReply<Lease>, KeyStoreFailure>> {
        self.guarded(|| self.0.renew(id, command))
    }
    fn release(&self, id: KeyId, command: ReleaseKey, levels: Levels) -> BoxFuture<'static, Result<KeyReply<()>, KeyStoreFailure>> {
        self.guarded(|| self.0.release(id, command, levels))
    }
    fn inspect(&self, id: KeyId) -> BoxFuture<'static, Result<Option<KeyRecord>, KeyStoreFailure>> {
        self.guarded(|| self.0.inspect(id))
    }
    fn sweep(&self, records_max: usize) -> BoxFuture<'static, Result<Swept, KeyStoreFailure>> {
        self.0.sweep(records_max)
    }
    fn status(&self) -> KeyStoreStatus {
        self.0.status()
    }
}

fn handler(_: usize, _: http::Request<axum::body::Body>) -> Handled {
    Box::pin(async { respond(201, "charged") })
}

fn house(policy: Policy) -> (House, Arc<Faults>) {
    let faults = Arc::new(Faults::default());
    (House::with_store(Arc::new(Faulty(memory(), faults.clone())), Secrets::new([1; 32]), policy, handler), faults)
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_reply_was_lost_is_found_again_by_its_owner() {
    let (house, faults) = house(Policy::ietf());
    faults.registrations_lost.store(2, Ordering::SeqCst);
    let told = house.post("k", "{}").await;
    assert_eq!((told.status, house.runs()), (201, 1));
    assert!(house.post("k", "{}").await.is_replay());
}

/// Says that nothing has happened, and counts how often it was asked.
#[derive(Default)]
struct Counts(AtomicU32);

impl AskWhatBecame for Counts {
    fn what_became(&self, _: &http::request::Parts) -> BoxFuture<'static, Became> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Became::Nothing))
    }
}

#[tokio::test(start_paused = true)]
async fn a_take_over_whose_reply_was_lost_still_asks_what_became_of_the_key() {
    let asked = Arc::new(Counts::default());
    let faults = Arc::new(Faults::default());
    let policy = Policy { lapse: LapsePolicy::Ask, ask: Some(asked.clone()), ..Policy::ietf() };
    let store = Arc::new(Faulty(memory(), faults.clone()));
    let handler = |run: usize, _| -> Handled { Box::pin(async move { respond(if run == 1 { 500 } else { 200 }, "body") }) };
    let house = House::with_store(store, Secrets::new([1; 32]), policy, handler);
    assert_eq!(house.post("k", "{}").await.status, 500);
    faults.registrations_lost.store(1, Ordering::SeqCst);
    assert_eq!(house.post("k", "{}").await.status, 200);
    assert_eq!((asked.0.load(Ordering::SeqCst), house.runs()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_refuses_or_lets_through_by_route() {
    for (store_down, status, runs) in [(StoreDown::Closed, 503, 0), (StoreDown::Open, 201, 1)] {
        let (house, faults) = house(Policy { store_down, ..Policy::ietf() });
        faults.down.store(1, Ordering::SeqCst);
        let told = house.post("k", "{}").await;
        assert_eq!((told.status, house.runs()), (status, runs));
        if store_down == StoreDown::Closed {
            assert_eq!((told.code().as_str(), told.header("retry-after")), ("key_store_unavailable", Some("1")));
            assert_eq!(house.post("k", "{}").await.status, 201, "and nothing was left behind");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_store_refuses_new_keys_even_where_one_that_is_down_lets_through() {
    let of_one = ShareBounds { records_max: 9, answers_bytes_max: 9_999 };
    let bounds = MemoryBounds { records_max: 1, of_one, ..MemoryBounds::default() };
    let store = Arc::new(MemoryStore::with_clock(bounds, Arc::new(PausedClock::new())));
    let house = House::with_store(store, Secrets::new([1; 32]), Policy { store_down: StoreDown::Open, ..Policy::ietf() }, handler);
    assert_eq!(house.post("a", "{}").await.status, 201);
    let refused = house.post("b", "{}").await;
    assert_eq!((refused.status, refused.code().as_str(), house.runs()), (503, "keys_full", 1));
    assert!(house.post("a", "{}").await.is_replay());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_keeps_failing_is_left_alone_for_a_while() {
    let (house, faults) = house(Policy::ietf());
    faults.down.store(u32::MAX, Ordering::SeqCst);
    for _ in 0..50 {
        assert_eq!(house.post("k", "{}").await.status, 503);
    }
    assert_eq!(faults.asked.load(Ordering::SeqCst), 5);
    faults.down.store(0, Ordering::SeqCst);
    tokio::time::sleep(std::time::Duration::from_secs(6)).await;
    assert_eq!(house.post("k", "{}").await.status, 201);
}

#[tokio::test(start_paused = true)]
async fn how_patient_the_layer_is_with_its_store_is_a_setting() {
    let (faults, limits) = (Arc::new(Faults::default()), StoreLimits { operation_ms: 10, failures_max: 2, rest_ms: 60_000 });
    let store = Arc::new(Faulty(memory(), faults.clone()));
    let house = House::with_limits(store, Secrets::new([1; 32]), Policy::ietf(), limits, handler);
    faults.registrations_lost.store(1, Ordering::SeqCst);
    let start = tokio::time::Instant::now();
    assert_eq!(house.post("k", "{}").await.status, 201);
    assert!(start.elapsed() < std::time::Duration::from_millis(100), "a reply that is lost is not waited for longer");
    faults.down.store(u32::MAX, Ordering::SeqCst);
    let before = faults.asked.load(Ordering::SeqCst);
    for _ in 0..10 {
        assert_eq!(house.post("other", "{}").await.status, 503);
    }
    assert_eq!(faults.asked.load(Ordering::SeqCst), before + 2);
    faults.down.store(0, Ordering::SeqCst);
    tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    assert_eq!(house.post("other", "{}").await.status, 503, "its rest is not over");
    tokio::time::sleep(std::time::Duration::from_secs(31)).await;
    assert_eq!(house.post("other", "{}").await.status, 201);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_hard_to_keep_is_tried_again() {
    let (house, faults) = house(Policy::ietf());
    faults.completions_down.store(3, Ordering::SeqCst);
    assert_eq!(house.post("k", "{}").await.status, 201);
    assert!(house.post("k", "{}").await.is_replay());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_could_not_be_kept_does_not_free_the_key() {
    let (house, faults) = house(Policy::ietf());
    faults.completions_down.store(u32::MAX, Ordering::SeqCst);
    assert_eq!(house.post("k", "{}").await.status, 201, "the first caller gets what happened");
    tokio::time::sleep(std::time::Duration::from_secs(120)).await;
    assert_eq!(house.post("k", "{}").await.code(), "outcome_unknown");
    assert_eq!(house.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_a_handler_says_of_its_effect_is_taken_off_where_nothing_was_claimed() {
    let says = |_: usize, _: http::Request<axum::body::Body>| -> Handled {
        Box::pin(async {
            let mut response = respond(201, "charged");
            response.headers_mut().insert("idempotency-effect", http::HeaderValue::from_static("done"));
            response
        })
    };
    let faults = Arc::new(Faults::default());
    let policy = Policy { store_down: StoreDown::Open, required: false, ..Policy::ietf() };
    let house = House::with_store(Arc::new(Faulty(memory(), faults.clone())), Secrets::new([1; 32]), policy, says);
    // Without a key, and with a store that is down.
    let without = house.send(request("/charges", &[("user", "ann")], "{}")).await;
    assert_eq!((without.status, without.header("idempotency-effect")), (201, None));
    faults.down.store(u32::MAX, Ordering::SeqCst);
    let open = house.post("k", "{}").await;
    assert_eq!((open.status, open.header("idempotency-effect"), house.runs()), (201, None, 2));
}

#[tokio::test(start_paused = true)]
async fn one_caller_at_its_bound_is_refused_and_others_go_on() {
    let of_one = ShareBounds { records_max: 2, answers_bytes_max: 0 };
    let bounds = MemoryBounds { records_max: 100, of_one, ..MemoryBounds::default() };
    let store = Arc::new(MemoryStore::with_clock(bounds, Arc::new(PausedClock::new())));
    let house = House::with_store(store, Secrets::new([1; 32]), Policy { store_down: StoreDown::Open, ..Policy::ietf() }, handler);
    let ask = async |user: &str, key: &str| house.send(request("/charges", &[("user", user), ("idempotency-key", key)], "{}")).await;
    // A tenant's callers share its bound: customers are held off each other, whoever of them calls.
    for (first, second) in [("ann", "ann"), ("shop/bob", "shop/cid")] {
        assert_eq!((ask(first, "a").await.status, ask(second, "b").await.status), (201, 201));
        let refused = ask(second, "c").await;
        assert_eq!((refused.status, refused.code().as_str(), refused.header("retry-after")), (503, "keys_full", Some("60")));
        assert!(ask(first, "a").await.is_replay());
        let heard = house.heard.0.lock().expect("nobody panics with it").clone();
        assert_eq!(heard[heard.len() - 2], Outcome::PrincipalFull);
    }
    assert_eq!((ask("dora", "a").await.status, ask("other/bob", "a").await.status), (201, 201));
    assert_eq!(house.runs(), 6);
}
