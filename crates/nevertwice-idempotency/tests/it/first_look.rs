//! Keys, who calls, mismatches, and what a duplicate hears.

use std::time::Duration;

use nevertwice_idempotency::{Outcome, Policy, Scope};
use tokio::time::sleep;

use crate::clock::T0;
use crate::house::{House, post, request};

#[tokio::test(start_paused = true)]
async fn a_retry_gets_the_first_answer_and_the_handler_runs_once() {
    let house = House::plain(Policy::ietf(), 201, "charged");
    let first = house.post("k", "{}").await;
    let again = house.post("\"k\"", "{ }").await;
    assert_eq!((first.status, first.is_replay()), (201, false));
    assert_eq!((again.status, again.is_replay(), &again.body), (201, true, &first.body), "quoted and bare are one key");
    assert_eq!(again.header("access-control-expose-headers"), Some("idempotent-replayed"));
    assert_eq!(house.runs(), 1);
    assert_eq!(*house.heard.0.lock().expect("nobody panics with it"), [Outcome::Fresh, Outcome::Replay]);
}

#[tokio::test(start_paused = true)]
async fn a_key_is_demanded_and_must_be_one() {
    let house = House::plain(Policy::ietf(), 201, "charged");
    let missing = house.send(request("/charges", &[("user", "ann")], "{}")).await;
    assert_eq!((missing.status, missing.code().as_str()), (400, "idempotency_key_missing"));
    let long = "k".repeat(256);
    for key in ["", "a b", "a, b", "\"a", "\"a\"x", ".", "\"..\"", long.as_str()] {
        let told = house.post(key, "{}").await;
        assert_eq!((told.status, told.code().as_str()), (400, "idempotency_key_invalid"), "{key}");
    }
    let twice = request("/charges", &[("user", "ann"), ("idempotency-key", "a"), ("idempotency-key", "a")], "{}");
    assert_eq!(house.send(twice).await.code(), "idempotency_key_invalid");
    assert_eq!(house.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_optional_key_may_be_missing_and_unguarded_methods_pass() {
    let house = House::plain(Policy { required: false, ..Policy::ietf() }, 201, "charged");
    for _ in 0..2 {
        assert_eq!(house.send(request("/charges", &[], "{}")).await.status, 201);
    }
    let get = http::Request::get("/charges").body(axum::body::Body::empty()).expect("it is a request");
    assert_eq!(house.send(get).await.status, 201);
    assert_eq!(house.runs(), 3);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_not_somebody() {
    let house = House::plain(Policy::ietf(), 201, "charged");
    let told = house.send(request("/charges", &[("idempotency-key", "k")], "{}")).await;
    assert_eq!((told.status, told.code().as_str()), (401, "credentials_missing"));
    let house = House::plain(Policy { anonymous_shares: true, ..Policy::ietf() }, 201, "charged");
    assert_eq!(house.send(request("/charges", &[("idempotency-key", "k")], "{}")).await.status, 201);
}

#[tokio::test(start_paused = true)]
async fn another_tenant_or_principal_with_the_same_key_is_another_key() {
    let house = House::plain(Policy::ietf(), 201, "charged");
    for user in ["ann", "bob", "shop/ann", "shop/a", "sho/pa"] {
        let told = house.send(request("/charges", &[("user", user), ("idempotency-key", "k")], "{}")).await;
        assert!(!told.is_replay(), "{user} sees another's answer");
    }
    assert_eq!(house.runs(), 5);
}

#[tokio::test(start_paused = true)]
async fn the_same_key_at_another_path_is_a_mismatch_or_another_key_by_scope() {
    let house = House::plain(Policy::ietf(), 201, "charged");
    house.send(post("/charges", "k", "{}")).await;
    for path in ["/refunds", "/charges?dry=1"] {
        let told = house.send(post(path, "k", "{}")).await;
        assert_eq!((told.status, told.code().as_str()), (422, "fingerprint_mismatch"), "{path}");
    }
    let house = House::plain(Policy { scope: Scope::Route, ..Policy::ietf() }, 201, "charged");
    house.send(post("/charges", "k", "{}")).await;
    assert!(!house.send(post("/refunds", "k", "{}")).await.is_replay());
    assert_eq!(house.runs(), 2);
}

#[tokio::test(start_paused = true)]
async fn another_spelling_of_a_path_is_no_other_key() {
    let house = House::plain(Policy { scope: Scope::Route, ..Policy::ietf() }, 201, "charged");
    for path in ["/r/a", "/r//a", "/r/./a", "/r/%61", "/r/b/../a", "//r/a", "/r/a/"] {
        house.send(post(path, "k", "{}")).await;
    }
    assert_eq!(house.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn another_body_while_the_first_runs_is_a_mismatch_and_not_in_progress() {
    for wait_ms in [0, 30_000] {
        let house = House::slow(Policy { wait_ms, ..Policy::ietf() }, 10);
        let first = house.spawn("k", "{}");
        sleep(Duration::from_secs(1)).await;
        let told = house.post("k", "{\"other\":1}").await;
        assert_eq!((told.status, told.code().as_str()), (422, "fingerprint_mismatch"));
        assert!(!first.is_finished(), "it was told at once");
        assert_eq!(first.await.expect("it answers").status, 201);
    }
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_is_told_what_is_left_of_the_lease() {
    let house = House::slow(Policy::ietf(), 30);
    let first = house.spawn("k", "{}");
    sleep(Duration::from_secs(15)).await;
    let told = house.post("k", "{}").await;
    assert_eq!((told.status, told.code().as_str(), told.header("retry-after")), (409, "key_in_progress", Some("45")));
    assert_eq!(first.await.expect("it answers").status, 201);
    assert!(house.post("k", "{}").await.is_replay());
    assert_eq!(house.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn duplicates_attach_to_the_running_call_and_are_woken() {
    let house = House::slow(Policy { wait_ms: 20_000, ..Policy::ietf() }, 10);
    let start = tokio::time::Instant::now();
    let calls: Vec<_> = (0..1_000).map(|_| house.spawn("k", "{}")).collect();
    let mut replays = 0;
    for call in calls {
        let told = call.await.expect("it answers");
        assert_eq!(told.status, 201);
        replays += usize::from(told.is_replay());
    }
    assert_eq!((house.runs(), replays), (1, 999));
    assert!(start.elapsed() < Duration::from_secs(11), "they were woken, and did not wait out their time");
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_bounded() {
    let house = House::slow(Policy { wait_ms: 5_000, ..Policy::ietf() }, 30);
    let first = house.spawn("k", "{}");
    sleep(Duration::from_secs(1)).await;
    let start = tokio::time::Instant::now();
    let told = house.post("k", "{}").await;
    assert_eq!(told.status, 409);
    assert_eq!(start.elapsed().as_secs(), 5);
    drop(first);
}

#[tokio::test]
async fn of_many_duplicates_at_once_one_runs() {
    let house = House::plain(Policy::ietf(), 201, "charged");
    let calls: Vec<_> = (0..2_000).map(|_| house.spawn("k", "{}")).collect();
    for call in calls {
        assert!(matches!(call.await.expect("it answers").status, 201 | 409));
    }
    assert_eq!(house.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_comes_after_its_own_time_does_not_run() {
    let house = House::plain(Policy { refuse_old_keys: true, ..Policy::ietf() }, 201, "charged");
    let at = |instant: i64| {
        let instant = instant.to_string();
        request("/charges", &[("user", "ann"), ("idempotency-key", "k"), ("idempotency-expires", &instant)], "{}")
    };
    assert_eq!(house.send(at(T0)).await.code(), "intent_expired");
    assert_eq!(house.send(at(T0 + 2 * 86_400_000)).await.code(), "intent_expiry_too_far");
    let bad = request("/charges", &[("user", "ann"), ("idempotency-key", "k"), ("idempotency-expires", "soon")], "{}");
    assert_eq!(house.send(bad).await.code(), "intent_expires_invalid");
    // A UUIDv7 and a ULID of 2022, and a UUIDv4, which carries no time.
    for (key, code) in [("017f22e2-79b0-7cc3-98c4-dc0c0c07398f", 410), ("01FWHE4YDGFK1SHH6W1G60EECF", 410)] {
        assert_eq!(house.post(key, "{}").await.status, code, "{key}");
    }
    assert_eq!(house.runs(), 0);
    assert_eq!(house.post("8e03978e-40d5-43e8-bc93-6894a57f9324", "{}").await.status, 201);
}

#[tokio::test(start_paused = true)]
async fn bodies_are_bounded_in_bytes() {
    let house = House::plain(Policy { request_bytes_max: 10, ..Policy::ietf() }, 201, "charged");
    assert_eq!(house.post("k", "\"12345678901\"").await.code(), "body_too_large");
    assert_eq!(house.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn presets_answer_with_their_own_statuses() {
    for (policy, status) in [(Policy::ietf(), 422), (Policy::stripe(), 400), (Policy::ucp(), 409)] {
        let house = House::plain(policy, 201, "charged");
        house.post("k", "{}").await;
        assert_eq!(house.post("k", "[]").await.status, status);
    }
}
