//! How one attempt goes over the wire.

use std::future::Future;
use std::time::Duration;

use crate::http::{Client, Outcome, Request, Target};

/// Sends one attempt, and says what is known of it. It retries nothing that the server may have seen.
pub trait Transport: Send {
    /// Sends the request and waits for its whole reply, connecting included for no longer than `time_limit`.
    fn send(&mut self, request: &Request, time_limit: Duration) -> impl Future<Output = Outcome> + Send;
}

/// HTTP/1.1 without TLS over one connection, which is kept.
#[derive(Debug)]
pub struct HttpTransport {
    client: Client,
}

impl HttpTransport {
    /// Connects when it first sends.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Self { client: Client::new(target, Duration::MAX) }
    }
}

impl Transport for HttpTransport {
    async fn send(&mut self, request: &Request, time_limit: Duration) -> Outcome {
        self.client.send_within(request, time_limit).await
    }
}
