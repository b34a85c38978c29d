//! Markets over HTTP.

use serde_json::{Value, json};

use crate::client::Ask;
use crate::house::House;

const BATCH: &str = "/v1/markets/wc/orders/batch";

fn line(key: &str, quantity: Value) -> String {
    json!({"key": key, "order": {"account": "ann", "instrument": "ARG", "side": "buy", "quantity": quantity}}).to_string()
}

fn batch(lines: &[String]) -> Ask {
    Ask::new("POST", BATCH).header("content-type", "application/x-ndjson").body(lines.join("\n"))
}

async fn answers(house: &House, lines: &[String]) -> Vec<Value> {
    let answer = house.send(batch(lines)).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/x-ndjson")), "{}", answer.text);
    answer.text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

#[tokio::test]
async fn an_order_is_answered_with_all_figures() {
    let house = House::open().await.with_market().await;
    let order = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 3, "limit_price": 1_006});
    let answer = house.post("/v1/markets/wc/orders", "a", order).await;
    assert_eq!(answer.status, 201);
    let answer = answer.json();
    let expected = json!({
        "order_id": answer["position"], "account": "ann", "instrument": "ARG", "side": "buy", "quantity": 3,
        "notional": 3_012, "fee": 16, "total": 3_028, "average": "1004.0000", "price_before": 1_000, "price_after": 1_006,
        "balance": 996_972, "holding": 3, "cost": 3_028, "marked_score": -10,
        "position": answer["position"], "at_ms": crate::house::START_MS,
    });
    assert_eq!(answer["result"], expected);
    assert_eq!(answer["levels"], json!(["decided", "journaled"]));
    let quote = house.get("/v1/markets/wc/instruments/ARG/quote?side=sell&quantity=3").await.result();
    assert_eq!((&quote["notional"], &quote["total"]), (&json!(3_012), &json!(2_996)));
    let account = house.get("/v1/markets/wc/accounts/ann").await.result();
    assert_eq!((&account["balance"], &account["holdings"]), (&json!(996_972), &json!(1)));
    let holdings = house.get("/v1/markets/wc/accounts/ann/holdings").await.result();
    assert_eq!(holdings["holdings"][0]["shares"], 3);
    assert_eq!(house.get("/v1/markets/wc/instruments/ARG").await.result()["net"], 3);
    assert_eq!(house.get("/v1/markets/wc/instruments").await.result()["instruments"][0]["price"], 1_006);
}

#[tokio::test]
async fn a_guard_that_fails_brings_a_fresh_quote() {
    let house = House::open().await.with_market().await;
    let order = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 3, "limit_price": 1_005});
    let answer = house.post("/v1/markets/wc/orders", "a", order).await;
    assert_eq!(answer.code(), "limit_price_exceeded");
    assert_eq!(answer.json()["figures"]["quote"]["last_price"], 1_006);
    let order =
        json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 3, "expected_price": 1_000, "max_slippage_bps": 10});
    let answer = house.post("/v1/markets/wc/orders", "a", order).await;
    assert_eq!(answer.code(), "slippage_exceeded");
    assert_eq!(answer.json()["figures"]["quote"]["notional"], 3_012);
    let order = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 999});
    let answer = house.post("/v1/markets/wc/orders", "a", order).await.json();
    assert_eq!((&answer["code"], &answer["figures"]["balance"]), (&json!("insufficient_balance"), &json!(1_000_000)), "{answer}");
}

#[tokio::test]
async fn a_bad_line_of_a_batch_touches_no_neighbour() {
    let house = House::open().await.with_market().await;
    let lines = [
        line("b1", json!(1)),
        "{\"key\": \"b2\", ".to_owned(),
        line("b3", json!("1")),
        String::new(),
        line("b 4", json!(1)),
        line("b5", json!(0)),
        json!({"key": "b6", "ordre": {}}).to_string(),
        json!({"key": "b7", "principal": "nevertwice", "order": {"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1}})
            .to_string(),
        json!({"key": "b8", "expires_at": -1, "order": {"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1}}).to_string(),
        line("b9", json!(2)),
        line("b1", json!(1)),
        line("b1", json!(2)),
        format!("{}{}", line("b10", json!(1)), " ".repeat(5_000)),
    ];
    let answers = answers(&house, &lines).await;
    let told: Vec<(u64, &str)> = answers
        .iter()
        .map(|answer| (answer["status"].as_u64().expect("a status"), answer["problem"]["code"].as_str().unwrap_or("")))
        .collect();
    assert_eq!(
        told,
        [
            (201, ""),
            (400, "body_malformed"),
            (400, "body_invalid"),
            (400, "idempotency_key_invalid"),
            (400, "quantity_out_of_range"),
            (400, "body_invalid"),
            (400, "principal_invalid"),
            (400, "body_invalid"),
            (201, ""),
            (200, ""),
            (422, "fingerprint_mismatch"),
            (413, "body_too_large"),
        ]
    );
    let counted = |outcome: &str| format!("nevertwice_requests_total{{endpoint=\"place_orders_line\",outcome=\"{outcome}\"}}");
    assert_eq!(house.metric(&counted("accepted")).await, 2.0);
    assert_eq!(house.metric(&counted("body_invalid")).await, 3.0);
    assert_eq!(answers[0]["answer"]["result"].to_string(), answers[9]["answer"]["result"].to_string());
    assert_eq!(answers[2]["key"], "b3");
    assert!(answers[1].get("key").is_none());
    assert_eq!(house.get("/v1/markets/wc/instruments/ARG").await.result()["net"], 3);
    // Alone or in a batch, it is the same intent.
    let single = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1});
    let again = house.post("/v1/markets/wc/orders", "b1", single).await;
    assert_eq!((again.status, again.json()["result"].to_string()), (200, answers[0]["answer"]["result"].to_string()));
}

#[tokio::test]
async fn a_batch_is_bounded_and_in_order() {
    let house = House::open().await.with_market().await;
    let lines: Vec<String> = (0..1_000).map(|number| line(&format!("n{number}"), json!(1))).collect();
    let told = answers(&house, &lines[..200]).await;
    let prices: Vec<i64> = told.iter().map(|answer| answer["answer"]["result"]["price_after"].as_i64().expect("a price")).collect();
    assert_eq!(prices, (1..=200).map(|net| 1_000 + 2 * net).collect::<Vec<i64>>());
    assert_eq!(told[7]["key"], "n7");
    let mut lines = lines;
    lines.push(line("one-more", json!(1)));
    let answer = house.send(batch(&lines)).await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "batch_too_long"));
    assert_eq!(house.get("/v1/markets/wc/instruments/ARG").await.result()["net"], 200);
    let answer = house.send(batch(&[line("x", json!(1))]).without("content-type").header("content-type", "application/json")).await;
    assert_eq!(answer.code(), "media_type_unsupported");
    assert_eq!(house.send(batch(&[])).await.text, "");
}

#[tokio::test]
async fn an_operator_freezes_reprices_settles_and_halts() {
    let house = House::open().await.with_market().await;
    let at = |verb: &str| format!("/v1/markets/wc/instruments/ARG/{verb}");
    let buy = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1});
    let orders = "/v1/markets/wc/orders";
    house.post(orders, "a", buy.clone()).await.result();
    assert_eq!(house.post(at("freeze"), "f", json!({})).await.result()["state"], "frozen");
    assert_eq!(house.post(orders, "b", buy.clone()).await.code(), "instrument_frozen");
    assert_eq!(house.post(at("reprice"), "r", json!({"base": 1_500})).await.result()["price_after"], 1_502);
    assert_eq!(house.post(at("unfreeze"), "u", json!({})).await.result()["state"], "active");
    assert_eq!(house.post(at("settle"), "s", json!({"price": 90_000_000})).await.code(), "house_loss_exceeded");
    house.post("/v1/markets/wc/mode", "m", json!({"mode": "reduce_only"})).await.result();
    let answer = house.post(orders, "b", buy.clone()).await;
    assert_eq!((answer.code().as_str(), &answer.json()["figures"]["mode"]), ("market_closed", &json!("reduce_only")));
    assert_eq!(house.post(at("settle"), "s", json!({"price": 2_000})).await.result()["net"], 1);
    let answer = house.post(at("reprice"), "r2", json!({"base": 1})).await;
    assert_eq!((answer.code().as_str(), &answer.json()["figures"]["price"]), ("instrument_settled", &json!(2_000)));
    // A replay is answered whatever has happened since.
    assert_eq!(house.post(orders, "a", buy).await.status, 200);
}
