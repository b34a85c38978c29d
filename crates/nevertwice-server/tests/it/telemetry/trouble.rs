//! A collector that is dead, slow, busy or choosy: no answer is another, nobody waits, and what is lost is counted.

use serde_json::json;
use tokio::net::TcpListener;

use super::collector::{Collector, Mood};
use crate::house::{House, eventually};

const DROPPED: &str = "nevertwice_spans_dropped_total";
const EXPORTED: &str = "nevertwice_spans_exported_total";

async fn place_orders(house: &House, count: u64) {
    for number in 0..count {
        let order = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1});
        let answer = house.post("/v1/markets/wc/orders", &format!("o{number}"), order).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }
}

async fn at_least(house: &House, name: &str, count: f64) {
    eventually(name, async || (house.metric(name).await >= count).then_some(())).await;
}

/// More requests than the queue takes, each answered as ever.
async fn check_that_nobody_waits(endpoint: String) {
    let house = House::configured(|config| {
        config.otlp_endpoint = Some(endpoint);
        config.otlp_flush_ms = 10;
        config.otlp_queue_max = 4;
        config.otlp_timeout_ms = 60_000;
    })
    .await
    .with_market()
    .await;
    place_orders(&house, 20).await;
    at_least(&house, DROPPED, 1.0).await;
    assert_eq!(house.metric(EXPORTED).await, 0.0);
    assert_eq!(house.get("/v1/markets/wc/instruments/ARG").await.result()["net"], 20);
}

#[tokio::test]
async fn a_dead_collector_changes_no_answer() {
    // A port that nobody listens on any more.
    let gone = TcpListener::bind("127.0.0.1:0").await.expect("it binds").local_addr().expect("an address");
    check_that_nobody_waits(format!("http://{gone}")).await;
}

#[tokio::test]
async fn a_collector_that_never_answers_changes_no_answer() {
    let collector = Collector::start(Mood::Silent).await;
    check_that_nobody_waits(format!("http://{}", collector.addr)).await;
}

#[tokio::test]
async fn what_the_collector_does_not_want_is_dropped_and_counted() {
    let collector = Collector::start(Mood::Refusing).await;
    let house = House::configured(|config| collector.configure(config)).await.with_market().await;
    place_orders(&house, 1).await;
    at_least(&house, DROPPED, 4.0).await;
    let collector = Collector::start(Mood::Picky(1)).await;
    let house = House::configured(|config| collector.configure(config)).await.with_market().await;
    at_least(&house, DROPPED, 1.0).await;
}

#[tokio::test]
async fn what_a_busy_collector_did_not_take_is_sent_again() {
    let collector = Collector::start(Mood::BusyOnce).await;
    let house = House::configured(|config| collector.configure(config)).await.with_market().await;
    collector.span("POST /v1/markets").await;
    at_least(&house, EXPORTED, 1.0).await;
    assert_eq!(house.metric(DROPPED).await, 0.0);
}

#[tokio::test]
async fn what_waits_is_sent_when_the_server_stops() {
    let collector = Collector::start(Mood::Fine).await;
    let house = House::configured(|config| {
        collector.configure(config);
        config.otlp_flush_ms = 60_000;
    })
    .await
    .with_market()
    .await;
    place_orders(&house, 3).await;
    assert!(collector.spans().is_empty());
    house.close().await;
    let orders = collector.spans().into_iter().filter(|span| span.name == "POST /v1/markets/{market}/orders").count();
    assert_eq!(orders, 3);
}
