//! Claims: each missing, wrong, too late and too early.

use serde_json::{Value, json};

use super::issuer::{AUDIENCE, By, ISSUER, LET_IN, TestIssuer, answer, claims, code};
use crate::house::{House, START_MS};

/// Signs claims that were changed, and says what the server says.
async fn changed(issuer: &TestIssuer, house: &House, change: impl FnOnce(&mut Value)) -> String {
    let mut claims = claims();
    change(&mut claims);
    code(house, issuer.sign(By::EdDsa, &By::EdDsa.header(), &claims)).await
}

#[tokio::test]
async fn every_claim_that_is_demanded_has_to_be_there_and_right() {
    let issuer = TestIssuer::new();
    let house = issuer.house().await;
    for name in ["iss", "aud", "sub", "exp"] {
        let missing = |claims: &mut Value| drop(claims.as_object_mut().expect("an object").remove(name));
        assert_eq!(changed(&issuer, &house, missing).await, "credentials_invalid", "{name}");
        for nonsense in
            [json!(null), json!(true), json!([]), json!({}), json!([1]), json!(""), json!([[AUDIENCE]]), json!("1 January 2027")]
        {
            let told = changed(&issuer, &house, |claims| claims[name] = nonsense.clone()).await;
            assert_eq!(told, "credentials_invalid", "{name}: {nonsense}");
        }
    }
    for (name, value) in [
        ("iss", json!("https://issuer.example/")),
        ("iss", json!("https://ISSUER.example")),
        ("iss", json!([ISSUER])),
        ("aud", json!("ticket")),
        ("aud", json!("tickets ")),
        ("aud", json!(["shop", "ticketsx"])),
        ("exp", json!(-1e300)),
        ("exp", json!(1e300)),
        ("exp", json!(u64::MAX)),
        ("exp", json!(i64::MAX)),
        ("nbf", json!("now")),
        ("nbf", json!([0])),
        ("nbf", json!(1e300)),
    ] {
        let told = changed(&issuer, &house, |claims| claims[name] = value.clone()).await;
        assert_eq!(told, "credentials_invalid", "{name}: {value}");
    }
    for (name, value) in [
        ("aud", json!(["shop", AUDIENCE])),
        ("exp", json!(START_MS / 1_000 + 60)),
        ("exp", json!((START_MS / 1_000) as f64 + 60.5)),
        ("nbf", json!(START_MS / 1_000)),
        ("nbf", json!(null)),
        ("iat", json!("whenever")),
        ("scope", json!("operator")),
        ("role", json!("operator")),
    ] {
        let told = changed(&issuer, &house, |claims| claims[name] = value.clone()).await;
        assert_eq!(told, LET_IN, "{name}: {value}");
    }
}

#[tokio::test]
async fn a_subject_is_a_principal_and_none_of_those_with_another_meaning() {
    let issuer = TestIssuer::new();
    let house = issuer.house().await;
    let longest = "s".repeat(128);
    for (subject, expected) in [
        ("ann", LET_IN),
        ("auth0|5f7c8ec7c33c6c004bbafe82", LET_IN),
        (longest.as_str(), LET_IN),
        ("nevertwice", "credentials_invalid"),
        ("operator", "credentials_invalid"),
        ("anyone", "credentials_invalid"),
        ("reader", "credentials_invalid"),
        ("local", "credentials_invalid"),
        ("", "credentials_invalid"),
        ("a b", "credentials_invalid"),
        ("an\u{f6}nym", "credentials_invalid"),
        ("a\nb", "credentials_invalid"),
        (&format!("{longest}s"), "credentials_invalid"),
    ] {
        assert_eq!(code(&house, issuer.about(subject, By::Es256)).await, expected, "{subject:?}");
    }
}

#[tokio::test]
async fn the_times_are_looked_at_with_the_servers_clock_and_a_leeway() {
    let issuer = TestIssuer::new();
    for leeway_ms in [0, 30_000] {
        let house = House::configured(|config| {
            issuer.configure(config);
            config.jwt_leeway_ms = leeway_ms;
        })
        .await;
        let mut times = claims();
        times["nbf"] = json!(START_MS / 1_000 + 100);
        times["exp"] = json!(START_MS / 1_000 + 200);
        let jwt = issuer.sign(By::Hs256, &By::Hs256.header(), &times);
        for (at_ms, expected) in [
            (100_000 - leeway_ms - 1, "credentials_invalid"),
            (100_000 - leeway_ms, LET_IN),
            (200_000 + leeway_ms - 1, LET_IN),
            (200_000 + leeway_ms, "credentials_expired"),
            (900_000, "credentials_expired"),
        ] {
            house.clock.set(START_MS + at_ms);
            assert_eq!(code(&house, &jwt).await, expected, "{leeway_ms} {at_ms}");
        }
    }
}

/// What a JWT says is believed, and so told, only of one that is genuine.
#[tokio::test]
async fn nothing_is_said_of_the_claims_of_what_is_not_genuine() {
    let issuer = TestIssuer::new();
    let (house, stranger) = (issuer.house().await, TestIssuer::new());
    let mut over = claims();
    over["exp"] = json!(1);
    for by in By::ALL {
        let genuine = answer(&house, issuer.sign(by, &by.header(), &over)).await;
        assert_eq!(genuine.code(), "credentials_expired");
        assert!(genuine.header("www-authenticate").is_some_and(|challenge| challenge.contains("invalid_token")), "{genuine:?}");
        let forged = answer(&house, stranger.sign(by, &by.header(), &over)).await;
        assert_eq!(forged.code(), "credentials_invalid", "{by:?}");
        assert!(forged.text.contains("signature"), "{}", forged.text);
    }
}

#[tokio::test]
async fn a_member_that_comes_twice_is_refused() {
    let issuer = TestIssuer::new();
    let house = issuer.house().await;
    let twice = claims().to_string().replace("\"sub\":", "\"sub\":\"bob\",\"sub\":");
    assert_eq!(code(&house, issuer.sign_texts(By::EdDsa, By::EdDsa.header().to_string(), twice)).await, "credentials_invalid");
    let twice = "{\"alg\":\"none\",\"alg\":\"EdDSA\"}";
    assert_eq!(code(&house, issuer.sign_texts(By::EdDsa, twice, claims().to_string())).await, "credentials_invalid");
}
