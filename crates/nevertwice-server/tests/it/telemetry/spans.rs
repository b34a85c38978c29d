//! What a collector gets of a request.

use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use serde_json::json;

use super::collector::{Collector, Mood, attribute};
use crate::client::Ask;
use crate::house::House;

const ORDERS: &str = "/v1/markets/wc/orders";
const PLACE_ORDER: &str = "POST /v1/markets/{market}/orders";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

fn order(key: &str, quantity: i64) -> Ask {
    let order = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": quantity});
    Ask::post(ORDERS, key, order.to_string())
}

fn sampled(ask: Ask) -> Ask {
    ask.header("traceparent", format!("00-{TRACE}-{PARENT}-01"))
}

fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

async fn traced(collector: &Collector) -> House {
    House::configured(|config| {
        collector.configure(config);
        // Chance records nothing.
        config.otlp_sample_ratio = 0.0;
        config.otlp_service_name = "shop".to_owned();
    })
    .await
    .with_market()
    .await
}

fn shown(span: &Span, key: &str) -> String {
    attribute(&span.attributes, key).unwrap_or_else(|| panic!("{key} is not there: {span:?}"))
}

#[tokio::test]
async fn a_request_of_a_trace_arrives_as_a_span_of_it_below_its_caller() {
    let collector = Collector::start(Mood::Fine).await;
    let house = traced(&collector).await;
    let answer = house.send(sampled(order("k", 1))).await;
    assert_eq!(answer.status, 201);
    let span = collector.span(PLACE_ORDER).await;
    assert_eq!((hex(&span.trace_id), hex(&span.parent_span_id)), (TRACE.to_owned(), PARENT.to_owned()));
    // The answer names the same step, so that its caller finds it.
    assert_eq!(answer.header("traceresponse"), Some(format!("00-{TRACE}-{}-01", hex(&span.span_id)).as_str()));
    assert_eq!((span.kind, &span.status), (i32::from(SpanKind::Server), &None));
    for (key, value) in [
        ("http.request.method", "POST"),
        ("http.route", "/v1/markets/{market}/orders"),
        ("http.response.status_code", "201"),
        ("nevertwice.endpoint", "place_order"),
        ("nevertwice.outcome", "accepted"),
        ("nevertwice.shard", "market/wc"),
    ] {
        assert_eq!(shown(&span, key), value);
    }
    assert_eq!(shown(&span, "nevertwice.position"), answer.result()["position"]);
    // Nobody's name, key or address is in it.
    assert!(!format!("{span:?}").contains("ann") && !format!("{span:?}").contains("127.0.0.1"), "{span:?}");
    let request = &collector.requests()[0];
    let resource = request.resource_spans[0].resource.as_ref().expect("a resource");
    assert_eq!(attribute(&resource.attributes, "service.name").as_deref(), Some("shop"));
    assert!(collector.heads()[0].starts_with("POST /v1/traces HTTP/1.1\r\n"), "{:?}", collector.heads());
    assert!(collector.heads()[0].contains("\r\ncontent-type: application/x-protobuf\r\n"), "{:?}", collector.heads());
    // It lies in time where it was, and the decision within it.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
    assert!(span.start_time_unix_nano < span.end_time_unix_nano && span.end_time_unix_nano <= now, "{span:?}");
    assert!(now - span.start_time_unix_nano < 600_000_000_000, "{span:?}");
    let decide = collector.span("decide").await;
    assert_eq!((hex(&decide.trace_id), &decide.parent_span_id), (TRACE.to_owned(), &span.span_id));
    assert!(span.start_time_unix_nano <= decide.start_time_unix_nano && decide.end_time_unix_nano <= span.end_time_unix_nano, "{decide:?}");
    assert_ne!(decide.span_id, span.span_id);
}

#[tokio::test]
async fn refusals_are_told_by_their_codes_and_only_the_server_s_own_are_errors() {
    let collector = Collector::start(Mood::Fine).await;
    let house = traced(&collector).await;
    assert_eq!(house.send(sampled(order("k", 100_000))).await.code(), "quantity_out_of_range");
    let span = collector.span(PLACE_ORDER).await;
    assert_eq!(
        (shown(&span, "http.response.status_code"), shown(&span, "nevertwice.outcome")),
        ("400".to_owned(), "quantity_out_of_range".to_owned())
    );
    assert_eq!((span.status, attribute(&span.attributes, "error.type")), (None, None));
    // The decision itself went well: it was "no".
    assert_eq!(attribute(&collector.span("decide").await.attributes, "nevertwice.outcome"), None);
    assert_eq!(house.send(sampled(Ask::get("/v1/markets/wc?level=replicated"))).await.code(), "level_unavailable");
    let span = collector.span("GET /v1/markets/{market}").await;
    assert_eq!(shown(&collector.span("read").await, "nevertwice.outcome"), "level_unavailable");
    let told = house.send(Ask::get("/v1/markets/wc?level=replicated")).await.status;
    assert_eq!(shown(&span, "http.response.status_code"), told.to_string());
    assert_eq!(span.status.is_some_and(|status| status.code == i32::from(StatusCode::Error)), told >= 500);
}

#[tokio::test]
async fn what_goes_on_in_a_task_of_its_own_is_part_of_its_request() {
    let collector = Collector::start(Mood::Fine).await;
    let house = traced(&collector).await.with_sale().await;
    let body = json!({"code": "A1", "level": "north"}).to_string();
    assert_eq!(house.send(sampled(Ask::post("/v1/sales/final/bookings", "b", body))).await.status, 201);
    let span = collector.span("POST /v1/sales/{sale}/bookings").await;
    let below = collector.spans().into_iter().filter(|step| step.parent_span_id == span.span_id).count();
    assert!(below >= 2, "a booking is admitted and its payment begun: {below}");
    assert!(!format!("{:?}", collector.spans()).contains("A1"), "candidates are nobody's business");
}

#[tokio::test]
async fn only_what_its_caller_records_or_chance_says_is_recorded() {
    let collector = Collector::start(Mood::Fine).await;
    let house = traced(&collector).await;
    assert_eq!(house.send(order("none", 1)).await.status, 201);
    assert_eq!(house.send(order("not", 1).header("traceparent", format!("00-{TRACE}-{PARENT}-00"))).await.status, 201);
    assert_eq!(house.send(order("bad", 1).header("traceparent", "00-0-0-01")).await.status, 201);
    assert_eq!(house.send(sampled(order("last", 1))).await.status, 201);
    collector.span(PLACE_ORDER).await;
    let folder = house.close().await;
    // All are sent by now, and that of which nobody said so is not among them.
    let spans = collector.spans();
    assert_eq!(spans.iter().map(|span| span.name.as_str()).collect::<Vec<_>>(), [PLACE_ORDER, "decide"]);
    drop(folder);

    let collector = Collector::start(Mood::Fine).await;
    let house = House::configured(|config| collector.configure(config)).await.with_market().await;
    assert_eq!(house.send(order("by-chance", 1)).await.status, 201);
    assert_eq!(house.get("/healthz").await.status, 200);
    house.close().await;
    let spans = collector.spans();
    let root = spans.iter().find(|span| span.name == PLACE_ORDER).expect("it is recorded");
    assert!(root.parent_span_id.is_empty() && root.trace_id.iter().any(|byte| *byte != 0), "{root:?}");
    // Who asks every second whether the server lives is not interesting.
    assert!(!spans.iter().any(|span| span.name.contains("healthz")), "{spans:?}");
}
