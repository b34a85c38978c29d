//! The echo endpoints of the conformance suite (`conformance/README.md`): the guarded side and the unguarded one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::{any, post, put};
use axum::{Json, Router};
use data_encoding::BASE64;
use http_body_util::channel::Channel;
use serde_json::{Value, json};
use tokio::sync::watch;

/// The largest body that an endpoint takes.
const BODY_BYTES_MAX: usize = 16 << 20;

/// All endpoints, by name.
#[derive(Clone, Default)]
pub(crate) struct Endpoints(Arc<Mutex<HashMap<String, Arc<Endpoint>>>>);

/// What one endpoint answers, and what has happened to it.
struct Endpoint {
    plan: Value,
    runs: AtomicU64,
    waiting: AtomicU64,
    body_bytes: AtomicU64,
    is_open: watch::Sender<bool>,
}

impl Endpoints {
    fn map(&self) -> MutexGuard<'_, HashMap<String, Arc<Endpoint>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, name: &str) -> Option<Arc<Endpoint>> {
        self.map().get(name).cloned()
    }

    /// The side to put a guard around.
    pub(crate) fn guarded(&self) -> Router {
        Router::new().route("/echo/{name}", any(echo)).route("/echo/{name}/{*rest}", any(echo)).with_state(self.clone())
    }

    /// The side that no guard may see.
    pub(crate) fn control(&self) -> Router {
        Router::new().route("/control/{name}", put(plan).get(state)).route("/control/{name}/open", post(open_gate)).with_state(self.clone())
    }
}

impl Endpoint {
    /// Stands at the gate until it is open.
    async fn wait(&self) {
        let mut is_open = self.is_open.subscribe();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let _opened = is_open.wait_for(|is_open| *is_open).await;
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn plan(State(endpoints): State<Endpoints>, Path(name): Path<String>, Json(plan): Json<Value>) -> StatusCode {
    let (runs, waiting, body_bytes) = Default::default();
    let endpoint = Endpoint { plan, runs, waiting, body_bytes, is_open: watch::Sender::new(false) };
    endpoints.map().insert(name, Arc::new(endpoint));
    StatusCode::NO_CONTENT
}

async fn state(State(endpoints): State<Endpoints>, Path(name): Path<String>) -> Response<Body> {
    let Some(endpoint) = endpoints.find(&name) else { return StatusCode::NOT_FOUND.into_response() };
    let [runs, waiting, body_bytes] = [&endpoint.runs, &endpoint.waiting, &endpoint.body_bytes].map(|figure| figure.load(Ordering::SeqCst));
    Json(json!({ "runs": runs, "waiting": waiting, "body_bytes": body_bytes })).into_response()
}

async fn open_gate(State(endpoints): State<Endpoints>, Path(name): Path<String>) -> StatusCode {
    let Some(endpoint) = endpoints.find(&name) else { return StatusCode::NOT_FOUND };
    endpoint.is_open.send_replace(true);
    StatusCode::NO_CONTENT
}

async fn echo(State(endpoints): State<Endpoints>, Path(path): Path<HashMap<String, String>>, body: Body) -> Response<Body> {
    let endpoint = path.get("name").and_then(|name| endpoints.find(name));
    let Some(endpoint) = endpoint else { return StatusCode::NOT_FOUND.into_response() };
    let Ok(sent) = axum::body::to_bytes(body, BODY_BYTES_MAX).await else { return StatusCode::BAD_REQUEST.into_response() };
    endpoint.body_bytes.store(sent.len() as u64, Ordering::SeqCst);
    endpoint.runs.fetch_add(1, Ordering::SeqCst);
    if endpoint.plan["gate"] == "answer" {
        endpoint.wait().await;
    }
    assert!(endpoint.plan["end"] != "panic", "the handler dies, as planned");
    answer(endpoint)
}

fn answer(endpoint: Arc<Endpoint>) -> Response<Body> {
    let plan = &endpoint.plan;
    let piece = BASE64.decode(plan["body"].as_str().unwrap_or_default().as_bytes()).unwrap_or_default();
    let body = Bytes::from(piece.repeat(plan["repeat"].as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or(1)));
    let mut response = Response::new(Body::empty());
    let status = plan["status"].as_u64().and_then(|status| u16::try_from(status).ok());
    *response.status_mut() = status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or_default();
    for line in plan["headers"].as_array().into_iter().flatten() {
        let name = line[0].as_str().and_then(|name| HeaderName::from_bytes(name.as_bytes()).ok());
        let value = line[1].as_str().and_then(|value| HeaderValue::from_str(value).ok());
        if let (Some(name), Some(value)) = (name, value) {
            response.headers_mut().append(name, value);
        }
    }
    let in_pieces = plan["chunked"] == true;
    if plan["gate"] != "half" && plan["end"] != "break" {
        *response.body_mut() = if in_pieces { halves(endpoint.clone(), body) } else { Body::from(body) };
        return response;
    }
    if !in_pieces {
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    }
    *response.body_mut() = halves(endpoint.clone(), body);
    response
}

/// A body of two halves, with the gate between them, and perhaps without the second.
fn halves(endpoint: Arc<Endpoint>, mut body: Bytes) -> Body {
    let (mut sender, channel) = Channel::<Bytes, &str>::new(1);
    let first = body.split_to(body.len() / 2);
    tokio::spawn(async move {
        // Whoever reads may leave before the end.
        let _sent = sender.send_data(first).await;
        if endpoint.plan["gate"] == "half" {
            endpoint.wait().await;
        }
        if endpoint.plan["end"] == "break" {
            return sender.abort("the body breaks off, as planned");
        }
        let _sent = sender.send_data(body).await;
    });
    Body::new(channel)
}
