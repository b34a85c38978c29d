//! Traces for OpenTelemetry: each request that is recorded becomes a span, and spans are sent to a collector by OTLP over HTTP.
//!
//! It is off unless `otlp_endpoint` is set, and then it costs a request nothing but a look at an `Option`. Which requests are
//! recorded is the caller's choice where one sends a `traceparent`, and chance elsewhere. No request ever waits for the collector:
//! spans stand in a queue with a bound, what does not fit is dropped and counted, and one task sends what is there.
//!
//! What is in a span is listed in `docs/operation.md`: names of routes, codes, shards and positions; no account, no candidate, no
//! address, no key. Metrics stay with Prometheus.
//!
//! - `options`: what the configuration says, checked. `headers`: what goes with each request to the collector.
//! - `recorder`: which requests are recorded. `recording`: one that is under way, and its steps. `span`: what is left of it.
//! - `queue`: the spans that wait. `message`: their bytes. `exporter`: the task that sends them.

mod exporter;
mod headers;
mod message;
mod options;
mod queue;
mod recorder;
mod recording;
mod span;

pub(crate) use exporter::Exporter;
pub(crate) use options::Endpoint;
pub use options::check_otlp_files;
pub(crate) use recorder::Recorder;
pub(crate) use recording::{current, step};
