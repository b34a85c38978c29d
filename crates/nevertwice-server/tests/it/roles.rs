//! The two configured keys, principals, and a server without credentials.

use nevertwice_server::config::Secret;
use nevertwice_server::{Config, Route, Server, routes};

use crate::access_table::ask;
use crate::callers::{OPERATOR, SERVICE};
use crate::client::{Answer, Ask};
use crate::house::{House, Plan};

async fn guarded() -> House {
    House::configured(|config| {
        config.operator_key = Some(Secret::new(OPERATOR));
        config.service_key = Some(Secret::new(SERVICE));
    })
    .await
}

async fn send(house: &House, ask: Ask, key: &str) -> Answer {
    house.send(ask.header("authorization", format!("Bearer {key}"))).await
}

#[tokio::test]
async fn every_command_asks_for_a_key_and_for_json() {
    let house = House::open().await.with_market().await.with_sale().await;
    let commands: Vec<&Route> = routes().iter().filter(|route| route.keyed || route.fenced).collect();
    assert!(commands.len() >= 19, "{commands:?}");
    for route in commands {
        let whole = ask(route);
        let keyless = house.send(whole.clone().without("idempotency-key")).await;
        let expected = if route.fenced { "body_invalid" } else { "idempotency_key_missing" };
        assert_eq!((keyless.status, keyless.code().as_str()), (400, expected), "{route:?}");
        for (body, codes) in [
            (&b"code=A1"[..], ["body_malformed"].as_slice()),
            (b"{\"a\":", &["body_malformed", "body_invalid"]),
            (b"{\"\xff\":1}", &["body_malformed", "body_invalid"]),
            (b"", &["body_malformed"]),
            (b"{\"no such member\":1}", &["body_invalid"]),
        ] {
            let answer = house.send(whole.clone().body(body)).await;
            let code = answer.code();
            assert!(answer.status == 400 && codes.contains(&code.as_str()), "{route:?} {}: {code}", body.escape_ascii());
        }
        let form = whole.without("content-type").header("content-type", "application/x-www-form-urlencoded");
        assert_eq!(house.send(form).await.code(), "media_type_unsupported", "{route:?}");
    }
}

#[tokio::test]
async fn what_is_not_exactly_the_key_is_nobody() {
    let house = guarded().await;
    let ask = Ask::get("/metrics");
    for line in [
        "",
        "Bearer",
        "Bearer ",
        "Basic b3A6",
        OPERATOR,
        &format!("Bearer  {OPERATOR}"),
        &format!("Bearer {OPERATOR}x"),
        &format!("Bearer {}", &OPERATOR[1..]),
    ] {
        assert_eq!(house.send(ask.clone().header("authorization", line)).await.code(), "credentials_missing", "{line}");
    }
    let line = format!("Bearer {OPERATOR}");
    let twice = ask.clone().header("authorization", &line).header("authorization", &line);
    assert_eq!(house.send(twice).await.code(), "credentials_missing");
    assert_eq!(house.send(ask.header("authorization", format!("bearer {OPERATOR}"))).await.status, 200);
}

#[tokio::test]
async fn a_service_acts_for_its_principals_and_not_for_others_keys() {
    let house = guarded().await;
    let market = r#"{"market":"wc","decimals":0,"fee_bps":0,"limits":{"quantity_max":9,"holding_max":9,"house_loss_max":0},"mode":"open"}"#;
    send(&house, Ask::post("/v1/markets", "1", market), OPERATOR).await.result();
    send(&house, Ask::post("/v1/markets/wc/instruments", "2", r#"{"instrument":"I","base":1,"slope":0}"#), OPERATOR).await.result();
    send(&house, Ask::post("/v1/markets/wc/accounts", "3", r#"{"account":"a","opening_balance":100}"#), OPERATOR).await.result();
    let order = Ask::post("/v1/markets/wc/orders", "k", r#"{"account":"a","instrument":"I","side":"buy","quantity":1}"#);
    let first = send(&house, order.clone().header("principal", "ann"), SERVICE).await;
    let other = send(&house, order.clone().header("principal", "bob"), SERVICE).await;
    let again = send(&house, order.header("principal", "ann"), SERVICE).await;
    assert_eq!((first.status, other.status, again.status), (201, 201, 200));
}

#[tokio::test]
async fn a_service_sees_and_releases_only_bookings_of_its_principal() {
    let house = guarded().await;
    let sale = r#"{"sale":"s","levels":[{"level":"n","cap":null}],"total_cap":5,"opens_at":0,"closes_at":9000000000000}"#;
    send(&house, Ask::post("/v1/sales", "1", sale), OPERATOR).await.result();
    send(&house, Ask::post("/v1/sales/s/candidates", "2", r#"{"candidates":[{"code":"A1"}]}"#), OPERATOR).await.result();
    send(&house, Ask::post("/v1/sales/s/open", "3", r#"{"open":true}"#), OPERATOR).await.result();
    let book = Ask::post("/v1/sales/s/bookings", "k", r#"{"code":"A1","level":"n"}"#).header("principal", "ann");
    let booked = send(&house, book, SERVICE).await.json();
    let at = format!("/v1/sales/s/bookings/{}", booked["result"]["booking"].as_str().expect("an id"));
    let owner = format!(r#"{{"payment":{}}}"#, booked["state"]["payment"]);
    for (principal, allowed) in [("bob", false), ("ann", true)] {
        let shown = send(&house, Ask::get(&at).header("principal", principal), SERVICE).await;
        assert_eq!(shown.status, if allowed { 200 } else { 403 });
        let release = Ask::post(format!("{at}/release"), "r", &owner).header("principal", principal);
        let released = send(&house, release, SERVICE).await;
        assert_eq!(released.status, if allowed { 200 } else { 403 }, "{}", released.text);
        // The payment is the right one; that is not enough.
        assert!(allowed || (shown.code() == "not_owner" && released.code() == "not_owner"), "{}", released.text);
        let everybodys = Ask::post(format!("{at}/release"), "r2", "{}").header("principal", principal);
        assert_eq!(send(&house, everybodys, SERVICE).await.code(), "body_invalid");
    }
}

#[tokio::test]
async fn without_keys_the_server_binds_to_loopback_only() {
    let config = Config { listen: ([0, 0, 0, 0], 0).into(), ..Config::default() };
    let house = House::open().await;
    let parts = nevertwice_server::Parts::new(house.backend.clone(), [0; 32]);
    let error = Server::bind(&config, parts).await.expect_err("it does not bind");
    assert_eq!(error.code.code(), "credentials_required");
    assert!(error.to_string().contains("Set a key"), "{error}");
    let taken = Config { listen: house.addr, ..Config::default() };
    let parts = nevertwice_server::Parts::new(house.backend.clone(), [0; 32]);
    assert_eq!(Server::bind(&taken, parts).await.expect_err("it is taken").code.code(), "address_in_use");
    let mut plan = Plan::default();
    plan.config.operator_key = Some(Secret::new(OPERATOR));
    plan.config.listen = ([0, 0, 0, 0], 0).into();
    assert!(plan.config.check().is_ok());
}

#[tokio::test]
async fn without_keys_the_server_answers_under_its_own_names_only() {
    let open = House::configured(|config| config.public_url = Some("https://Shop.example:8443/tickets".to_owned())).await;
    let guarded = guarded().await;
    let ask = |host: &[u8]| Ask::get("/healthz").without("host").header("host", host);
    for host in [
        &b"localhost"[..],
        b"LocalHost:8080",
        b"127.0.0.1",
        b"127.0.0.1:8080",
        b"127.9.9.9:1",
        b"[::1]",
        b"[::1]:8080",
        b"shop.example",
        b"SHOP.example:8443",
    ] {
        assert_eq!(open.send(ask(host)).await.status, 200, "{}", host.escape_ascii());
    }
    for host in [
        &b""[..],
        b"evil.example",
        b"evil.example:8080",
        b"localhost.evil.example",
        b"127.0.0.1.evil.example",
        b"evil.example#localhost",
        b"10.0.0.1:8080",
        b"[::2]",
        b"[::1",
        b"::1",
        b"[::1].evil.example",
        b"shop.example.evil.example",
        b"\xff",
    ] {
        let answer = open.send(ask(host)).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "role_insufficient"), "{}", host.escape_ascii());
        // Who has to know a key may use any name.
        assert_eq!(guarded.send(ask(host)).await.status, 200, "{}", host.escape_ascii());
    }
    for ask in [Ask::get("/healthz").without("host"), ask(b"localhost").header("host", "evil.example")] {
        assert_eq!(open.send(ask).await.code(), "role_insufficient");
    }
    // It is so for every route, and before anything is done.
    for route in routes() {
        let answer = open.send(self::ask(route).without("host").header("host", "evil.example")).await;
        assert_eq!(answer.code(), "role_insufficient", "{route:?}");
    }
}
