//! Faults that people reported of other implementations and that no other test here is named for; `docs/keys-proof.md` has them all.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use http_body_util::channel::Channel;
use nevertwice_core::keys::LapsePolicy;
use nevertwice_idempotency::{MemoryBounds, MemoryStore, Outcome, Policy, Scope, Secrets};
use tokio::time::sleep;

use crate::clock::{SetClock, T0};
use crate::house::{Handled, House, post, request, respond};

#[tokio::test(start_paused = true)]
async fn a_replaced_owner_frees_nothing() {
    // The first run outlives its lease, and then finds that nothing has happened.
    let policy = Policy { heartbeat_ms_max: 1, lapse: LapsePolicy::Rerun, ..Policy::ietf() };
    let house = House::new(policy, |run, _| {
        Box::pin(async move {
            sleep(Duration::from_secs(if run == 1 { 600 } else { 900 })).await;
            respond(if run == 1 { 429 } else { 201 }, "body")
        })
    });
    let first = house.spawn("k", "{}");
    sleep(Duration::from_secs(590)).await;
    let second = house.spawn("k", "{}");
    assert_eq!(first.await.expect("it answers").status, 429);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(house.post("k", "{}").await.code(), "key_in_progress", "the second one's claim stands");
    assert_eq!(second.await.expect("it answers").status, 201);
    assert!(house.post("k", "{}").await.is_replay());
    assert_eq!(house.runs(), 2);
}

/// A body that breaks off.
fn broken() -> Response<Body> {
    let (sender, body) = Channel::<bytes::Bytes, std::io::Error>::new(1);
    sender.abort(std::io::Error::other("it breaks off"));
    Response::new(Body::new(body))
}

#[tokio::test(start_paused = true)]
async fn every_way_out_of_a_handler_settles_the_key() {
    type Way = fn() -> Handled;
    let ways: [(Way, Outcome, u16); 8] = [
        (|| Box::pin(async { respond(200, "text") }), Outcome::Fresh, 200),
        (|| Box::pin(async { respond(204, "") }), Outcome::Fresh, 204),
        (|| Box::pin(async { respond(422, "no") }), Outcome::Fresh, 422),
        (|| Box::pin(async { respond(429, "later") }), Outcome::Freed, 429),
        (|| Box::pin(async { respond(500, "oh") }), Outcome::Unknown, 503),
        (|| Box::pin(async { panic!("the handler dies, as planned") }), Outcome::Unknown, 503),
        (|| Box::pin(async { broken() }), Outcome::Unknown, 503),
        (
            || {
                Box::pin(async {
                    let events = Response::builder().header("content-type", "text/event-stream");
                    events.body(Body::from("data: 1\n\n")).expect("it is a response")
                })
            },
            Outcome::Tombstone,
            409,
        ),
    ];
    for (number, (way, outcome, again)) in ways.into_iter().enumerate() {
        let house = House::new(Policy::ietf(), move |_, _| way());
        house.post("k", "{}").await;
        assert_eq!(house.heard.0.lock().expect("nobody panics with it").last(), Some(&outcome), "way {number}");
        // Not in progress: neither for a lease, nor for a retention.
        assert_eq!(house.post("k", "{}").await.status, again, "way {number}");
    }
}

#[tokio::test(start_paused = true)]
async fn another_path_while_the_first_runs_is_a_mismatch_or_another_key_by_scope() {
    for (scope, status) in [(Scope::Principal, 422), (Scope::Route, 201)] {
        let house = House::slow(Policy { scope, ..Policy::ietf() }, 10);
        let first = house.spawn("k", "{}");
        sleep(Duration::from_secs(1)).await;
        assert_eq!(house.send(post("/refunds", "k", "{}")).await.status, status);
        assert_eq!(first.await.expect("it answers").status, 201);
    }
}

#[tokio::test(start_paused = true)]
async fn an_intended_503_is_replayed_as_it_was() {
    let house = House::new(Policy { store_5xx: true, ..Policy::ietf() }, |_, _| {
        Box::pin(async {
            let closed = Response::builder().status(503).header("content-type", "application/json; charset=utf-8");
            closed.body(Body::from(r#"{"closed":"for good"}"#)).expect("it is a response")
        })
    });
    let (first, again) = (house.post("k", "{}").await, house.post("k", "{}").await);
    assert_eq!((again.status, again.is_replay(), &again.body), (503, true, &first.body));
    assert_eq!(again.header("content-type"), Some("application/json; charset=utf-8"));
}

#[tokio::test(start_paused = true)]
async fn an_equal_body_under_another_key_is_another_intent() {
    let house = House::slow(Policy::ietf(), 10);
    let calls = [house.spawn("a", "{}"), house.spawn("b", "{}")];
    for call in calls {
        let told = call.await.expect("it answers");
        assert_eq!((told.status, told.is_replay()), (201, false));
    }
    assert_eq!(house.runs(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_breaks_off_or_never_ends_claims_nothing() {
    let house = House::plain(Policy { request_ms_max: 1_000, ..Policy::ietf() }, 201, "charged");
    let with = |body: Body| request("/charges", &[("user", "ann"), ("idempotency-key", "k")], "").map(|_| body);
    let (sender, breaks) = Channel::<bytes::Bytes, std::io::Error>::new(1);
    sender.abort(std::io::Error::other("it breaks off"));
    let told = house.send(with(Body::new(breaks))).await;
    assert_eq!((told.status, told.code().as_str()), (400, "body_malformed"));
    let (_open, never_ends) = Channel::<bytes::Bytes, std::io::Error>::new(1);
    let told = house.send(with(Body::new(never_ends))).await;
    assert_eq!((told.status, told.code().as_str()), (408, "request_timeout"));
    assert_eq!(house.runs(), 0);
    assert_eq!(house.post("k", "{}").await.status, 201, "the key is as it was");
}

#[tokio::test(start_paused = true)]
async fn a_request_in_pieces_is_the_one_with_its_length() {
    let house = House::new(Policy::ietf(), |_, request: Request<Body>| {
        Box::pin(async move {
            let read = axum::body::to_bytes(request.into_body(), 1 << 20).await.expect("it is whole");
            Response::new(Body::from(read))
        })
    });
    let (mut sender, pieces) = Channel::<bytes::Bytes, std::io::Error>::new(1);
    tokio::spawn(async move {
        for piece in ["{\"a\"", ":1", "}"] {
            sender.send_data(bytes::Bytes::from_static(piece.as_bytes())).await.expect("somebody reads");
        }
    });
    let told = house.send(post("/charges", "k", "").map(|_| Body::new(pieces))).await;
    assert_eq!((told.status, told.body.as_slice()), (200, &b"{\"a\":1}"[..]));
    assert!(house.post("k", "{\"a\":1}").await.is_replay());
    assert_eq!(house.post("k", "{\"a\":2}").await.code(), "fingerprint_mismatch");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_died_leaves_a_key_that_lapses_with_its_lease() {
    // The process is one runtime here: it ends with everything that ran in it, heartbeats too.
    let clock = Arc::new(SetClock::default());
    clock.set(T0);
    let store = Arc::new(MemoryStore::with_clock(MemoryBounds::default(), clock.clone()));
    let secrets = || Secrets::new([1; 32]);
    let died = {
        let store = store.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
            runtime.block_on(async {
                let house = House::with_store(store, secrets(), Policy::ietf(), |_, _| Box::pin(std::future::pending()));
                let call = house.spawn("k", "{}");
                while house.runs() == 0 {
                    tokio::task::yield_now().await;
                }
                drop(call);
            });
        })
    };
    died.join().expect("it dies in order");
    let house = House::with_store(store, secrets(), Policy { lapse: LapsePolicy::Rerun, ..Policy::ietf() }, |_, _| {
        Box::pin(async { respond(201, "charged") })
    });
    let told = house.post("k", "{}").await;
    assert_eq!((told.code().as_str(), told.header("retry-after")), ("key_in_progress", Some("60")));
    clock.set(T0 + 60_000);
    assert_eq!(house.post("k", "{}").await.status, 201);
    assert!(house.post("k", "{}").await.is_replay());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_there_is_never_told_as_running() {
    // What waits for a running call in this process must not take one that has ended for it.
    for wait_ms in [0, 20_000] {
        let house = House::plain(Policy { wait_ms, ..Policy::ietf() }, 201, "charged");
        assert_eq!(house.post("k", "{}").await.status, 201);
        let start = tokio::time::Instant::now();
        let calls: Vec<_> = (0..200).map(|_| house.spawn("k", "{}")).collect();
        for call in calls {
            assert!(call.await.expect("it answers").is_replay());
        }
        assert_eq!((house.runs(), start.elapsed()), (1, Duration::ZERO), "nobody waited");
    }
}
