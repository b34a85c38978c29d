//! The tower layer with axum, under every profile that comes with the suite.

use nevertwice_idempotency::KeysLayer;
use nevertwice_testkit::conformance::count;

use crate::serve::{ask, serve};
use crate::{endpoints, guards};

async fn check(profile: &str) {
    let endpoints = endpoints::Endpoints::default();
    let keys = guards::keys(profile).expect("it is a profile").expect("its policy is one");
    let base = serve(endpoints.guarded().layer(KeysLayer::new(keys)).merge(endpoints.control())).await;
    let said = ask(base.clone(), base, profile, &[]).await;
    assert!(said.tally.is_conformant(), "{}", said.failures());
    count(&format!("http-layer-{profile}"), said.tally.passed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_layer_keeps_the_contract_of_the_draft() {
    check("ietf").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_layer_keeps_the_contract_as_stripe_has_it() {
    check("stripe").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_layer_keeps_the_contract_as_ucp_has_it() {
    check("ucp").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_layer_keeps_the_contract_with_every_choice_the_other_way_round() {
    check("choices").await;
}
