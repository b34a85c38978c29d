//! What happens to records while nobody asks for them.

use serde_json::json;

use super::guard::{completion, created, registration, with};
use crate::house::{House, eventually};

#[tokio::test]
async fn claims_past_their_lease_are_counted_though_nobody_asks_for_them() {
    let house = House::configured(|config| config.sweep_ms = 10).await;
    for number in 0..5 {
        house.on_keys("register", with(registration(1), json!({"key": format!("k{number}")}))).await;
    }
    let generation = house.claim(1).await;
    house.on_keys("complete", completion(1, &generation, created())).await;
    house.later(59_999);
    assert_eq!(house.metric("nevertwice_key_claims_lapsed").await, 0.0);
    house.later(1);
    let lapsed = async |count: f64| (house.metric("nevertwice_key_claims_lapsed").await == count).then_some(());
    eventually("they are counted", async || lapsed(5.0).await).await;
    // It looks, and changes nothing: each of them is still told as what it is.
    let answer = house.ask_keys("register", with(registration(2), json!({"key": "k3"}))).await;
    assert_eq!(answer.code(), "outcome_unknown");
    house.later(86_400_000);
    eventually("they are freed", async || (house.metric("nevertwice_key_records").await == 0.0).then_some(())).await;
    eventually("none is left to count", async || lapsed(0.0).await).await;
    assert_eq!(house.metric("nevertwice_key_answers_held_bytes").await, 0.0);
    assert!(house.metric("nevertwice_key_store_seconds_count{operation=\"sweep\"}").await > 0.0);
    assert_eq!(house.metric("nevertwice_steward_failures_total").await, 0.0);
}
