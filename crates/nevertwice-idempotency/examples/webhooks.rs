//! A consumer of webhooks that handles each event once. The headers are those of Standard Webhooks: `webhook-id` is the same in every
//! attempt to deliver one event, and so it is the event's idempotency key.
//!
//! ```text
//! WEBHOOK_SECRET=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw cargo run -p nevertwice-idempotency --example webhooks
//! ```

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use data_encoding::BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use nevertwice_idempotency::{Caller, Keys, KeysError, KeysLayer, MemoryStore, Routes};
use serde_json::Value;
use sha2::Sha256;

/// How far a delivery's time may be from ours, in seconds.
const TOLERANCE_S: i64 = 300;
const BODY_BYTES_MAX: usize = 1 << 20;

/// What tells genuine deliveries from others.
#[derive(Clone)]
pub(crate) struct Sender {
    /// The key that is shared with the sender.
    pub(crate) secret: Vec<u8>,
    /// The clock, in seconds since 1970.
    pub(crate) now_s: fn() -> i64,
}

/// The events that were handled: the effect that must not happen twice.
#[derive(Clone, Default)]
pub(crate) struct Handled(Arc<Mutex<Vec<String>>>);

impl Handled {
    /// Their types, in the order in which they were handled.
    pub(crate) fn types(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn handle(State(handled): State<Handled>, Json(event): Json<Value>) -> StatusCode {
    let Some(kind) = event["type"].as_str() else { return StatusCode::BAD_REQUEST };
    handled.0.lock().unwrap_or_else(PoisonError::into_inner).push(kind.to_owned());
    println!("handled so far: {:?}", handled.types());
    StatusCode::NO_CONTENT
}

/// Lets genuine deliveries through, each under its event's key.
async fn verify(State(sender): State<Sender>, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, BODY_BYTES_MAX).await else { return StatusCode::PAYLOAD_TOO_LARGE.into_response() };
    if !sender.has_signed(&head.headers, &body) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    if let Some(id) = head.headers.get("webhook-id").cloned() {
        head.headers.insert("idempotency-key", id);
    }
    head.extensions.insert(Caller { tenant: String::new(), principal: "webhooks".to_owned() });
    next.run(Request::from_parts(head, Body::from(body))).await
}

impl Sender {
    /// The signature of a delivery: over its id, its time and its body.
    fn mac(&self, id: &str, timestamp: &str, body: &Bytes) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).ok()?;
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        Some(mac)
    }

    /// The value of `webhook-signature`, for whoever sends.
    pub(crate) fn sign(&self, id: &str, timestamp: &str, body: &Bytes) -> String {
        let code = self.mac(id, timestamp, body).map(|mac| mac.finalize().into_bytes()).unwrap_or_default();
        format!("v1,{}", BASE64.encode(&code))
    }

    fn has_signed(&self, headers: &HeaderMap, body: &Bytes) -> bool {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let (id, timestamp) = (text("webhook-id"), text("webhook-timestamp"));
        let is_fresh = timestamp.parse::<i64>().is_ok_and(|sent| (self.now_s)().abs_diff(sent) <= TOLERANCE_S.unsigned_abs());
        // One of several, while the sender changes its key. The comparison takes the same time wherever they differ.
        let is_good = |signature: &str| {
            let code = signature.strip_prefix("v1,").and_then(|code| BASE64.decode(code.as_bytes()).ok());
            code.is_some_and(|code| self.mac(id, timestamp, body).is_some_and(|mac| mac.verify_slice(&code).is_ok()))
        };
        is_fresh && text("webhook-signature").split(' ').any(is_good)
    }
}

/// The consumer.
///
/// # Errors
/// As [`Keys::new`].
pub(crate) fn app(sender: Sender, handled: Handled) -> Result<Router, KeysError> {
    let keys = Keys::new(Arc::new(MemoryStore::default()), None, Routes::ietf())?;
    // A delivery is verified first: an id that anybody could send would let him use up the real one's.
    let app = Router::new().route("/webhooks", post(handle)).with_state(handled);
    Ok(app.layer(KeysLayer::new(keys)).layer(from_fn_with_state(sender, verify)))
}

fn now_s() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_1970.as_secs()).unwrap_or(i64::MAX)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let secret = std::env::var("WEBHOOK_SECRET").map_err(|_| "WEBHOOK_SECRET is not set: whsec_ and the key in base64")?;
    let secret = BASE64.decode(secret.trim_start_matches("whsec_").as_bytes())?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    let address = listener.local_addr()?;
    let sender = Sender { secret, now_s };
    let (id, timestamp, body) = ("msg_1", now_s().to_string(), r#"{"type":"invoice.paid"}"#);
    let signature = sender.sign(id, &timestamp, &Bytes::from_static(body.as_bytes()));
    println!("listening on http://{address}/webhooks; send this once, and again:");
    println!(
        "curl -i {address}/webhooks -H 'webhook-id: {id}' -H 'webhook-timestamp: {timestamp}' -H 'webhook-signature: {signature}' -H 'content-type: application/json' -d '{body}'"
    );
    axum::serve(listener, app(sender, Handled::default())?).await?;
    Ok(())
}
