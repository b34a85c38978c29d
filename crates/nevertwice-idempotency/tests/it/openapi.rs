//! What a guard says of itself in an OpenAPI document is what its callers hear.

use std::sync::Arc;

use http::Method;
use nevertwice_idempotency::{Keys, MemoryStore, Policy, Routes};
use serde_json::Value;

use crate::house::{House, request};

fn fragment(policy: Policy) -> Value {
    let routes = Routes::new().guard(&[Method::POST], "/charges/{id}", policy);
    let keys = Keys::new(Arc::new(MemoryStore::default()), None, routes).expect("the policy is one");
    assert_eq!(keys.openapi(&Method::GET, "/charges/{charge}"), None, "no guard, no fragment");
    assert_eq!(keys.openapi(&Method::POST, "/charges"), None);
    keys.openapi(&Method::POST, "/charges/{charge}").expect("the route is guarded")
}

/// The statuses of refusals that a caller can bring about.
async fn heard(policy: Policy) -> Vec<u16> {
    let house = House::slow(Policy { refuse_old_keys: true, request_bytes_max: 50, ..policy }, 1);
    let first = house.spawn("k", "{}");
    tokio::task::yield_now().await;
    let old = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
    let large = "x".repeat(51);
    let mut told = Vec::new();
    for (key, body) in [("k", "{}"), ("k", "[]"), ("a, b", "{}"), (old, "{}"), ("large", large.as_str())] {
        told.push(house.post(key, body).await.status);
    }
    told.push(house.send(request("/charges", &[("user", "ann")], "{}")).await.status);
    told.push(house.send(request("/charges", &[("idempotency-key", "k")], "{}")).await.status);
    first.await.expect("it answers");
    told
}

#[tokio::test(start_paused = true)]
async fn every_refusal_that_is_heard_stands_in_the_fragment() {
    for policy in [Policy::ietf(), Policy::ucp(), Policy { missing_status: 428, in_progress_status: 425, ..Policy::ietf() }] {
        let responses = fragment(policy.clone())["responses"].clone();
        for status in heard(policy).await {
            let response = &responses[status.to_string()];
            assert!(response["description"].is_string(), "{status} is not told: {responses}");
            assert_eq!(response["content"]["application/problem+json"]["schema"]["properties"]["status"]["enum"][0], status);
        }
    }
}

#[test]
fn the_key_is_demanded_where_the_guard_demands_it() {
    for (policy, required) in [(Policy::ietf(), true), (Policy::stripe(), false)] {
        let fragment = fragment(policy);
        let key = &fragment["parameters"][0];
        assert_eq!((key["name"].as_str(), key["required"].as_bool()), (Some("Idempotency-Key"), Some(required)));
        assert_eq!(key["schema"]["maxLength"], 512, "255 characters, escaped and quoted");
    }
}

#[test]
fn the_marker_and_statuses_that_meet_are_told() {
    let policy = Policy { marker: http::HeaderName::from_static("replayed"), ..Policy::ucp() };
    let fragment = fragment(policy);
    assert_eq!(fragment["headers"]["replayed"]["schema"]["enum"][0], "true");
    let conflict = fragment["responses"]["409"]["description"].as_str().unwrap_or_default();
    for words in ["used for something else", "being worked on", "was not kept"] {
        assert!(conflict.contains(words), "{conflict}");
    }
    assert!(fragment["responses"]["409"]["headers"]["Retry-After"].is_object());
}
