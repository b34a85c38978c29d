//! Keys: made once, kept, never shared, never replaced.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nevertwice_client::http::{self, Request, Target};
use nevertwice_client::{
    Client, ClientError, HttpTransport, IntentOptions, IntentState, IntentStore, MemoryStore, Outcome, Record, Retries, StoreError,
    Transport, UnknownReason,
};
use serde_json::{Value, json};

use crate::scripted::{Script, StoppedClock, in_progress, lines, lost, no, not_sent, post, replay, retries, scripted, with_store, yes};

type Scripted = Client<Script, StoppedClock>;

async fn charge(client: &mut Scripted, options: IntentOptions) -> Outcome {
    let mut intent = client.intent(post("/charges", &json!({"amount": 3})), options).expect("an intent");
    client.send(&mut intent).await.expect("an outcome")
}

fn refused<T: std::fmt::Debug>(code: &str, result: Result<T, ClientError>) {
    let error = result.expect_err("a refusal");
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().contains("Nothing was sent."), "{error}");
}

fn once(settings: &Value) -> Retries {
    Retries { attempts_max: 1, ..retries(settings) }
}

#[tokio::test]
async fn a_retry_that_meets_the_in_flight_409_of_its_own_first_attempt_is_no_error() {
    let (mut client, scene) = scripted(&[lost(), in_progress(), in_progress(), replay()]);
    let Outcome::Done(done) = charge(&mut client, IntentOptions::default()).await else { panic!("done") };
    assert!(done.replayed);
    let mut keys = lines(&scene, "idempotency-key");
    assert_eq!(keys.len(), 4);
    keys.dedup();
    assert_eq!(keys.len(), 1);
    assert!(scene.lock().expect("not poisoned").waits[1..].iter().all(|wait| *wait >= 2_000));
}

#[tokio::test]
async fn a_key_never_leaks_into_the_next_call() {
    let (mut client, scene) = scripted(&[yes(), lost(), replay(), no(), yes()]);
    for _ in 0..3 {
        charge(&mut client, IntentOptions::default()).await;
    }
    charge(&mut client, IntentOptions { key: Some("mine".into()), ..IntentOptions::default() }).await;
    let keys = lines(&scene, "idempotency-key");
    assert_eq!((&keys[1], keys[4].as_str()), (&keys[2], "mine"));
    assert!(keys[0] != keys[1] && keys[1] != keys[3] && keys[0] != keys[3] && keys[3] != keys[4]);
}

#[tokio::test]
async fn a_key_of_the_caller_is_never_overwritten_on_retry() {
    for in_headers in [true, false] {
        let (mut client, scene) = scripted(&[lost(), in_progress(), replay()]);
        let mut request = post("/charges", &json!({}));
        if in_headers {
            request = request.header("IDEMPOTENCY-KEY", "mine");
        }
        let options = IntentOptions { key: (!in_headers).then(|| "mine".into()), ..IntentOptions::default() };
        let mut intent = client.intent(request, options).expect("an intent");
        client.send(&mut intent).await.expect("an outcome");
        assert_eq!(lines(&scene, "idempotency-key"), ["mine"; 3]);
    }
}

#[tokio::test]
async fn outcomes_are_told_by_codes_and_not_by_texts() {
    for detail in ["A request with this key is being worked on", "retry later", ""] {
        let (mut client, _) = scripted(&[json!({"status": 409, "body": {"code": "sale_full", "detail": detail, "title": detail}})]);
        let Outcome::Failed(failed) = charge(&mut client, IntentOptions::default()).await else { panic!("failed") };
        assert_eq!(failed.code, "sale_full");
    }
}

#[test]
fn a_key_for_all_requests_or_two_for_one_are_refused() {
    for name in ["Idempotency-Key", "idempotency-expires"] {
        refused("key_conflict", scripted(&[]).0.with_header(name, "1"));
    }
    let (mut client, _) = scripted(&[]);
    let keyed = |key: &str| IntentOptions { name: Some("cart".into()), key: Some(key.into()), expires_at: None };
    refused("key_conflict", client.intent(post("/x", &json!({})).header("idempotency-key", "a"), keyed("b")));
    client.intent(post("/x", &json!({})), keyed("a")).expect("an intent");
    refused("key_conflict", client.intent(post("/x", &json!({})), keyed("b")));
}

#[test]
fn a_key_that_is_none_is_refused() {
    let (mut client, _) = scripted(&[]);
    let long = "x".repeat(256);
    for key in ["", "a b", "ä", long.as_str(), "a\r\nb"] {
        let options = IntentOptions { key: Some(key.into()), ..IntentOptions::default() };
        refused("key_invalid", client.intent(post("/x", &json!({})), options));
    }
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let (mut client, _) = scripted(&[]);
    let get = Request::get;
    for request in [
        get("no-slash"),
        get("/a b"),
        get("/a\r\nx: y"),
        Request { method: "post", ..get("/") },
        get("/").header("a", "b\r\nc"),
        get("/").header("a b", "c"),
        get("/").header("Principal", "ann").header("principal", "bob"),
        get("/").header("idempotency-key", "a").header("Idempotency-Key", "a"),
        get("/").header("Content-Length", "0"),
        get("/").header("Idempotency-Expires", "1"),
    ] {
        refused("request_invalid", client.intent(request, IntentOptions::default()));
    }
    let late = IntentOptions { expires_at: Some(1 << 53), ..IntentOptions::default() };
    for options in [late, IntentOptions::named(""), IntentOptions::named("x".repeat(1_025))] {
        refused("request_invalid", client.intent(get("/"), options));
    }
    refused("request_invalid", scripted(&[]).0.with_header("a", "\n"));
    let good = Retries::default();
    for bounds in [
        Retries { timeout_ms: 0, ..good },
        Retries { deadline_ms: 0, ..good },
        Retries { attempts_max: 0, ..good },
        Retries { backoff_min_ms: 0, ..good },
        Retries { backoff_min_ms: 2, backoff_max_ms: 1, ..good },
    ] {
        refused("request_invalid", scripted(&[]).0.with_retries(bounds));
    }
}

#[tokio::test]
async fn every_attempt_carries_the_same_expiry_and_the_credentials_of_its_time() {
    let (client, scene) = scripted(&[lost(), lost(), yes()]);
    let mut given = ["a", "b", "c"].into_iter();
    let client = client.with_header("Principal", "web").expect("a line");
    let mut client = client.with_authorization(move || format!("Bearer {}", given.next().expect("one more")));
    charge(&mut client, IntentOptions::default()).await;
    assert_eq!(lines(&scene, "idempotency-expires"), ["1790000060000"; 3]);
    assert_eq!(lines(&scene, "principal"), ["web"; 3]);
    assert_eq!(lines(&scene, "authorization"), ["Bearer a", "Bearer b", "Bearer c"]);
}

#[tokio::test]
async fn a_name_keeps_its_key_and_its_doubt_over_a_restart() {
    for (after, kind) in [(replay(), "done"), (no(), "in doubt")] {
        let store: Arc<dyn IntentStore> = Arc::new(MemoryStore::default());
        let (client, first) = with_store(&[lost()], &store);
        let mut client = client.with_retries(once(&Value::Null)).expect("bounds");
        assert!(matches!(charge(&mut client, IntentOptions::named("cart-81")).await, Outcome::Unknown(_)));
        let (mut client, second) = with_store(&[after], &store);
        match charge(&mut client, IntentOptions::named("cart-81")).await {
            Outcome::Done(done) => assert!(done.replayed && kind == "done"),
            Outcome::Unknown(unknown) => assert!(unknown.reason == UnknownReason::RefusedInDoubt && kind == "in doubt"),
            Outcome::Failed(failed) => panic!("{failed:?}"),
        }
        assert_eq!(first.lock().expect("not poisoned").sent, second.lock().expect("not poisoned").sent);
    }
}

#[tokio::test]
async fn another_body_under_the_same_key_is_refused_here() {
    let (client, scene) = scripted(&[lost()]);
    let mut client = client.with_retries(once(&Value::Null)).expect("bounds");
    charge(&mut client, IntentOptions::named("cart")).await;
    let amount = |amount: u64| json!({"amount": amount});
    for request in [
        post("/charges", &amount(4)),
        post("/other", &amount(3)),
        Request { method: "PUT", ..post("/charges", &amount(3)) },
        post("/charges", &amount(3)).header("principal", "somebody else"),
    ] {
        refused("request_changed", client.intent(request, IntentOptions::named("cart")));
    }
    assert_eq!(scene.lock().expect("not poisoned").sent.len(), 1);
}

#[tokio::test]
async fn a_finished_name_gets_a_new_key_and_an_unfinished_one_does_not() {
    let (mut client, scene) = scripted(&[yes(), replay(), yes()]);
    let cart = |client: &mut Scripted| client.intent(post("/x", &json!({})), IntentOptions::named("cart")).expect("an intent");
    let mut intent = cart(&mut client);
    client.send(&mut intent).await.expect("an outcome");
    let mut again = cart(&mut client);
    client.send(&mut again).await.expect("an outcome");
    client.finish(&intent).expect("finished");
    let mut next = cart(&mut client);
    client.send(&mut next).await.expect("an outcome");
    let keys = lines(&scene, "idempotency-key");
    assert!(keys[0] == keys[1] && keys[0] != keys[2], "{keys:?}");
}

#[tokio::test]
async fn what_is_unknown_is_not_finished_and_outlives_its_expiry() {
    let (client, scene) = scripted(&[lost()]);
    let mut client = client.with_retries(once(&Value::Null)).expect("bounds");
    let cart = |client: &mut Scripted| client.intent(post("/x", &json!({})), IntentOptions::named("cart")).expect("an intent");
    let mut intent = cart(&mut client);
    client.send(&mut intent).await.expect("an outcome");
    refused("still_unknown", client.finish(&intent));
    scene.lock().expect("not poisoned").now_ms = intent.expires_at();
    let mut again = cart(&mut client);
    assert_eq!(again.key(), intent.key());
    let Outcome::Unknown(unknown) = client.send(&mut again).await.expect("an outcome") else { panic!("unknown") };
    assert_eq!((unknown.reason, unknown.attempts), (UnknownReason::Expired, 0));
    assert_eq!(scene.lock().expect("not poisoned").sent.len(), 1);
    client.abandon(&intent).expect("abandoned");
    assert_ne!(cart(&mut client).key(), intent.key());
}

#[tokio::test]
async fn what_has_ended_is_forgotten_at_its_expiry() {
    for step in [yes(), no()] {
        let (mut client, scene) = scripted(&[step]);
        let cart = |client: &mut Scripted| client.intent(post("/x", &json!({})), IntentOptions::named("cart")).expect("an intent");
        let mut intent = cart(&mut client);
        client.send(&mut intent).await.expect("an outcome");
        scene.lock().expect("not poisoned").now_ms = intent.expires_at() - 1;
        assert_eq!(cart(&mut client).key(), intent.key());
        scene.lock().expect("not poisoned").now_ms += 1;
        assert_ne!(cart(&mut client).key(), intent.key());
    }
}

#[tokio::test]
async fn what_has_happened_is_not_taken_back_by_a_later_no() {
    for after in [vec![no()], vec![not_sent(); 5]] {
        let (mut client, _) = scripted(&[vec![yes()], after].concat());
        let mut intent = client.intent(post("/x", &json!({})), IntentOptions::named("cart")).expect("an intent");
        client.send(&mut intent).await.expect("an outcome");
        assert!(matches!(client.send(&mut intent).await.expect("an outcome"), Outcome::Unknown(_)));
        assert_eq!(intent.state(), IntentState::Done);
    }
}

/// Stops writing when it is told to.
struct BrokenStore {
    inner: MemoryStore,
    broken_from: IntentState,
}

impl IntentStore for BrokenStore {
    fn get(&self, name: &str) -> Result<Option<Record>, StoreError> {
        self.inner.get(name)
    }

    fn swap(&self, name: &str, old: Option<&Record>, new: Option<&Record>) -> Result<bool, StoreError> {
        if new.is_some_and(|new| new.state == self.broken_from) {
            return Err(StoreError { why: "the disk is full".into() });
        }
        self.inner.swap(name, old, new)
    }
}

#[tokio::test]
async fn what_cannot_be_kept_is_not_sent() {
    let store: Arc<dyn IntentStore> = Arc::new(BrokenStore { inner: MemoryStore::default(), broken_from: IntentState::Sent });
    let (mut client, scene) = with_store(&[yes()], &store);
    let mut intent = client.intent(post("/x", &json!({})), IntentOptions::named("cart")).expect("an intent");
    refused("store_failed", client.send(&mut intent).await);
    assert_eq!(scene.lock().expect("not poisoned").sent, []);
}

#[tokio::test]
async fn an_outcome_that_cannot_be_kept_is_told_and_the_key_stays() {
    let store: Arc<dyn IntentStore> = Arc::new(BrokenStore { inner: MemoryStore::default(), broken_from: IntentState::Done });
    let (mut client, scene) = with_store(&[yes(), replay()], &store);
    for _ in 0..2 {
        assert!(matches!(charge(&mut client, IntentOptions::named("cart")).await, Outcome::Done(_)));
    }
    let keys = lines(&scene, "idempotency-key");
    assert_eq!(keys[0], keys[1]);
}

#[tokio::test]
async fn a_refusal_beside_another_sender_is_no_refusal() {
    let store: Arc<dyn IntentStore> = Arc::new(MemoryStore::default());
    let (mut client, _) = with_store(&[no()], &store);
    let mut intent = client.intent(post("/x", &json!({})), IntentOptions::named("cart")).expect("an intent");
    // Another has begun, and not ended, when this one is sent.
    let kept = store.get("cart").expect("usable").expect("kept");
    assert_eq!(store.swap("cart", Some(&kept), Some(&Record { state: IntentState::Sent, ..kept.clone() })), Ok(true));
    let Outcome::Unknown(unknown) = client.send(&mut intent).await.expect("an outcome") else { panic!("unknown") };
    assert_eq!(unknown.reason, UnknownReason::RefusedInDoubt);
}

/// A network that is refused to another sender meanwhile, who notes that nothing happened.
struct Beside(Arc<dyn IntentStore>);

impl Transport for Beside {
    async fn send(&mut self, _: &Request, _: Duration) -> http::Outcome {
        let kept = self.0.get("cart").expect("usable").expect("kept");
        let new = Record { state: IntentState::New, ..kept.clone() };
        assert_eq!(self.0.swap("cart", Some(&kept), Some(&new)), Ok(true));
        http::Outcome::Lost
    }
}

#[tokio::test]
async fn a_refusal_of_another_sender_does_not_take_doubt_away() {
    let store: Arc<dyn IntentStore> = Arc::new(MemoryStore::default());
    let mut client = Client::new(Beside(store.clone())).with_store(store.clone()).with_retries(once(&Value::Null)).expect("bounds");
    let mut intent = client.intent(post("/x", &json!({})), IntentOptions::named("cart")).expect("an intent");
    assert!(matches!(client.send(&mut intent).await.expect("an outcome"), Outcome::Unknown(_)));
    assert_eq!(store.get("cart").expect("usable").expect("kept").state, IntentState::Sent);
}

#[tokio::test]
async fn an_intent_that_another_finished_is_not_sent() {
    let (mut client, scene) = scripted(&[]);
    let cart = |client: &mut Scripted| client.intent(post("/x", &json!({})), IntentOptions::named("cart")).expect("an intent");
    let mut intent = cart(&mut client);
    let same = cart(&mut client);
    client.finish(&same).expect("finished");
    refused("key_conflict", client.send(&mut intent).await);
    cart(&mut client);
    refused("key_conflict", client.send(&mut intent).await);
    assert_eq!(scene.lock().expect("not poisoned").sent, []);
}

/// Never answers.
struct Silent(Arc<AtomicBool>);

impl Transport for Silent {
    async fn send(&mut self, _: &Request, _: Duration) -> http::Outcome {
        self.0.store(true, Ordering::SeqCst);
        std::future::pending().await
    }
}

#[tokio::test]
async fn an_attempt_whose_future_is_dropped_leaves_the_intent_in_doubt() {
    let asked = Arc::new(AtomicBool::new(false));
    let mut client = Client::new(Silent(asked.clone()));
    let mut intent = client.intent(post("/x", &json!({})), IntentOptions::default()).expect("an intent");
    tokio::select! {
        biased;
        outcome = client.send(&mut intent) => panic!("{outcome:?}"),
        () = async { assert!(asked.load(Ordering::SeqCst)) } => {}
    }
    assert_eq!(intent.state(), IntentState::Sent);
}

#[tokio::test]
async fn jitter_spreads_a_crowd_and_never_comes_before_retry_after() {
    let mut seen = Vec::new();
    for chance in [0, 64, 128, 255] {
        let (client, scene) = scripted(&[lost(), in_progress(), yes()]);
        let mut client = client.with_chance(Box::new(move |bytes| {
            bytes.fill(chance);
            true
        }));
        charge(&mut client, IntentOptions::default()).await;
        let waits = scene.lock().expect("not poisoned").waits.clone();
        assert!((50..=100).contains(&waits[0]) && (2_000..=2_100).contains(&waits[1]), "{waits:?}");
        assert!(!seen.contains(&waits), "{waits:?}");
        seen.push(waits);
    }
}

#[tokio::test]
async fn without_random_bytes_no_key_is_made() {
    let mut client = scripted(&[yes()]).0.with_chance(Box::new(|_| false));
    refused("chance_failed", client.intent(post("/x", &json!({})), IntentOptions::default()));
    assert!(matches!(charge(&mut client, IntentOptions { key: Some("mine".into()), ..IntentOptions::default() }).await, Outcome::Done(_)));
}

#[tokio::test]
async fn a_server_that_is_not_there_has_done_nothing() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let target = Target::parse(&format!("http://{}", listener.local_addr().expect("an address"))).expect("a target");
    drop(listener);
    let mut client = Client::new(HttpTransport::new(target)).with_retries(once(&Value::Null)).expect("bounds");
    let mut intent = client.intent(post("/x", &json!({})), IntentOptions::default()).expect("an intent");
    let Outcome::Failed(failed) = client.send(&mut intent).await.expect("an outcome") else { panic!("failed") };
    assert_eq!((failed.code.as_str(), intent.state()), ("not_sent", IntentState::New));
}
