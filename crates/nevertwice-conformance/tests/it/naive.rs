//! Targets that do not keep the contract: each fails by the rules that it breaks, and by these alone of those that are asked.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::IntoResponse as _;
use axum::{Router, body::Bytes};
use nevertwice_conformance::Verdict;

use crate::endpoints::Endpoints;
use crate::serve::{ask, serve};

/// Asks those rules alone.
async fn check(guard: impl FnOnce(Router) -> Router, pass: &[&'static str], fail: &[&'static str]) {
    let endpoints = Endpoints::default();
    let base = serve(guard(endpoints.guarded()).merge(endpoints.control())).await;
    let said = ask(base.clone(), base, "ietf", &[pass, fail].concat()).await;
    let set = |ids: &[&'static str]| ids.iter().copied().collect::<HashSet<_>>();
    assert_eq!(set(&said.with(Verdict::Pass)), set(pass), "{}", said.failures());
    assert_eq!(set(&said.with(Verdict::Fail)), set(fail));
    assert!(!said.tally.is_conformant());
    for line in said.lines.iter().filter(|line| line.verdict == Verdict::Fail) {
        assert!(line.seen != line.expected && line.repeat.iter().all(|command| command.starts_with("curl ")), "{line}");
        assert!(!line.repeat.is_empty(), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_guard_everything_runs_again() {
    let pass = ["endpoint-answers", "endpoint-gate", "endpoint-fails", "endpoint-body", "methods-unguarded", "free-refusals"];
    let fail = [
        "retry-replays",
        "key-missing",
        "key-ill-formed",
        "caller-own-keys",
        "caller-nobody",
        "mismatch",
        "running-refused",
        "running-mismatch",
        "running-many",
        "running-hang-up",
        "replay-bytes",
        "kept-success",
        "unknown-server-errors",
        "unknown-panic",
        "effect-taken-off",
        "expired-unknown",
        "answer-larger",
        "request-larger",
    ];
    check(|guarded| guarded, &pass, &fail).await;
}

/// Remembers that a key came, and nothing else.
async fn set_if_absent(State(seen): State<Arc<Mutex<HashSet<String>>>>, request: Request, next: Next) -> Response<Body> {
    let is_new = |key: &HeaderValue| seen.lock().expect("nobody panics with it").insert(format!("{key:?}"));
    let key = request.headers().get("idempotency-key");
    if request.method() == "POST" && key.is_some_and(|key| !is_new(key)) {
        return StatusCode::CONFLICT.into_response();
    }
    next.run(request).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mark_without_an_answer_can_replay_nothing() {
    let pass = ["endpoint-answers", "methods-unguarded", "key-case"];
    let fail = [
        "retry-replays",
        "key-quoted",
        "caller-own-keys",
        "mismatch",
        "running-mismatch",
        "replay-lines",
        "kept-success",
        "free-refusals",
        "unknown-panic",
        "answer-largest",
    ];
    check(|guarded| guarded.layer(from_fn_with_state(Arc::default(), set_if_absent)), &pass, &fail).await;
}

/// An answer by the text of its key alone.
type Kept = HashMap<String, (StatusCode, HeaderMap, Bytes)>;

/// Keeps answers when they are there, and looks at nothing but the key.
async fn keep_afterwards(State(kept): State<Arc<Mutex<Kept>>>, request: Request, next: Next) -> Response<Body> {
    let Some(key) = request.headers().get("idempotency-key").map(|key| format!("{key:?}")) else { return next.run(request).await };
    if request.method() != "POST" {
        return next.run(request).await;
    }
    let known = kept.lock().expect("nobody panics with it").get(&key).cloned();
    if let Some((status, headers, body)) = known {
        let mut response = (status, headers, body).into_response();
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
        return response;
    }
    let (head, body) = next.run(request).await.into_parts();
    let body = axum::body::to_bytes(body, 16 << 20).await.unwrap_or_default();
    kept.lock().expect("nobody panics with it").insert(key, (head.status, head.headers.clone(), body.clone()));
    Response::from_parts(head, Body::from(body))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_kept_afterwards_by_the_key_alone_replays_too_much_and_too_late() {
    let pass = ["retry-replays", "replay-lines", "replay-bytes", "replay-no-body", "kept-success", "request-chunked"];
    let fail = [
        "key-missing",
        "key-quoted",
        "caller-own-keys",
        "path-mismatch",
        "mismatch",
        "json-numbers",
        "running-refused",
        "running-many",
        "replay-moment",
        "replay-exposed",
        "free-refusals",
        "unknown-server-errors",
        "unknown-panic",
        "answer-larger",
    ];
    check(|guarded| guarded.layer(from_fn_with_state(Arc::default(), keep_afterwards)), &pass, &fail).await;
}
