//! Answers are repeated byte for byte, or not at all.

use serde_json::{Value, json};

use super::guard::{completion, owner, registration};
use crate::house::House;

/// Keeps an answer under a new key, and gives what a retry gets.
async fn repeated(house: &House, number: u64, answer: &Value) -> Value {
    let key = format!("k{number}");
    let registration = json!({"key": key, "owner": owner(1), "request": ""});
    let generation = house.on_keys("register", registration.clone()).await["generation"].clone();
    house.on_keys("complete", json!({"key": key, "owner": owner(1), "generation": generation, "answer": answer})).await;
    house.on_keys("register", registration).await["answer"].clone()
}

#[tokio::test]
async fn an_answer_is_repeated_byte_for_byte() {
    let house = House::open().await;
    let mut number = 0;
    for text in ["{\"a\": 1}", "", " ", "\u{0}\u{1f}\u{7f}\r\n\t\"\\", "caf\u{e9} \u{1f600}", "\u{feff}{}", "e\u{301}"] {
        number += 1;
        let repeated = repeated(&house, number, &json!({"status": 200, "body_text": text})).await;
        assert_eq!(repeated, json!({"status": 200, "headers": [], "body_text": text}));
    }
    for bytes in [&b"\xff\xfe\x00"[..], b"\x80", b"caf\xc3", b"\xed\xa0\x80", &[0xa5; 3_000]] {
        number += 1;
        let base64 = data_encoding::BASE64.encode(bytes);
        let repeated = repeated(&house, number, &json!({"status": 404, "body_base64": base64})).await;
        assert_eq!(repeated, json!({"status": 404, "headers": [], "body_base64": base64}));
    }
    // What is UTF-8 comes back as text, however it came.
    let text = data_encoding::BASE64.encode("caf\u{e9}".as_bytes());
    let repeated = repeated(&house, number + 1, &json!({"status": 200, "body_base64": text})).await;
    assert_eq!(repeated["body_text"], "caf\u{e9}");
}

#[tokio::test]
async fn header_lines_keep_their_order_and_their_repetitions() {
    let house = House::open().await;
    let line = |name: &str, value: &str| json!({"name": name, "value": value});
    let headers = [line("x-b", "2"), line("link", "<a>; rel=next"), line("x-a", ""), line("link", "<b>, <c>"), line("x-b", "1")];
    let repeated = repeated(&house, 1, &json!({"status": 201, "headers": headers})).await;
    assert_eq!(repeated["headers"], json!(headers));
    let spelled = repeated_names(&house).await;
    assert_eq!(spelled, json!([line("content-type", "a")]));
}

async fn repeated_names(house: &House) -> Value {
    repeated(house, 2, &json!({"status": 201, "headers": [{"name": "Content-Type", "value": "a"}]})).await["headers"].clone()
}

#[tokio::test]
async fn what_is_no_answer_is_refused_and_keeps_nothing() {
    let house = House::open().await;
    let generation = house.claim(1).await;
    let line = |name: &str, value: &str| json!({"status": 200, "headers": [{"name": name, "value": value}]});
    let many: Vec<Value> = (0..257).map(|_| json!({"name": "a", "value": "b"})).collect();
    for (answer, named) in [
        (json!({"status": 99}), "answer.status"),
        (json!({"status": 600}), "answer.status"),
        (json!({"status": 200, "body_text": "a", "body_base64": "YQ=="}), "answer"),
        (json!({"status": 200, "body_text": "a", "tombstone_bytes": 1}), "answer"),
        (json!({"status": 200, "body_base64": "YQ"}), "answer.body_base64"),
        (json!({"status": 200, "body_base64": "Y Q="}), "answer.body_base64"),
        (json!({"status": 200, "body_base64": "YR=="}), "answer.body_base64"),
        (json!({"status": 200, "headers": [{"name": "a", "value": "b"}], "tombstone_bytes": 1}), "answer.headers"),
        (line("a b", "c"), "answer.headers[0].name"),
        (line("", "c"), "answer.headers[0].name"),
        (line("a", "b\r\nc: d"), "answer.headers[0].value"),
        (line("a", "caf\u{e9}"), "answer.headers[0].value"),
        (line("a", " b"), "answer.headers[0].value"),
        (json!({"status": 200, "headers": many}), "answer.headers"),
        (line("a", &"b".repeat(65_536)), "answer.headers"),
        (json!({"status": 200, "body_text": null}), "answer.body_text"),
        (json!({"status": 200, "body": "a"}), "answer.body"),
    ] {
        let refused = house.ask_keys("complete", completion(1, &generation, answer.clone())).await;
        let member = refused.json()["figures"]["member"].clone();
        assert_eq!((refused.code().as_str(), member.as_str()), ("body_invalid", Some(named)), "{answer:.100}");
    }
    assert_eq!(house.inspect("key=k").await.json()["state"], "in_progress");
}

#[tokio::test]
async fn an_answer_that_is_not_kept_leaves_the_key_used() {
    let house = House::open().await;
    let generation = house.claim(1).await;
    house.on_keys("complete", completion(1, &generation, json!({"status": 200, "tombstone_bytes": 5_000_000}))).await;
    let answer = house.ask_keys("register", registration(2)).await;
    assert_eq!((answer.status, answer.code().as_str()), (409, "answer_not_kept"));
    assert_eq!(answer.json()["figures"], json!({"status": 200, "body_bytes": 5_000_000, "generation": generation}));
    let shown = house.inspect("key=k").await.json();
    assert_eq!((&shown["is_kept"], &shown["body_bytes"]), (&json!(false), &json!(5_000_000)));
    assert_eq!((house.became("tombstone").await, house.became("answer_not_kept").await), (1.0, 1.0));
}
