//! The idempotency key, and the other headers of an intent.

use serde_json::json;

use crate::client::Ask;
use crate::house::{House, START_MS};

const ORDERS: &str = "/v1/markets/wc/orders";

fn order() -> String {
    json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1}).to_string()
}

#[tokio::test]
async fn what_is_not_one_key_is_refused_and_changes_nothing() {
    let house = House::open().await.with_market().await;
    let before = house.get("/v1/markets/wc").await.json();
    let keyless = Ask::post(ORDERS, "", order()).without("idempotency-key");
    assert_eq!(house.send(keyless.clone()).await.code(), "idempotency_key_missing");
    let long = "k".repeat(256);
    for key in [
        &b""[..],
        b"\"\"",
        b"a b",
        b"a, b",
        b"\"a\", \"b\"",
        b"\"a",
        b"a\"",
        b"\"a\"b",
        b"\"a\\x\"",
        b"caf\xc3\xa9",
        b"\xff\xfe",
        b"\"caf\xc3\xa9\"",
        long.as_bytes(),
    ] {
        let answer = house.send(keyless.clone().header("idempotency-key", key)).await;
        assert_eq!(answer.code(), "idempotency_key_invalid", "{}", key.escape_ascii());
    }
    let twice = keyless.clone().header("idempotency-key", "one").header("idempotency-key", "one");
    assert_eq!(house.send(twice).await.code(), "idempotency_key_invalid");
    assert_eq!(house.get("/v1/markets/wc").await.json(), before);
}

#[tokio::test]
async fn quoted_or_bare_is_the_same_key() {
    let house = House::open().await.with_market().await;
    let first = house.send(Ask::post(ORDERS, "\"a-key\"", order())).await;
    let second = house.send(Ask::post(ORDERS, "a-key", order())).await;
    assert_eq!((first.status, second.status), (201, 200));
    assert_eq!(first.header("idempotent-replayed"), None);
    assert_eq!(second.header("idempotent-replayed"), Some("true"));
}

#[tokio::test]
async fn a_replay_repeats_the_result_member_for_member_whatever_happened_since() {
    let house = House::open().await.with_market().await;
    let first = house.send(Ask::post(ORDERS, "a", order())).await;
    house.send(Ask::post(ORDERS, "b", order())).await.result();
    house.later(5_000);
    // Another order of members and other white space are the same request.
    let same = r#"{ "quantity":1, "side":"buy", "instrument":"ARG",  "account":"ann" }"#;
    let again = house.send(Ask::post(ORDERS, "a", same)).await;
    assert_eq!(again.status, 200);
    let (first, again) = (first.json(), again.json());
    assert_eq!(first["result"].to_string(), again["result"].to_string());
    assert_eq!((&first["replayed"], &again["replayed"]), (&json!(false), &json!(true)));
}

#[tokio::test]
async fn a_key_belongs_to_one_request_and_one_principal() {
    let house = House::open().await.with_market().await;
    let did = house.send(Ask::post(ORDERS, "a", order())).await.result();
    house.send(Ask::post(ORDERS, "b", order())).await.result();
    let other = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 2}).to_string();
    let answer = house.send(Ask::post(ORDERS, "a", other)).await;
    assert_eq!((answer.status, answer.code().as_str()), (422, "fingerprint_mismatch"));
    // The figure is what the key did; beside it stands the position as of which this is said.
    assert_eq!(answer.json()["figures"], json!({"position": did["position"]}));
    assert_ne!(answer.json()["position"], did["position"]);
    let mode = json!({"mode": "halted"}).to_string();
    assert_eq!(house.send(Ask::post("/v1/markets/wc/mode", "a", mode)).await.code(), "fingerprint_mismatch");
    let somebody = house.send(Ask::post(ORDERS, "a", order()).header("principal", "somebody")).await;
    assert_eq!(somebody.status, 201);
}

#[tokio::test]
async fn an_intent_expires() {
    let house = House::open().await.with_market().await;
    let ask = |key: &str, expires: &str| Ask::post(ORDERS, key, order()).header("idempotency-expires", expires);
    let in_time = (START_MS + 1_000).to_string();
    house.send(ask("a", &in_time)).await.result();
    house.later(1_000);
    assert_eq!(house.send(ask("b", &in_time)).await.code(), "intent_expired");
    assert_eq!(house.send(ask("a", &in_time)).await.status, 200);
    let far = (START_MS + 90_000_000_000).to_string();
    let answer = house.send(ask("c", &far)).await;
    assert_eq!(answer.code(), "intent_expiry_too_far");
    assert_eq!(answer.json()["figures"]["expires_at_max"], START_MS + 1_000 + 86_400_000);
    for nonsense in ["", "soon", "-1", "1.5", "+1", "99999999999999999"] {
        assert_eq!(house.send(ask("d", nonsense)).await.code(), "intent_expires_invalid", "{nonsense}");
    }
    let twice = ask("d", &in_time).header("idempotency-expires", &in_time);
    assert_eq!(house.send(twice).await.code(), "intent_expires_invalid");
}

#[tokio::test]
async fn levels_are_asked_for_and_told() {
    let house = House::open().await.with_market().await;
    let ask = |key: &str, level: &str| Ask::post(ORDERS, key, order()).header("ack-level", level);
    let answer = house.send(ask("a", "decided, journaled")).await.json();
    assert_eq!(answer["levels"], json!(["decided", "journaled"]));
    let unavailable = house.send(ask("b", "ledgered")).await;
    assert_eq!(unavailable.code(), "level_unavailable");
    for nonsense in ["", "fsynced", "decided,,journaled", "\u{e9}"] {
        assert_eq!(house.send(ask("b", nonsense)).await.code(), "level_invalid", "{nonsense}");
    }
    let position = answer["position"].as_str().expect("a position");
    let acks = |query: &str| house.get(format!("/v1/markets/wc/acks/{position}{query}"));
    assert_eq!(acks("").await.json()["levels"], json!(["decided", "journaled"]));
    assert_eq!(acks("?level=journaled").await.json()["position"], position);
    assert_eq!(acks("?level=replicated").await.code(), "level_unavailable");
    assert_eq!(acks("?level=x").await.code(), "level_invalid");
    assert_eq!(house.get("/v1/markets/wc/acks/1-999").await.code(), "position_unknown");
    assert_eq!(house.get("/v1/markets/wc/acks/7").await.code(), "position_invalid");
    assert_eq!(house.get("/v1/markets/wc?level=decided").await.status, 200);
}

#[tokio::test]
async fn the_principal_is_one_visible_text_and_not_the_servers_own() {
    let house = House::open().await.with_market().await;
    let ask = |principal: &[u8]| Ask::post(ORDERS, "a", order()).header("principal", principal);
    for principal in [&b""[..], b"a b", b"caf\xc3\xa9", b"nevertwice", "p".repeat(129).as_bytes()] {
        assert_eq!(house.send(ask(principal)).await.code(), "principal_invalid", "{}", principal.escape_ascii());
    }
    assert_eq!(house.send(ask(b"a").header("principal", "b")).await.code(), "principal_invalid");
}
