//! A router with guarded routes, a handler that counts its runs, and a store whose time a test sets.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, Response};
use http_body_util::BodyExt as _;
use nevertwice_api::KeyStore;
use nevertwice_idempotency::{
    Caller, KeyObserver, Keys, KeysLayer, MemoryBounds, MemoryStore, Outcome, Policy, Routes, Secrets, StoreLimits,
};
use tower::ServiceExt as _;

use crate::clock::PausedClock;

pub(crate) type Handled = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;

/// What happened, as the layer told it.
#[derive(Default)]
pub(crate) struct Heard(pub(crate) Mutex<Vec<Outcome>>);

impl KeyObserver for Heard {
    fn ended(&self, _route: &str, outcome: Outcome) {
        self.0.lock().expect("nobody panics with it").push(outcome);
    }
}

#[derive(Clone)]
pub(crate) struct House {
    router: Router,
    runs: Arc<AtomicUsize>,
    pub(crate) heard: Arc<Heard>,
}

pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Told {
    pub(crate) fn code(&self) -> String {
        let problem: serde_json::Value = serde_json::from_slice(&self.body).expect("a problem is JSON");
        assert_eq!(problem["status"], self.status);
        problem["code"].as_str().expect("it has a code").to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("it is text"))
    }

    pub(crate) fn is_replay(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }
}

pub(crate) fn memory() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::with_clock(MemoryBounds::default(), Arc::new(PausedClock::new())))
}

pub(crate) fn respond(status: u16, body: &'static str) -> Response<Body> {
    Response::builder().status(status).body(Body::from(body)).expect("it is a response")
}

impl House {
    pub(crate) fn new(policy: Policy, handler: impl Fn(usize, Request<Body>) -> Handled + Clone + Send + Sync + 'static) -> Self {
        Self::with_store(memory(), Secrets::new([1; 32]), policy, handler)
    }

    /// A handler that answers at once, and always the same.
    pub(crate) fn plain(policy: Policy, status: u16, body: &'static str) -> Self {
        Self::new(policy, move |_, _| Box::pin(async move { respond(status, body) }))
    }

    /// A handler that takes so long.
    pub(crate) fn slow(policy: Policy, seconds: u64) -> Self {
        Self::new(policy, move |_, _| {
            Box::pin(async move {
                tokio::time::sleep(std::time::Duration::from_secs(seconds)).await;
                respond(201, "slow")
            })
        })
    }

    pub(crate) fn with_store(
        store: Arc<dyn KeyStore>,
        secrets: Secrets,
        policy: Policy,
        handler: impl Fn(usize, Request<Body>) -> Handled + Clone + Send + Sync + 'static,
    ) -> Self {
        Self::with_limits(store, secrets, policy, StoreLimits::default(), handler)
    }

    pub(crate) fn with_limits(
        store: Arc<dyn KeyStore>,
        secrets: Secrets,
        policy: Policy,
        limits: StoreLimits,
        handler: impl Fn(usize, Request<Body>) -> Handled + Clone + Send + Sync + 'static,
    ) -> Self {
        let heard = Arc::new(Heard::default());
        let runs = Arc::new(AtomicUsize::new(0));
        let routes = Routes::new().guard(&[Method::POST, Method::PATCH], "/{*rest}", policy);
        let keys = Keys::new(store, Some(secrets), routes).expect("the policy is one").with_store_limits(limits);
        let keys =
            keys.with_clock(Arc::new(PausedClock::new())).with_observer(heard.clone()).with_identity(|parts: &http::request::Parts| {
                let user = parts.headers.get("user")?.to_str().ok()?;
                let (tenant, principal) = user.split_once('/').unwrap_or(("", user));
                Some(Caller { tenant: tenant.to_owned(), principal: principal.to_owned() })
            });
        let counted = runs.clone();
        let router = Router::new()
            .fallback(move |request: Request<Body>| handler(counted.fetch_add(1, Ordering::SeqCst) + 1, request))
            .layer(KeysLayer::new(keys));
        Self { router, runs, heard }
    }

    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// The answer to a request, with its body unread.
    pub(crate) async fn response(&self, request: Request<Body>) -> Response<Body> {
        self.router.clone().oneshot(request).await.expect("a router does not fail")
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Told {
        let (head, body) = self.response(request).await.into_parts();
        let body = body.collect().await.expect("the body is whole").to_bytes().to_vec();
        Told { status: head.status.as_u16(), headers: head.headers, body }
    }

    pub(crate) async fn post(&self, key: &str, body: &str) -> Told {
        self.send(post("/charges", key, body)).await
    }

    pub(crate) fn spawn(&self, key: &str, body: &str) -> tokio::task::JoinHandle<Told> {
        let (house, request) = (self.clone(), post("/charges", key, body));
        tokio::spawn(async move { house.send(request).await })
    }
}

pub(crate) fn post(path: &str, key: &str, body: &str) -> Request<Body> {
    request(path, &[("user", "ann"), ("idempotency-key", key), ("content-type", "application/json")], body)
}

pub(crate) fn request(path: &str, headers: &[(&str, &str)], body: &str) -> Request<Body> {
    let mut request = Request::builder().method("POST").uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::from(body.to_owned())).expect("it is a request")
}
