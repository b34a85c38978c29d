//! The level `replicated` over HTTP: refused, offered, waited for in vain, and true after the primary is gone.

use serde_json::{Value, json};

use crate::client::{Answer, Ask};
use crate::house::{House, eventually};
use crate::standby::{Annex, buying};

async fn open(wait_ms: u64) -> House {
    let house = House::configured(|config| {
        config.replicas_min = 1;
        config.replicas_wait_ms = wait_ms;
    });
    house.await.with_market().await
}

async fn buy(house: &House, key: &str) -> Answer {
    house.send(buying(key).header("ack-level", "replicated")).await
}

async fn confirming(house: &House) {
    eventually("the standby confirms", async || (house.metric("nevertwice_replicas_live").await > 0.5).then_some(())).await;
}

fn figures(answer: &Answer) -> Value {
    answer.json()["figures"].clone()
}

#[tokio::test]
async fn it_is_offered_while_a_standby_confirms_and_true_once_that_is_promoted() {
    let house = open(600_000).await;
    let refused = buy(&house, "1").await;
    assert_eq!((refused.code().as_str(), figures(&refused)), ("replicas_short", json!({"replicas_live": 0, "replicas_min": 1})));
    assert_eq!(house.metric("nevertwice_replicas_short").await, 1.0);
    let journaled = house.send(buying("2")).await;
    assert_eq!((journaled.status, &journaled.json()["levels"]), (201, &json!(["decided", "journaled"])), "who asks for less is answered");
    let acks = format!("/v1/markets/wc/acks/{}?level=replicated", journaled.json()["position"].as_str().expect("a position"));
    assert_eq!(house.get(&acks).await.code(), "replicas_short");
    assert_eq!(house.get("/v1/markets/wc?level=replicated").await.code(), "replicas_short");

    let annex = Annex::of(&house).await;
    confirming(&house).await;
    let first = buy(&house, "1").await;
    assert_eq!((first.status, &first.json()["levels"]), (201, &json!(["decided", "replicated", "journaled"])), "{}", first.text);
    let both = json!(["decided", "replicated", "journaled"]);
    assert_eq!(house.get(&acks).await.json()["levels"], both);
    assert_eq!(house.get("/v1/markets/wc?level=replicated").await.json()["levels"], both);
    assert_eq!(house.metric("nevertwice_replicas_short").await, 0.0);
    assert!(house.metric("nevertwice_replica_lag_seconds_count").await > 0.5);

    // What is told while the primary may be gone at any moment is at the standby.
    let mut told = vec![("1".to_owned(), first.result())];
    for number in 10..40 {
        let key = number.to_string();
        told.push((key.clone(), buy(&house, &key).await.result()));
    }
    let promoted = annex.send(Ask::post("/v1/standby/promote", "p", "{}")).await;
    assert_eq!(promoted.status, 200);
    house.close().await;
    for (key, result) in told {
        let again = annex.send(buying(&key)).await;
        assert_eq!((again.status, again.json()["result"].clone()), (200, result), "{key}");
    }
    let here = annex.send(buying("1").header("ack-level", "replicated")).await;
    assert_eq!(here.code(), "level_unavailable", "its own settings hold: it has no standby");
    annex.close().await;
}

#[tokio::test]
async fn an_answer_that_waited_in_vain_is_unknown_and_the_same_key_tells() {
    let house = open(50).await;
    let annex = Annex::of(&house).await;
    confirming(&house).await;
    annex.close().await;
    let unknown = buy(&house, "1").await;
    assert_eq!((unknown.status, unknown.code().as_str(), unknown.header("retry-after")), (503, "outcome_unknown", Some("1")));
    for key in ["1", "2"] {
        let refused = buy(&house, key).await;
        assert_eq!((refused.code().as_str(), figures(&refused)), ("replicas_short", json!({"replicas_live": 1, "replicas_min": 1})));
    }
    assert_eq!(house.metric("nevertwice_replicas_fell_short_total").await, 1.0);
    let balance = house.get("/v1/markets/wc/accounts/ann").await.result();

    let annex = Annex::of(&house).await;
    let again = eventually("it is told", async || Some(buy(&house, "1").await).filter(|answer| answer.status < 300)).await;
    assert_eq!((again.status, again.header("idempotent-replayed")), (200, Some("true")));
    assert_eq!(house.get("/v1/markets/wc/accounts/ann").await.result(), balance, "it was bought once");
    annex.close().await;
    house.close().await;
}

#[tokio::test]
async fn a_reader_of_another_history_does_not_count() {
    let house = open(50).await;
    let durable = house.backend.journal().durable();
    let crc = house.backend.journal().cursor(durable).expect("it is there").crc().expect("it has one");
    let read =
        |after: u64, crc: u32, confirmed: u64| format!("/v1/journal/batches?reader=r&after={after}&crc={crc:08x}&confirmed={confirmed}");
    assert_eq!(house.get(read(durable, crc ^ 1, durable)).await.code(), "history_differs");
    assert_eq!(house.get(read(durable + 1, crc, durable + 1)).await.code(), "history_differs");
    assert_eq!(house.get(read(durable, crc, durable + 1)).await.code(), "query_invalid");
    assert_eq!(house.metric("nevertwice_replicas_live").await, 0.0);
    assert_eq!(house.get(read(durable, crc, durable)).await.status, 200);
    assert_eq!(house.metric("nevertwice_replicas_live").await, 1.0);
    house.close().await;
}
