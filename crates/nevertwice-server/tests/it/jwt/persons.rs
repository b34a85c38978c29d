//! What a person may do who comes with a JWT: what is theirs, and nothing else.

use nevertwice_server::config::{Secret, Shards};
use nevertwice_server::{Access, Config, Route, routes};
use serde_json::{Value, json};

use super::issuer::{By, TestIssuer, code, with_jwt};
use crate::access_table::{ask, path};
use crate::callers::OPERATOR;
use crate::client::{Answer, Ask};
use crate::house::House;

const ORDERS: &str = "/v1/markets/wc/orders";

/// A market with the accounts `ann` and `bob`, a sale with two candidates, and an operator.
struct Fair {
    issuer: TestIssuer,
    house: House,
}

impl Fair {
    async fn open(change: impl FnOnce(&mut Config)) -> Self {
        let issuer = TestIssuer::new();
        let house = House::configured(|config| {
            issuer.configure(config);
            config.operator_key = Some(Secret::new(OPERATOR));
            change(config);
        })
        .await;
        let fair = Self { issuer, house };
        let limits = json!({"quantity_max": 9, "holding_max": 9, "house_loss_max": 0});
        let sale = json!({"sale": "s", "levels": [{"level": "n", "cap": null}], "total_cap": 5, "opens_at": 0, "closes_at": 9_000_000_000_000_i64});
        for (key, path, body) in [
            ("1", "/v1/markets", json!({"market": "wc", "decimals": 0, "fee_bps": 0, "limits": limits, "mode": "open"})),
            ("2", "/v1/markets/wc/instruments", json!({"instrument": "I", "base": 1, "slope": 0})),
            ("3", "/v1/markets/wc/accounts", json!({"account": "ann", "opening_balance": 100})),
            ("4", "/v1/markets/wc/accounts", json!({"account": "bob", "opening_balance": 100})),
            ("5", "/v1/sales", sale),
            ("6", "/v1/sales/s/candidates", json!({"candidates": [{"code": "A1"}, {"code": "B2"}]})),
            ("7", "/v1/sales/s/open", json!({"open": true})),
        ] {
            fair.house.send(with_jwt(Ask::post(path, key, body.to_string()), OPERATOR)).await.result();
        }
        fair
    }

    async fn send(&self, who: &str, ask: Ask) -> Answer {
        self.house.send(with_jwt(ask, self.issuer.about(who, By::EdDsa))).await
    }

    async fn order(&self, who: &str, key: &str, account: &str) -> Answer {
        self.send(who, Ask::post(ORDERS, key, order(account).to_string())).await
    }
}

fn order(account: &str) -> Value {
    json!({"account": account, "instrument": "I", "side": "buy", "quantity": 1})
}

#[tokio::test]
async fn a_person_trades_with_its_own_account_alone() {
    let fair = Fair::open(|_| {}).await;
    assert_eq!(fair.order("ann", "k", "ann").await.status, 201);
    assert_eq!(fair.order("ann", "k", "ann").await.status, 200, "the same again");
    assert_eq!(fair.order("bob", "k", "bob").await.status, 201, "another's key is another");
    for account in ["bob", "house", "nobody-has-it"] {
        let refused = fair.order("ann", "other", account).await;
        assert_eq!((refused.status, refused.code().as_str()), (403, "not_owner"), "{account}");
    }
    // The key stayed free.
    assert_eq!(fair.order("ann", "other", "ann").await.status, 201);
    for (who, account, status) in [("ann", "ann", 200), ("ann", "bob", 403), ("bob", "ann", 403), ("ann", "nobody", 403)] {
        for path in [format!("/v1/markets/wc/accounts/{account}"), format!("/v1/markets/wc/accounts/{account}/holdings")] {
            assert_eq!(fair.send(who, Ask::get(&path)).await.status, status, "{who} {path}");
        }
    }
}

#[tokio::test]
async fn a_booking_of_somebody_else_is_not_shown_to_who_knows_its_code() {
    let fair = Fair::open(|_| {}).await;
    let book = |who: &'static str, key: &'static str| {
        let ask = Ask::post("/v1/sales/s/bookings", key, json!({"code": "A1", "level": "n"}).to_string());
        fair.send(who, ask)
    };
    assert_eq!(book("ann", "1").await.status, 201);
    let own = book("ann", "2").await;
    assert_eq!((own.code().as_str(), own.json()["figures"]["booking"]["seat"].clone()), ("already_booked", json!(1)));
    let strange = book("eve", "1").await;
    assert_eq!((strange.status, strange.code().as_str()), (409, "already_booked"));
    assert_eq!(strange.json()["figures"]["booking"], Value::Null, "{}", strange.json());
    assert!(!strange.json().to_string().contains("payments"), "{}", strange.json());
}

#[tokio::test]
async fn a_batch_of_a_person_is_for_that_person() {
    let fair = Fair::open(|_| {}).await;
    let line = |key: &str, principal: Option<&str>, account: &str| {
        let mut line = json!({"key": key, "order": order(account)});
        if let Some(principal) = principal {
            line["principal"] = json!(principal);
        }
        line.to_string()
    };
    let lines = [
        line("1", None, "ann"),
        line("2", Some("ann"), "ann"),
        line("3", Some("bob"), "ann"),
        line("4", Some("bob"), "bob"),
        line("5", None, "bob"),
        line("6", Some("operator"), "ann"),
    ];
    let ask = Ask::post("/v1/markets/wc/orders/batch", "", lines.join("\n")).without("idempotency-key").without("content-type");
    let answer = fair.send("ann", ask.header("content-type", "application/x-ndjson")).await;
    let told: Vec<(u64, Option<String>)> = answer
        .text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .map(|line: Value| (line["status"].as_u64().expect("a status"), line["problem"]["code"].as_str().map(str::to_owned)))
        .collect();
    let refused = |status: u64, code: &str| (status, Some(code.to_owned()));
    assert_eq!(
        told,
        [
            (201, None),
            (201, None),
            refused(403, "role_insufficient"),
            refused(403, "role_insufficient"),
            refused(403, "not_owner"),
            refused(400, "principal_invalid"),
        ]
    );
    let bob = fair.send("bob", Ask::get("/v1/markets/wc/accounts/bob")).await.result();
    assert_eq!(bob["balance"], 100);
}

#[tokio::test]
async fn a_person_sees_and_releases_its_own_bookings() {
    let fair = Fair::open(|_| {}).await;
    let booked = fair.send("ann", Ask::post("/v1/sales/s/bookings", "k", r#"{"code":"A1","level":"n"}"#)).await;
    assert_eq!(booked.status, 201, "{}", booked.text);
    let booked = booked.json();
    let at = format!("/v1/sales/s/bookings/{}", booked["result"]["booking"].as_str().expect("an id"));
    let owner = format!(r#"{{"payment":{}}}"#, booked["state"]["payment"]);
    for (who, status) in [("bob", 403), ("ann", 200)] {
        assert_eq!(fair.send(who, Ask::get(&at)).await.status, status, "{who}");
        assert_eq!(fair.send(who, Ask::post(format!("{at}/release"), "r", &owner)).await.status, status, "{who}");
    }
}

/// An intent is its principal's, in whatever way it comes.
#[tokio::test]
async fn a_service_and_a_jwt_of_one_principal_share_their_intents() {
    let service = "service-key-0123456789";
    let fair = Fair::open(|config| config.service_key = Some(Secret::new(service))).await;
    let by_service = Ask::post(ORDERS, "k", order("ann").to_string()).header("principal", "ann");
    assert_eq!(fair.house.send(with_jwt(by_service.clone(), service)).await.status, 201);
    assert_eq!(fair.order("ann", "k", "ann").await.status, 200);
    assert_eq!(fair.house.send(with_jwt(by_service, service)).await.status, 200);
}

#[tokio::test]
async fn rates_and_requests_under_way_are_bounded_for_each_subject() {
    let fair = Fair::open(|config| {
        config.rate_per_principal = 1;
        config.burst_per_principal = 3;
    })
    .await;
    let look = async |who: &str| fair.send(who, Ask::get("/v1/markets/wc")).await;
    for _ in 0..3 {
        assert_eq!(look("ann").await.status, 200);
    }
    let refused = look("ann").await;
    assert_eq!((refused.status, refused.code().as_str()), (429, "rate_limited"));
    assert_eq!(refused.json()["figures"]["limit"], "principal");
    assert_eq!(look("bob").await.status, 200, "another has another bucket");
    // A JWT anew is the same person.
    let again = fair.house.send(with_jwt(Ask::get("/v1/markets/wc"), fair.issuer.about("ann", By::Hs256))).await;
    assert_eq!(again.status, 429);
    fair.house.later(1_000);
    assert_eq!(look("ann").await.status, 200);
}

#[tokio::test]
async fn all_jwts_of_the_issuer_are_one_credential() {
    let fair = Fair::open(|config| {
        config.rate_per_key = 1;
        config.burst_per_key = 2;
    })
    .await;
    for (who, status) in [("ann", 200), ("bob", 200), ("cid", 429)] {
        assert_eq!(fair.send(who, Ask::get("/v1/markets/wc")).await.status, status, "{who}");
    }
}

#[tokio::test]
async fn jwts_are_for_the_configured_shards() {
    let issuer = TestIssuer::new();
    let house = House::configured(|config| {
        issuer.configure(config);
        config.jwt_shards = "market/market, sale/other".parse::<Shards>().expect("shards");
    })
    .await;
    let jwt = issuer.about("account", By::Es256);
    let mut counts = [0; 2];
    for route in routes().iter().filter(|route| matches!(route.access, Access::Principal | Access::Service)) {
        let answer = house.send(with_jwt(ask(route), &jwt)).await;
        let is_here = route.path.contains("{market}");
        let is_refused = answer.status == 403 && answer.code() == "scope_insufficient";
        assert_eq!(is_refused, !is_here, "{route:?} {answer:?}");
        counts[usize::from(is_here)] += 1;
    }
    assert!(counts.iter().all(|count| *count >= 4), "{counts:?}");
}

/// Every route that names an account asks whose it is.
#[tokio::test]
async fn no_route_shows_another_persons_account() {
    let issuer = TestIssuer::new();
    let house = issuer.house().await;
    let with_account: Vec<&Route> =
        routes().iter().filter(|route| route.path.contains("{account}") && route.access == Access::Principal).collect();
    assert!(with_account.len() >= 2, "{with_account:?}");
    for route in with_account {
        let answer = house.send(with_jwt(Ask::get(path(route)), issuer.about("ann", By::EdDsa))).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "not_owner"), "{route:?}");
    }
}

/// What an entry and the log say of who came is the issuer's name, and no part of a JWT.
#[tokio::test]
async fn the_log_names_the_issuer_and_never_the_jwt() {
    let fair = Fair::open(|config| config.jwt_issuer = Some("https://issuer.example".to_owned())).await;
    let jwt = fair.issuer.about("ann", By::EdDsa);
    let traced = Ask::post(ORDERS, "traced", order("ann").to_string())
        .header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    assert_eq!(fair.house.send(with_jwt(traced, &jwt)).await.status, 201);
    let asked = Ask::get("/v1/explain?principal=ann&key=traced&shard=market/wc");
    let explained = fair.house.send(with_jwt(asked, OPERATOR)).await;
    assert!(explained.text.contains("jwt:https://issuer.example"), "{}", explained.text);
    assert!(explained.text.contains("\"principal\""), "{}", explained.text);
    let command = fair.send("ann", Ask::post("/v1/markets", "9", "{}")).await;
    assert_eq!(command.code(), "role_insufficient");
    let log = crate::secrets::log();
    assert!(log.contains("who=\"jwt:https://issuer.example\"") || log.contains("credential=\"jwt:https://issuer.example\""));
    let parts: Vec<&str> = jwt.split('.').collect();
    for text in [&log, &explained.text, &command.text] {
        assert!(!text.contains(parts[1]) && !text.contains(parts[2]));
    }
    assert_eq!(code(&fair.house, &jwt).await, "unknown_market");
}
