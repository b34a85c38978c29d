//! What is wrong with a request gets a code of its own, the right status, and changes nothing.

use serde_json::{Value, json};

use crate::client::Ask;
use crate::house::House;

const ORDERS: &str = "/v1/markets/wc/orders";

fn order_with(member: &str, value: Value) -> String {
    let mut order = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1});
    order[member] = value;
    order.to_string()
}

async fn state(house: &House) -> (Value, Value, Value) {
    let market = house.get("/v1/markets/wc").await.json();
    (market, house.get("/v1/markets/wc/accounts/ann").await.json(), house.get("/v1/sales/final").await.json())
}

#[tokio::test]
async fn orders() {
    let house = House::open().await.with_market().await.with_sale().await;
    let before = state(&house).await;
    let huge = "{\"account\":\"ann\",\"instrument\":\"ARG\",\"side\":\"buy\",\"quantity\":1e400}".to_owned();
    let beyond = "{\"account\":\"ann\",\"instrument\":\"ARG\",\"side\":\"buy\",\"quantity\":99999999999999999999}".to_owned();
    let cases: Vec<(&str, &str, String, u16, &str)> = vec![
        ("unknown market", "/v1/markets/nowhere/orders", order_with("quantity", json!(1)), 404, "unknown_market"),
        ("no name of a market", "/v1/markets/no%20where/orders", order_with("quantity", json!(1)), 400, "name_invalid"),
        ("no UTF-8 in the path", "/v1/markets/%ff/orders", order_with("quantity", json!(1)), 400, "name_invalid"),
        ("a sale's name", "/v1/markets/final/orders", order_with("quantity", json!(1)), 404, "unknown_market"),
        ("unknown instrument", ORDERS, order_with("instrument", json!("BRA")), 404, "unknown_instrument"),
        ("unknown account", ORDERS, order_with("account", json!("bob")), 404, "unknown_account"),
        ("no name of an account", ORDERS, order_with("account", json!("")), 400, "name_invalid"),
        ("a name too long", ORDERS, order_with("account", json!("a".repeat(65))), 400, "name_invalid"),
        ("quantity 0", ORDERS, order_with("quantity", json!(0)), 400, "quantity_out_of_range"),
        ("a negative quantity", ORDERS, order_with("quantity", json!(-1)), 400, "quantity_out_of_range"),
        ("the least quantity", ORDERS, order_with("quantity", json!(i64::MIN)), 400, "quantity_out_of_range"),
        ("more than an order may", ORDERS, order_with("quantity", json!(1_001)), 400, "quantity_out_of_range"),
        ("the largest quantity", ORDERS, order_with("quantity", json!(i64::MAX)), 400, "quantity_out_of_range"),
        ("a quantity beyond 64 bits", ORDERS, beyond, 400, "body_invalid"),
        ("a quantity beyond doubles", ORDERS, huge, 400, "body_malformed"),
        ("a fractional quantity", ORDERS, order_with("quantity", json!(1.5)), 400, "body_invalid"),
        ("a whole one with a point", ORDERS, order_with("quantity", json!(1.0)), 400, "body_invalid"),
        ("a string quantity", ORDERS, order_with("quantity", json!("1")), 400, "body_invalid"),
        ("no quantity", ORDERS, r#"{"account":"ann","instrument":"ARG","side":"buy"}"#.to_owned(), 400, "body_invalid"),
        ("a side that is none", ORDERS, order_with("side", json!("hold")), 400, "body_invalid"),
        ("a typing mistake", ORDERS, order_with("limit_prise", json!(1)), 400, "body_invalid"),
        (
            "a member twice",
            ORDERS,
            r#"{"account":"ann","account":"ann","instrument":"ARG","side":"buy","quantity":1}"#.to_owned(),
            400,
            "body_invalid",
        ),
        ("a limit that got lost", ORDERS, order_with("limit_price", Value::Null), 400, "body_invalid"),
        ("an expected price that got lost", ORDERS, order_with("expected_price", Value::Null), 400, "body_invalid"),
        ("a slippage that got lost", ORDERS, order_with("max_slippage_bps", Value::Null), 400, "body_invalid"),
        ("a negative limit", ORDERS, order_with("limit_price", json!(-1)), 400, "price_guard_invalid"),
        ("half a guard", ORDERS, order_with("expected_price", json!(5)), 400, "price_guard_invalid"),
        ("a limit beyond amounts", ORDERS, order_with("limit_price", json!(9_007_199_254_740_992_i64)), 400, "price_guard_invalid"),
        ("nothing", ORDERS, String::new(), 400, "body_malformed"),
        ("cut short", ORDERS, r#"{"account":"ann","instr"#.to_owned(), 400, "body_malformed"),
        ("something behind", ORDERS, format!("{} x", order_with("quantity", json!(1))), 400, "body_malformed"),
        ("a list", ORDERS, "[]".to_owned(), 400, "body_invalid"),
        ("null", ORDERS, "null".to_owned(), 400, "body_invalid"),
        ("no JSON", ORDERS, "account=ann".to_owned(), 400, "body_malformed"),
    ];
    for (what, path, body, status, code) in cases {
        let answer = house.send(Ask::post(path, "k", &body)).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{what}: {}", answer.text);
        assert!(answer.json()["detail"].as_str().is_some_and(|detail| detail.contains("Nothing was done")), "{what}: {}", answer.text);
    }
    // None of all these took the key, or did anything.
    assert_eq!(state(&house).await, before);
    assert_eq!(house.send(Ask::post(ORDERS, "k", order_with("quantity", json!(1)))).await.status, 201);
}

#[tokio::test]
async fn what_does_not_fit_is_named() {
    let house = House::open().await.with_market().await;
    for (body, member) in [
        (order_with("quantity", json!("1")), "quantity"),
        (order_with("limit_prise", json!(1)), "limit_prise"),
        (order_with("side", json!("hold")), "side"),
    ] {
        let answer = house.send(Ask::post(ORDERS, "k", body)).await.json();
        assert_eq!(answer["figures"]["member"], member, "{answer}");
        assert!(answer["detail"].as_str().is_some_and(|detail| detail.contains(&format!("`{member}`"))), "{answer}");
    }
    let answer = house.send(Ask::post(ORDERS, "k", r#"{"account":"ann","instrument":"ARG","side":"buy"}"#)).await.json();
    assert!(answer["detail"].as_str().is_some_and(|detail| detail.contains("quantity")), "{answer}");
    let nested = json!({"market": "m", "decimals": 2, "fee_bps": 0, "limits": {"quantity_max": 1, "holding_max": 1, "house_loss_max": "0"}, "mode": "open"});
    let answer = house.post("/v1/markets", "k", nested).await.json();
    assert_eq!(answer["figures"]["member"], "limits.house_loss_max", "{answer}");
}

/// Names of members are anybody's: an answer and a log show them on one line, and not at any length.
#[tokio::test]
async fn what_is_shown_again_is_one_short_line() {
    let house = House::open().await.with_market().await;
    for member in ["a\nb\u{1b}[2J\u{7f}", &"m".repeat(100_000), &"\u{e9}".repeat(1_000)] {
        let answer = house.send(Ask::post(ORDERS, "k", order_with(member, json!(1)))).await;
        assert_eq!(answer.code(), "body_invalid");
        let problem = answer.json();
        let shown = [&problem["detail"], &problem["figures"]["member"]].map(|text| text.as_str().expect("a text").to_owned());
        assert!(shown.iter().all(|text| !text.contains(char::is_control) && text.chars().count() < 1_000), "{}", answer.text);
    }
}

#[tokio::test]
async fn totals_beyond_amounts() {
    let house = House::open().await;
    let limits = json!({"quantity_max": 94_906_265, "holding_max": 94_906_265, "house_loss_max": 0});
    let market = json!({"market": "big", "decimals": 0, "fee_bps": 0, "limits": limits, "mode": "open"});
    house.post("/v1/markets", "1", market).await.result();
    house
        .post("/v1/markets/big/instruments", "2", json!({"instrument": "I", "base": 9_007_199_254_740_991_i64, "slope": 0}))
        .await
        .result();
    house.post("/v1/markets/big/accounts", "3", json!({"account": "a", "opening_balance": 2_251_799_813_685_247_i64})).await.result();
    let order = json!({"account": "a", "instrument": "I", "side": "buy", "quantity": 1_000});
    assert_eq!(house.post("/v1/markets/big/orders", "4", order).await.code(), "amount_too_large");
    let account = json!({"account": "b", "opening_balance": 1});
    assert_eq!(house.post("/v1/markets/big/accounts", "5", account).await.code(), "issuance_exceeded");
    let account = json!({"account": "b", "opening_balance": -1});
    assert_eq!(house.post("/v1/markets/big/accounts", "5", account).await.code(), "setting_out_of_range");
    let listing = json!({"instrument": "J", "base": 9_007_199_254_740_992_i64, "slope": 0});
    assert_eq!(house.post("/v1/markets/big/instruments", "6", listing).await.code(), "setting_out_of_range");
}

#[tokio::test]
async fn bookings() {
    let house = House::open().await.with_market().await.with_sale().await;
    let before = state(&house).await;
    for (what, sale, body, status, code) in [
        ("unknown sale", "nowhere", json!({"code": "A1", "level": "north"}), 404, "unknown_sale"),
        ("a market's name", "wc", json!({"code": "A1", "level": "north"}), 404, "unknown_sale"),
        ("unknown level", "final", json!({"code": "A1", "level": "west"}), 404, "unknown_level"),
        ("no name of a level", "final", json!({"code": "A1", "level": "we st"}), 400, "name_invalid"),
        ("not on the list", "final", json!({"code": "Z9", "level": "north"}), 404, "unknown_candidate"),
        ("no code", "final", json!({"code": " \t", "level": "north"}), 400, "code_invalid"),
        ("a code too long", "final", json!({"code": "a".repeat(65), "level": "north"}), 400, "code_invalid"),
        ("a code that is not ASCII", "final", json!({"code": "\u{e9}", "level": "north"}), 400, "code_invalid"),
        ("no address", "final", json!({"code": "D4", "level": "north"}), 403, "email_mismatch"),
        ("another address", "final", json!({"code": "D4", "level": "north", "email": "x@example.org"}), 403, "email_mismatch"),
        ("an empty address", "final", json!({"code": "D4", "level": "north", "email": ""}), 400, "body_invalid"),
        ("an address too long", "final", json!({"code": "D4", "level": "north", "email": "x".repeat(300)}), 400, "body_invalid"),
        ("not this level", "final", json!({"code": "D4", "level": "south", "email": "dee@example.org"}), 403, "level_not_allowed"),
        ("a typing mistake", "final", json!({"code": "A1", "level": "north", "emial": "x"}), 400, "body_invalid"),
        ("a number as code", "final", json!({"code": 1, "level": "north"}), 400, "body_invalid"),
    ] {
        let answer = house.post(format!("/v1/sales/{sale}/bookings"), "k", body).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{what}: {}", answer.text);
    }
    assert_eq!(state(&house).await, before);
    for (path, code) in [
        ("/v1/sales/final/bookings/1-99", "unknown_booking"),
        ("/v1/sales/final/bookings/x", "position_invalid"),
        ("/v1/sales/final/bookings/01-1", "position_invalid"),
        ("/v1/sales/final/bookings?cursor=-1", "query_invalid"),
        ("/v1/sales/final/bookings?cursor=0&cursor=0", "query_invalid"),
        ("/v1/sales/final?verbose=1", "query_invalid"),
    ] {
        assert_eq!(house.get(path).await.code(), code, "{path}");
    }
}

#[tokio::test]
async fn queries_and_routes() {
    let house = House::open().await.with_market().await;
    let quote = "/v1/markets/wc/instruments/ARG/quote";
    for (path, status, code) in [
        (format!("{quote}?side=buy"), 400, "query_invalid"),
        (format!("{quote}?quantity=1"), 400, "query_invalid"),
        (format!("{quote}?side=hold&quantity=1"), 400, "query_invalid"),
        (format!("{quote}?side=buy&quantity=1.5"), 400, "query_invalid"),
        (format!("{quote}?side=buy&quantity=0"), 400, "quantity_out_of_range"),
        (format!("{quote}?side=sell&quantity=1"), 409, "insufficient_holding"),
        ("/v1/markets/wc/instruments/BRA".to_owned(), 404, "unknown_instrument"),
        ("/v1/markets/wc/accounts/bob".to_owned(), 404, "unknown_account"),
        ("/v1/markets/wc/accounts/bob/holdings".to_owned(), 404, "unknown_account"),
        ("/v1/markets/nowhere".to_owned(), 404, "unknown_market"),
        ("/".to_owned(), 404, "route_unknown"),
        ("/v1/markets/wc/".to_owned(), 404, "route_unknown"),
        ("/errors/no_such_code".to_owned(), 404, "route_unknown"),
    ] {
        let answer = house.get(&path).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{path}");
    }
    for (method, path) in [("DELETE", "/v1/markets/wc"), ("PUT", ORDERS), ("GET", ORDERS), ("PATCH", "/healthz")] {
        let answer = house.send(Ask::new(method, path)).await;
        assert_eq!((answer.status, answer.code().as_str()), (405, "method_not_allowed"), "{method} {path}");
        assert!(answer.header("allow").is_some_and(|allow| !allow.is_empty()), "{method} {path}: {answer:?}");
    }
    let ask = Ask::post(ORDERS, "k", order_with("quantity", json!(1))).without("content-type");
    assert_eq!(house.send(ask.clone()).await.code(), "media_type_unsupported");
    assert_eq!(house.send(ask.clone().header("content-type", "text/plain")).await.code(), "media_type_unsupported");
    assert_eq!(house.send(ask.header("content-type", "application/JSON; charset=utf-8")).await.status, 201);
    let ask = Ask::post(format!("{ORDERS}?dry_run=1"), "k2", order_with("quantity", json!(1)));
    assert_eq!(house.send(ask).await.code(), "query_invalid");
}

#[tokio::test]
async fn operators_make_mistakes_too() {
    let house = House::open().await.with_market().await.with_sale().await;
    for (path, body, code) in [
        (
            "/v1/markets",
            json!({"market": "wc", "decimals": 2, "fee_bps": 50, "limits": {"quantity_max": 1, "holding_max": 1, "house_loss_max": 0}, "mode": "open"}),
            "market_exists",
        ),
        (
            "/v1/markets",
            json!({"market": "x", "decimals": 9, "fee_bps": 50, "limits": {"quantity_max": 1, "holding_max": 1, "house_loss_max": 0}, "mode": "open"}),
            "setting_out_of_range",
        ),
        (
            "/v1/markets",
            json!({"market": "x", "decimals": 300, "fee_bps": 50, "limits": {"quantity_max": 1, "holding_max": 1, "house_loss_max": 0}, "mode": "open"}),
            "body_invalid",
        ),
        ("/v1/markets/wc/mode", json!({"mode": "open"}), "no_change"),
        ("/v1/markets/wc/instruments", json!({"instrument": "ARG", "base": 1, "slope": 0}), "instrument_exists"),
        ("/v1/markets/wc/instruments", json!({"instrument": "FREE", "base": 0, "slope": 0}), "setting_out_of_range"),
        ("/v1/markets/wc/accounts", json!({"account": "ann", "opening_balance": 1}), "account_exists"),
        ("/v1/markets/wc/instruments/ARG/unfreeze", json!({}), "no_change"),
        ("/v1/markets/wc/instruments/BRA/freeze", json!({}), "unknown_instrument"),
        ("/v1/markets/wc/instruments/ARG/freeze", json!({"why": "x"}), "body_invalid"),
        (
            "/v1/sales",
            json!({"sale": "final", "levels": [{"level": "n", "cap": null}], "total_cap": 1, "opens_at": 0, "closes_at": 1}),
            "sale_exists",
        ),
        ("/v1/sales", json!({"sale": "x", "levels": [], "total_cap": 1, "opens_at": 0, "closes_at": 1}), "setting_out_of_range"),
        ("/v1/sales/final/open", json!({"open": true}), "no_change"),
        ("/v1/sales/final/candidates", json!({"candidates": []}), "setting_out_of_range"),
        ("/v1/sales/final/candidates", json!({"candidates": [{"code": "E5", "levels": ["west"]}]}), "unknown_level"),
        ("/v1/sales/nowhere/candidates", json!({"candidates": [{"code": "E5"}]}), "unknown_sale"),
        ("/v1/sales/final/caps", json!({"total_cap": -1}), "setting_out_of_range"),
    ] {
        let answer = house.post(path, "k", body.clone()).await;
        assert_eq!(answer.code(), code, "{path} {body}: {}", answer.text);
    }
}

/// An array has no names of members that could be checked, so it is no order, no booking and no market.
#[tokio::test]
async fn an_array_is_no_object() {
    let house = House::open().await.with_market().await.with_sale().await;
    let before = state(&house).await;
    for (path, body) in [
        (ORDERS, json!(["ann", "ARG", "buy", 1])),
        (ORDERS, json!({"account": "ann", "instrument": "ARG", "side": {"buy": null}, "quantity": 1})),
        ("/v1/markets", json!(["cup9", 2, 50, [10, 10, 0], "open", null])),
        ("/v1/markets", json!({"market": "c", "decimals": 2, "fee_bps": 50, "limits": [10, 10, 0], "mode": "open"})),
        ("/v1/sales/final/bookings", json!(["A1", null, "north"])),
        ("/v1/sales/final/caps", json!({"levels": [["north", 5]]})),
        ("/v1/markets/wc/instruments/ARG/freeze", json!([])),
    ] {
        let answer = house.post(path, "k", body.clone()).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "body_invalid"), "{path} {body}: {}", answer.text);
    }
    let line = json!({"key": "b", "order": ["ann", "ARG", "buy", 1]}).to_string();
    let batch = Ask::post("/v1/markets/wc/orders/batch", "k", line).without("content-type").header("content-type", "application/x-ndjson");
    let batch = house.send(batch).await;
    assert!(batch.text.contains("body_invalid"), "{}", batch.text);
    assert_eq!(state(&house).await, before);
}

/// Advice that nobody can follow is none: who sets a price has no shares to ask for.
#[tokio::test]
async fn what_to_do_about_an_amount_too_large_fits_the_command() {
    let house = House::open().await.with_market().await;
    let limits = json!({"quantity_max": 94_906_265, "holding_max": 94_906_265, "house_loss_max": 0});
    let market = json!({"market": "big", "decimals": 0, "fee_bps": 0, "limits": limits, "mode": "open"});
    house.post("/v1/markets", "1", market).await.result();
    house.post("/v1/markets/big/instruments", "2", json!({"instrument": "I", "base": 1, "slope": 0})).await.result();
    house.post("/v1/markets/big/accounts", "3", json!({"account": "a", "opening_balance": 90_000_000})).await.result();
    let order = json!({"account": "a", "instrument": "I", "side": "buy", "quantity": 90_000_000});
    house.post("/v1/markets/big/orders", "4", order).await.result();
    let largest = 9_007_199_254_740_991_i64;
    house.post("/v1/markets/big/instruments", "5", json!({"instrument": "J", "base": largest, "slope": 0})).await.result();
    for (path, body, next) in [
        ("orders", json!({"account": "a", "instrument": "J", "side": "buy", "quantity": 1}), "Ask for fewer shares."),
        ("instruments/I/reprice", json!({"base": largest}), "Choose a smaller base."),
        ("instruments/I/settle", json!({"price": largest}), "Choose a smaller price."),
    ] {
        let answer = house.post(format!("/v1/markets/big/{path}"), "6", body).await;
        assert_eq!((answer.status, answer.code().as_str()), (409, "amount_too_large"), "{path}: {}", answer.text);
        let detail = answer.json()["detail"].as_str().expect("a detail").to_owned();
        assert!(detail.contains("Nothing was done") && detail.ends_with(next), "{path}: {detail}");
    }
}

/// A market or sale that does not exist has no history: no position of it is told, and none is unknown.
#[tokio::test]
async fn what_does_not_exist_has_no_position() {
    let house = House::open().await.with_market().await.with_sale().await;
    let order = order_with("quantity", json!(1));
    let booking = json!({"code": "A1", "level": "north"}).to_string();
    let mut answers = vec![
        ("unknown_market", house.send(Ask::post("/v1/markets/nowhere/orders", "k", order)).await),
        ("unknown_sale", house.send(Ask::post("/v1/sales/nowhere/bookings", "k", booking)).await),
        ("unknown_sale", house.post("/v1/sales/nowhere/bookings/1-1/release", "k", json!({})).await),
    ];
    for (code, path) in [
        ("unknown_market", "/v1/markets/nowhere"),
        ("unknown_market", "/v1/markets/nowhere/instruments/ARG/quote?side=buy&quantity=1"),
        ("unknown_market", "/v1/markets/nowhere/acks/1-1"),
        ("unknown_market", "/v1/markets/final/acks/1-1?level=journaled"),
        ("unknown_sale", "/v1/sales/nowhere"),
        ("unknown_sale", "/v1/sales/nowhere/acks/1-1"),
        ("unknown_sale", "/v1/sales/wc/acks/1-1?level=journaled"),
    ] {
        answers.push((code, house.get(path).await));
    }
    for (code, answer) in answers {
        assert_eq!((answer.status, answer.code().as_str()), (404, code), "{answer:?}");
        assert!(answer.json().get("position").is_none() && !answer.text.contains("0-0"), "{answer:?}");
        assert!(answer.headers.iter().all(|(_, value)| !value.contains("0-0")), "{answer:?}");
    }
    // What does exist has one, and positions that it never had.
    let unknown = house.get("/v1/markets/wc/instruments/BRA").await;
    assert!(unknown.json()["position"].as_str().is_some_and(|position| position.starts_with("1-")), "{unknown:?}");
    for path in ["/v1/markets/wc/acks/1-999", "/v1/sales/final/acks/1-999?level=journaled"] {
        assert_eq!(house.get(path).await.code(), "position_unknown", "{path}");
    }
}
