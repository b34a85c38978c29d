//! The task that sends spans to the collector.

use std::sync::Arc;

use axum::http::{Method, StatusCode};
use bytes::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message as _;
use tokio::sync::watch;
use tokio::time::{Duration, sleep, timeout};

use super::message;
use super::options::{Options, refuse};
use super::queue::Queue;
use super::recorder::Recorder;
use crate::config::Config;
use crate::error::StartError;
use crate::metrics::Metrics;
use crate::remote::{Ask, Client, Connect};

/// The largest answer of a collector.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// How long is waited before a batch is sent again that the collector could not take for the moment; then it is given up.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];

/// How long at most the server waits at its end for what is still to be sent.
const LAST: Duration = Duration::from_secs(5);

const USER_AGENT: &str = concat!("nevertwice/", env!("CARGO_PKG_VERSION"));

/// The task that sends spans to the collector.
pub(crate) struct Exporter {
    queue: Arc<Queue>,
    metrics: Arc<Metrics>,
    client: Client,
    options: Options,
    /// Whether the last batch was lost: the first one is told, and when it is well again.
    is_failing: bool,
}

/// Why a batch was not taken.
struct NotTaken {
    what: String,
    is_worth_repeating: bool,
}

/// A connection to be to the collector; reads the certificates.
pub(super) fn connect(options: &Options) -> Result<Connect, String> {
    Connect::new(options.endpoint.target.clone(), options.ca.as_deref()).map_err(|error| error.to_string())
}

impl Exporter {
    /// What records requests, and what sends what is left of them; `None` if the configuration names no collector. Nothing is sent yet.
    pub(crate) fn open(config: &Config, metrics: &Arc<Metrics>) -> Result<Option<(Recorder, Self)>, StartError> {
        let Some(options) = Options::of(config).map_err(|wrong| refuse(&wrong))? else { return Ok(None) };
        let client = Client::new(connect(&options).map_err(|wrong| refuse(&wrong))?, None, ANSWER_BYTES_MAX);
        let queue = Arc::new(Queue::new(options.queue_max));
        let recorder = Recorder::new(Arc::clone(&queue), Arc::clone(metrics), options.sample_ratio);
        tracing::info!(collector = %options.endpoint.target, "traces are sent");
        Ok(Some((recorder, Self { queue, metrics: Arc::clone(metrics), client, options, is_failing: false })))
    }

    /// Sends what is there, every so often or when a whole batch is, until told to stop; then what is left.
    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        loop {
            let is_over = tokio::select! {
                _ = stop.wait_for(|stop| *stop) => true,
                () = sleep(self.options.flush) => false,
                () = self.queue.whole_batch() => false,
            };
            if is_over {
                break;
            }
            self.send_one(&mut stop).await;
        }
        let queue = Arc::clone(&self.queue);
        let sent = timeout(LAST, async {
            while self.queue.len() > 0 {
                self.send_one(&mut stop).await;
            }
        });
        if sent.await.is_err() || queue.len() > 0 {
            tracing::warn!(spans = queue.len(), "the collector did not take the last spans in time");
        }
    }

    /// Sends the oldest spans that wait, if there are any.
    async fn send_one(&mut self, stop: &mut watch::Receiver<bool>) {
        let spans = self.queue.take();
        if spans.is_empty() {
            return;
        }
        let bytes = Bytes::from(message::encode(&self.options.service_name, &spans));
        let count = spans.len() as u64;
        drop(spans);
        match self.deliver(bytes, stop).await {
            Ok(refused) => {
                let refused = refused.min(count);
                self.metrics.spans_exported.inc_by(count - refused);
                self.metrics.spans_dropped.inc_by(refused);
                if std::mem::take(&mut self.is_failing) {
                    tracing::info!("the collector takes traces again");
                }
            }
            Err(NotTaken { what, .. }) => {
                self.metrics.spans_dropped.inc_by(count);
                if !std::mem::replace(&mut self.is_failing, true) {
                    tracing::warn!(what, collector = %self.options.endpoint.target, "traces are not taken, and dropped until they are");
                }
            }
        }
    }

    /// Sends a batch until it is taken, given up, or told to stop; returns how many spans of it were refused.
    async fn deliver(&mut self, bytes: Bytes, stop: &mut watch::Receiver<bool>) -> Result<u64, NotTaken> {
        for pause in PAUSES {
            match self.post(bytes.clone()).await {
                Err(error) if error.is_worth_repeating => tokio::select! {
                    biased;
                    _ = stop.wait_for(|stop| *stop) => return Err(error),
                    () = sleep(pause) => {}
                },
                done => return done,
            }
        }
        self.post(bytes).await
    }

    async fn post(&mut self, body: Bytes) -> Result<u64, NotTaken> {
        let own = [("content-type", "application/x-protobuf"), ("user-agent", USER_AGENT)];
        let headers: Vec<(&str, &str)> = own.into_iter().chain(self.options.headers.reveal()).collect();
        let ask = Ask { method: Method::POST, headers: &headers, body, ..Ask::get(&self.options.endpoint.path) };
        let answer = timeout(self.options.timeout, self.client.send(ask)).await;
        let again = |what: String| NotTaken { what, is_worth_repeating: true };
        let (status, _, body) = answer
            .map_err(|_| again(format!("no answer came within {} ms", self.options.timeout.as_millis())))?
            .map_err(|error| again(error.to_string()))?;
        judge(status, &body)
    }
}

/// How many spans the collector did not want, of a batch that it took.
fn judge(status: StatusCode, body: &[u8]) -> Result<u64, NotTaken> {
    if status.is_success() {
        // What can't be read is taken for the usual answer, which is empty.
        let answer = ExportTraceServiceResponse::decode(body).unwrap_or_default();
        let refused = answer.partial_success.map_or(0, |partial| partial.rejected_spans);
        return Ok(u64::try_from(refused).unwrap_or(0));
    }
    let is_worth_repeating = matches!(status.as_u16(), 429 | 502 | 503 | 504);
    Err(NotTaken { what: format!("the collector answered {status}"), is_worth_repeating })
}
