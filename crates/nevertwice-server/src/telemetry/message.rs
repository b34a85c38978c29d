//! Spans as a message of OTLP, in protobuf.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span as WireSpan, Status};
use prost::Message as _;
use tokio::time::Duration;

use super::span::{Span, Step};

const NAME: &str = "nevertwice";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What an error of the server begins with, among statuses: one of the caller's is no error of this span.
const SERVER_ERRORS: u16 = 500;

/// The bytes of one message with all of the spans.
pub(super) fn encode(service_name: &str, spans: &[Span]) -> Vec<u8> {
    let resource =
        Resource { attributes: vec![text("service.name", service_name), text("service.version", VERSION)], ..Resource::default() };
    let scope = InstrumentationScope { name: NAME.to_owned(), version: VERSION.to_owned(), ..InstrumentationScope::default() };
    let spans = spans.iter().flat_map(|span| std::iter::once(request(span)).chain(span.steps.iter().map(|step| part(span, step))));
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans: spans.collect(), ..ScopeSpans::default() }];
    let resource_spans = vec![ResourceSpans { resource: Some(resource), scope_spans, ..ResourceSpans::default() }];
    ExportTraceServiceRequest { resource_spans }.encode_to_vec()
}

fn request(span: &Span) -> WireSpan {
    let method = span.route.method.word();
    let outcome = match &span.outcome {
        Ok(outcome) => outcome.word(),
        Err(code) => code.code(),
    };
    let mut attributes = vec![
        text("http.request.method", method),
        text("http.route", span.route.path),
        number("http.response.status_code", i64::from(span.status.as_u16())),
        text("nevertwice.endpoint", span.route.word),
        text("nevertwice.outcome", outcome),
    ];
    attributes.extend(span.shard.as_ref().map(|shard| text("nevertwice.shard", &shard.to_string())));
    attributes.extend(span.position.map(|position| text("nevertwice.position", &position.to_string())));
    let is_failed = span.status.as_u16() >= SERVER_ERRORS;
    if is_failed {
        attributes.push(text("error.type", outcome));
    }
    WireSpan {
        parent_span_id: span.parent_id.map(|id| id.to_be_bytes().to_vec()).unwrap_or_default(),
        kind: SpanKind::Server.into(),
        attributes,
        status: is_failed.then(|| Status { code: StatusCode::Error.into(), message: outcome.to_owned() }),
        ..timed(span, span.span_id, format!("{method} {}", span.route.path), Duration::ZERO, span.took)
    }
}

fn part(span: &Span, step: &Step) -> WireSpan {
    WireSpan {
        parent_span_id: span.span_id.to_be_bytes().to_vec(),
        kind: SpanKind::Internal.into(),
        attributes: step.refused.iter().map(|code| text("nevertwice.outcome", code.code())).collect(),
        ..timed(span, step.span_id, step.name.to_owned(), step.after, step.took)
    }
}

fn timed(span: &Span, id: u64, name: String, after: Duration, took: Duration) -> WireSpan {
    let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    let start_time_unix_nano = span.started_at.saturating_add(nanos(after));
    WireSpan {
        trace_id: span.trace_id.to_be_bytes().to_vec(),
        span_id: id.to_be_bytes().to_vec(),
        name,
        start_time_unix_nano,
        end_time_unix_nano: start_time_unix_nano.saturating_add(nanos(took)),
        ..WireSpan::default()
    }
}

fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, Value::StringValue(value.to_owned()))
}

fn number(key: &str, value: i64) -> KeyValue {
    attribute(key, Value::IntValue(value))
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}
