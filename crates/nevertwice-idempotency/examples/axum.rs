//! A service whose charges happen once, however often its clients send them.
//!
//! ```text
//! cargo run -p nevertwice-idempotency --example axum
//! charge() { curl -si http://127.0.0.1:8080/charges -H 'Authorization: Bearer ann' -H "Idempotency-Key: $1" -H 'Content-Type: application/json' -d '{"amount":500}'; }
//! charge order-17; charge order-17   # the second one is the first one's answer
//! ```

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, LOCATION};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use nevertwice_idempotency::{Caller, Keys, KeysError, KeysLayer, MemoryStore, Routes};
use serde_json::{Value, json};

/// What was charged so far: the effect that must not happen twice.
#[derive(Clone, Default)]
pub(crate) struct Till {
    charges: Arc<AtomicU64>,
    total: Arc<AtomicU64>,
}

impl Till {
    /// How many charges there were, and what they come to.
    pub(crate) fn figures(&self) -> (u64, u64) {
        (self.charges.load(Ordering::SeqCst), self.total.load(Ordering::SeqCst))
    }
}

async fn charge(State(till): State<Till>, Json(body): Json<Value>) -> Response {
    let Some(amount) = body["amount"].as_u64().filter(|amount| *amount > 0) else {
        return (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({ "error": "an amount is above 0" }))).into_response();
    };
    till.total.fetch_add(amount, Ordering::SeqCst);
    let number = till.charges.fetch_add(1, Ordering::SeqCst) + 1;
    (StatusCode::CREATED, [(LOCATION, format!("/charges/{number}"))], Json(json!({ "charge": number, "amount": amount }))).into_response()
}

async fn tell(State(till): State<Till>) -> Json<Value> {
    let (charges, total) = till.figures();
    Json(json!({ "charges": charges, "total": total }))
}

/// Stands for your authentication: it tells the layer who calls.
async fn authenticate(mut request: Request, next: Next) -> Response {
    let bearer = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let Some(principal) = bearer.map(str::to_owned) else { return StatusCode::UNAUTHORIZED.into_response() };
    request.extensions_mut().insert(Caller { tenant: String::new(), principal });
    next.run(request).await
}

/// The service.
///
/// # Errors
/// As [`Keys::new`].
pub(crate) fn app(till: Till) -> Result<Router, KeysError> {
    let keys = Keys::new(Arc::new(MemoryStore::default()), None, Routes::ietf())?;
    // A guard that is bound to another path than its route guards nothing: this says so when the service starts.
    for warning in keys.check(&[(Method::POST, "/charges")]) {
        eprintln!("warning: {warning}");
    }
    // The layer that is added last sees a request first: authentication, then keys, then the handler.
    Ok(Router::new().route("/charges", post(charge).get(tell)).with_state(till).layer(KeysLayer::new(keys)).layer(from_fn(authenticate)))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app(Till::default())?).await?;
    Ok(())
}
