//! Carries messages to webhooks over HTTP, signed by Standard Webhooks.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use nevertwice_api::BoxFuture;
use nevertwice_ledger::publisher::{Courier, Delivery, Undelivered, WebhookSecret};
use nevertwice_server::Poster;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// What the clock shows, in milliseconds since 1970.
pub(super) type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Carries messages by POST. A status of 2xx says that one was taken; `410` that none ever will be; any other, or none in time, that it is
/// to be tried again. A redirect is not followed: the secret was shared with one address.
pub(super) struct WebhookCourier {
    routes: BTreeMap<String, Arc<Route>>,
    clock: Clock,
}

/// The way to one endpoint.
pub(super) struct Route {
    poster: Mutex<Poster>,
    secret: WebhookSecret,
    time: Duration,
}

impl fmt::Debug for WebhookCourier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookCourier").field("endpoints", &self.routes.keys()).finish_non_exhaustive()
    }
}

impl Route {
    pub(super) fn new(poster: Poster, secret: WebhookSecret, timeout_ms: u64) -> Self {
        Self { poster: Mutex::new(poster), secret, time: Duration::from_millis(timeout_ms) }
    }

    async fn post(&self, delivery: Delivery, now_s: i64) -> Result<(), Undelivered> {
        let signed = self.secret.headers(&delivery, now_s);
        let seq = delivery.seq.to_string();
        let mut headers = vec![
            ("content-type", "application/json"),
            ("user-agent", concat!("nevertwice/", env!("CARGO_PKG_VERSION"))),
            ("nevertwice-stream", &delivery.stream[..]),
            ("nevertwice-seq", &seq[..]),
            ("nevertwice-kind", &delivery.kind[..]),
        ];
        headers.extend(signed.iter().map(|(name, value)| (*name, &value[..])));
        let posted = self.poster.lock().await.post(&headers, delivery.payload.clone().into()).await;
        let (status, headers) = posted.map_err(|error| undelivered(error.to_string()))?;
        if status.is_success() {
            return Ok(());
        }
        let is_final = status == StatusCode::GONE;
        Err(Undelivered { what: format!("status {}", status.as_u16()), is_final, after_ms: after_ms(&headers) })
    }
}

impl WebhookCourier {
    /// A courier on these ways; signatures carry the clock's seconds.
    pub(super) const fn new(routes: BTreeMap<String, Arc<Route>>, clock: Clock) -> Self {
        Self { routes, clock }
    }
}

impl Courier for WebhookCourier {
    fn carry(&self, endpoint: &str, delivery: Delivery) -> BoxFuture<'static, Result<(), Undelivered>> {
        let now_s = (self.clock)().div_euclid(1_000);
        let route = self.routes.get(endpoint).cloned();
        Box::pin(async move {
            let Some(route) = route else { return Err(undelivered("nobody knows the endpoint")) };
            match timeout(route.time, route.post(delivery, now_s)).await {
                Ok(answered) => answered,
                Err(_) => Err(undelivered(format!("no answer within {} ms", route.time.as_millis()))),
            }
        })
    }
}

fn undelivered(what: impl Into<String>) -> Undelivered {
    Undelivered { what: what.into(), is_final: false, after_ms: None }
}

/// `Retry-After` in seconds; a date there is not waited for.
fn after_ms(headers: &HeaderMap) -> Option<i64> {
    let seconds: i64 = headers.get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    seconds.checked_mul(1_000).filter(|ms| *ms >= 0)
}
