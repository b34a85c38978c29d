//! What is bounded, and what is no call at all.

use serde_json::{Value, json};

use super::guard::{call, completion, created, owner, registration, with};
use crate::house::House;

#[tokio::test]
async fn a_lease_is_as_long_as_is_asked_for_within_its_bounds() {
    let house = House::configured(|config| {
        config.keys_lease_ms = 2_000;
        config.keys_lease_ms_max = 5_000;
    })
    .await;
    let lease = |registered: &Value| registered["lease_expires_at"].as_i64().zip(registered["at_ms"].as_i64()).map(|(end, now)| end - now);
    let default = house.on_keys("register", registration(1)).await;
    assert_eq!(lease(&default), Some(2_000));
    let asked = house.on_keys("register", with(registration(1), json!({"key": "longer", "lease_ms": 5_000}))).await;
    assert_eq!(lease(&asked), Some(5_000));
    for lease_ms in [-1, 5_001, i64::MAX] {
        let claim = json!({"key": "k", "owner": owner(1), "generation": default["generation"], "lease_ms": lease_ms});
        for (verb, body) in [("register", with(registration(2), json!({"key": "new", "lease_ms": lease_ms}))), ("renew", claim)] {
            let answer = house.ask_keys(verb, body).await;
            assert_eq!(answer.code(), "setting_out_of_range", "{verb} {lease_ms}");
            assert_eq!(answer.json()["figures"], json!({"setting": "lease_ms", "min": 0, "max": 5_000}));
        }
    }
    // To end a lease now is to say that nobody knows what became of the work.
    let ended = json!({"key": "k", "owner": owner(1), "generation": default["generation"], "lease_ms": 0});
    assert_eq!(lease(&house.on_keys("renew", ended).await), Some(0));
    assert_eq!(house.ask_keys("register", registration(2)).await.code(), "outcome_unknown");
}

#[tokio::test]
async fn a_full_store_refuses_new_keys_and_forgets_none() {
    let house = House::configured(|config| {
        config.keys_records_max = 3;
        config.keys_records_per_principal_max = 9;
    })
    .await;
    let register = |number: u64| with(registration(1), json!({"key": format!("k{number}")}));
    for number in 0..3 {
        house.on_keys("register", register(number)).await;
    }
    let answer = house.ask_keys("register", register(3)).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "keys_full"));
    assert_eq!(house.on_keys("register", register(0)).await["registration"], "resumed");
    assert_eq!(house.metric("nevertwice_key_store_refusals_total").await, 1.0);
    assert_eq!(house.metric("nevertwice_key_store_failures_total").await, 0.0);
    assert_eq!(house.metric("nevertwice_key_records").await / house.metric("nevertwice_key_records_max").await, 1.0);
}

#[tokio::test]
async fn one_principal_at_its_bound_is_refused_and_others_go_on() {
    let house = House::configured(|config| config.keys_records_per_principal_max = 2).await;
    let register = |number: u64| with(registration(1), json!({"key": format!("k{number}")}));
    for number in 0..2 {
        house.on_keys("register", register(number)).await;
    }
    let answer = house.ask_keys("register", register(2)).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "keys_full"));
    assert!(answer.text.contains("This principal holds as many keys"), "{}", answer.text);
    assert_eq!(house.metric("nevertwice_key_principal_refusals_total").await, 1.0);
    assert_eq!(house.metric("nevertwice_key_store_refusals_total").await, 0.0, "the store is not full");
    let other = house.send(call("register", &register(2)).without("principal").header("principal", "bob")).await;
    assert_eq!(other.json()["registration"], "fresh");
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_refused_and_can_become_a_tombstone() {
    let house = House::configured(|config| {
        config.keys_answer_bytes_max = 1_000;
        config.keys_answers_bytes_max = 1_500;
        config.keys_answers_bytes_per_principal_max = 9_999;
    })
    .await;
    let generation = house.claim(1).await;
    let large = |length: usize| json!({"status": 200, "body_text": "a".repeat(length)});
    let answer = house.ask_keys("complete", completion(1, &generation, large(1_000))).await;
    assert_eq!((answer.status, answer.code().as_str()), (409, "answer_not_kept"));
    assert!(answer.text.contains("tombstone_bytes"), "{}", answer.text);
    // Two bytes of header lines, of which there are none, belong to it.
    house.on_keys("complete", completion(1, &generation, large(998))).await;
    assert_eq!(house.metric("nevertwice_key_answers_held_bytes").await, 1_000.0);
    let second = house.on_keys("register", with(registration(1), json!({"key": "second"}))).await;
    let whole = |answer: Value| json!({"key": "second", "owner": owner(1), "generation": second["generation"], "answer": answer});
    let answer = house.ask_keys("complete", whole(large(600))).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "keys_full"));
    house.on_keys("complete", whole(json!({"status": 200, "tombstone_bytes": 600}))).await;
}

#[tokio::test]
async fn what_is_no_call_is_refused_and_claims_nothing() {
    let house = House::open().await;
    let generation = json!(1);
    for (verb, body, named) in [
        ("register", with(registration(1), json!({"key": ""})), "key"),
        ("register", with(registration(1), json!({"key": "a b"})), "key"),
        ("register", with(registration(1), json!({"key": "k".repeat(256)})), "key"),
        ("register", with(registration(1), json!({"scope": ""})), "scope"),
        ("register", with(registration(1), json!({"scope": "s".repeat(129)})), "scope"),
        ("register", with(registration(1), json!({"scope": null})), "scope"),
        ("register", with(registration(1), json!({"owner": "1"})), "owner"),
        ("register", with(registration(1), json!({"owner": "z".repeat(64)})), "owner"),
        ("register", with(registration(1), json!({"fingerprint": "0".repeat(64)})), "fingerprint"),
        ("register", json!({"key": "k", "owner": owner(1)}), "fingerprint"),
        ("register", json!({"key": "k", "owner": owner(1), "fingerprint": "0".repeat(63)}), "fingerprint"),
        ("register", with(registration(1), json!({"request": null})), "request"),
        ("register", with(registration(1), json!({"request": "{\"a\":1,\"a\":1}"})), "request"),
        ("register", with(registration(1), json!({"request": "amount=100"})), "request"),
        ("register", with(registration(1), json!({"expires_at": null})), "expires_at"),
        ("register", with(registration(1), json!({"lease_ms": null})), "lease_ms"),
        ("register", with(registration(1), json!({"lease_ms": 1.5})), "lease_ms"),
        ("register", with(registration(1), json!({"lapse": "forget"})), "lapse"),
        ("complete", completion(1, &json!(-1), created()), "generation"),
        ("complete", completion(1, &json!("1"), created()), "generation"),
        ("renew", json!({"key": "k", "owner": null, "generation": generation}), "owner"),
        ("release", json!({"key": "k", "owner": "me", "generation": generation}), "owner"),
    ] {
        let answer = house.ask_keys(verb, body.clone()).await;
        let member = answer.json()["figures"]["member"].clone();
        assert_eq!((answer.code().as_str(), member.as_str()), ("body_invalid", Some(named)), "{verb} {body:.200}");
    }
    for query in ["", "key=", "key=a%20b", "key=k&scope=", "key=k&key=k", "key=k&principal=ann", "key=%ff"] {
        let code = house.inspect(query).await.code();
        assert!(["query_invalid", "idempotency_key_invalid"].contains(&code.as_str()), "{query}: {code}");
    }
    let form = call("register", &registration(1)).without("content-type").header("content-type", "text/plain");
    assert_eq!(house.send(form).await.code(), "media_type_unsupported");
    let large = with(registration(1), json!({"request": format!("\"{}\"", "a".repeat(262_144))}));
    assert_eq!(house.ask_keys("register", large).await.code(), "body_too_large");
    assert_eq!(house.metric("nevertwice_key_records").await, 0.0);
}

#[tokio::test]
async fn a_level_that_the_store_does_not_reach_is_refused_before_anything_is_done() {
    let house = House::open().await;
    for level in ["journaled", "replicated", "ledgered"] {
        let answer = house.send(call("register", &registration(1)).header("ack-level", level)).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "level_unavailable"), "{level}");
    }
    assert_eq!(house.send(call("register", &registration(1)).header("ack-level", "soon")).await.code(), "level_invalid");
    assert_eq!(house.metric("nevertwice_key_records").await, 0.0);
    let answer = house.send(call("register", &registration(1)).header("ack-level", "decided")).await;
    assert_eq!(answer.json()["levels"], json!(["decided"]));
}
