//! Who may ask about whose keys, and what operators may do.

use nevertwice_server::Config;
use nevertwice_server::config::Secret;
use serde_json::{Value, json};

use super::guard::{call, completion, created, owner, registration, with};
use crate::callers::{OPERATOR, SERVICE};
use crate::client::{Answer, Ask};
use crate::house::House;
use crate::jwt::issuer::{By, TestIssuer, with_jwt};
use crate::secrets::log;

fn guarded(config: &mut Config) {
    config.operator_key = Some(Secret::new(OPERATOR));
    config.service_key = Some(Secret::new(SERVICE));
}

async fn send(house: &House, credential: &str, principal: &str, ask: Ask) -> Answer {
    let ask = if principal.is_empty() { ask } else { ask.header("principal", principal) };
    house.send(ask.header("authorization", format!("Bearer {credential}"))).await
}

fn inspect(key: &str) -> Ask {
    Ask::get(format!("/v1/keys/inspect?key={key}"))
}

#[tokio::test]
async fn a_service_has_the_keys_of_its_principals_and_of_nobody_else() {
    let house = House::configured(guarded).await;
    let ann = send(&house, SERVICE, "ann", call("register", &registration(1))).await.json();
    let bob = send(&house, SERVICE, "bob", call("register", &registration(1))).await.json();
    assert_eq!((&ann["registration"], &bob["registration"]), (&json!("fresh"), &json!("fresh")));
    let answered = completion(1, &ann["generation"], created());
    assert_eq!(send(&house, SERVICE, "ann", call("complete", &answered)).await.status, 200);
    // The right owner and the right number, and yet another's key.
    assert_eq!(send(&house, SERVICE, "eve", call("complete", &answered)).await.code(), "unknown_key");
    assert_eq!(send(&house, SERVICE, "eve", inspect("k")).await.code(), "unknown_key");
    assert_eq!(send(&house, SERVICE, "", call("register", &registration(1))).await.code(), "principal_missing");
    let shown = send(&house, SERVICE, "bob", inspect("k")).await.json();
    assert_eq!((&shown["principal"], &shown["state"]), (&json!("bob"), &json!("in_progress")));
}

#[tokio::test]
async fn a_person_has_its_own_keys() {
    let issuer = TestIssuer::new();
    let house = House::configured(|config| {
        guarded(config);
        issuer.configure(config);
    })
    .await;
    let ask = async |who: &str, ask: Ask| house.send(with_jwt(ask, issuer.about(who, By::EdDsa))).await;
    let claimed = ask("ann", call("register", &registration(1))).await.json();
    assert_eq!(claimed["registration"], "fresh");
    assert_eq!(ask("bob", inspect("k")).await.code(), "unknown_key");
    assert_eq!(ask("bob", inspect("k").header("principal", "ann")).await.code(), "role_insufficient");
    let shown = ask("ann", inspect("k")).await.json();
    assert_eq!((&shown["principal"], &shown["owner"]), (&json!("ann"), &json!(owner(1))));
    let release = json!({"key": "k", "generation": claimed["generation"]});
    let answer = ask("ann", call("release", &release)).await;
    assert_eq!((answer.code().as_str(), &answer.json()["figures"]["member"]), ("body_invalid", &json!("owner")));
    let release = with(release, json!({"owner": owner(1)}));
    assert_eq!(ask("ann", call("release", &release)).await.status, 200);
}

#[tokio::test]
async fn an_operator_looks_at_any_key_and_renews_or_releases_the_claim_that_it_saw() {
    let house = House::configured(guarded).await;
    let scoped = with(registration(1), json!({"scope": "charges"}));
    let claimed = send(&house, SERVICE, "ann", call("register", &scoped)).await.json();
    house.later(60_000);
    let at = Ask::get("/v1/keys/inspect?key=k&scope=charges");
    let shown = send(&house, OPERATOR, "ann", at.clone()).await.json();
    let generation = shown["generation"].clone();
    assert_eq!(generation, claimed["generation"]);
    assert_eq!((&shown["is_lapsed"], &shown["scope"], &shown["owner"]), (&json!(true), &json!("charges"), &json!(owner(1))));
    let named = |generation: &Value| json!({"key": "k", "scope": "charges", "generation": generation});
    // A service has to name the owner, and nobody may name another claim than the present one.
    let answer = send(&house, SERVICE, "ann", call("release", &named(&generation))).await;
    assert_eq!(answer.json()["figures"]["member"], "owner");
    for verb in ["renew", "release"] {
        let answer = send(&house, OPERATOR, "ann", call(verb, &named(&json!(7)))).await;
        assert_eq!((answer.code().as_str(), &answer.json()["figures"]["generation"]), ("stale_owner", &generation), "{verb}");
        assert_eq!(send(&house, OPERATOR, "bob", call(verb, &named(&generation))).await.code(), "unknown_key", "{verb}");
    }
    let renewed = send(&house, OPERATOR, "ann", call("renew", &with(named(&generation), json!({"lease_ms": 600_000})))).await.json();
    assert_eq!(renewed["lease_expires_at"].as_i64(), renewed["at_ms"].as_i64().map(|now| now + 600_000));
    // Asked twice, it has happened once.
    for _ in 0..2 {
        let released = send(&house, OPERATOR, "ann", call("release", &named(&generation))).await;
        assert_eq!((released.status, &released.json()["owner"]), (200, &json!(owner(1))), "{}", released.text);
    }
    // Who worked on it all the same finds out, and the next attempt has a number of its own.
    let late = with(completion(1, &generation, created()), json!({"scope": "charges"}));
    assert_eq!(send(&house, SERVICE, "ann", call("complete", &late)).await.code(), "key_released");
    let next = send(&house, SERVICE, "ann", call("register", &with(scoped, json!({"owner": owner(2)})))).await.json();
    assert!(next["generation"].as_i64() > generation.as_i64(), "{next}");
    let late = send(&house, OPERATOR, "ann", call("release", &named(&generation))).await;
    assert_eq!(late.code(), "stale_owner", "a late copy of a release frees nobody else's claim");
    assert_eq!(send(&house, OPERATOR, "ann", at).await.json()["state"], "in_progress");
}

#[tokio::test]
async fn an_answer_is_never_taken_back_by_anybody() {
    let house = House::configured(guarded).await;
    let claimed = send(&house, SERVICE, "ann", call("register", &registration(1))).await.json();
    send(&house, SERVICE, "ann", call("complete", &completion(1, &claimed["generation"], created()))).await;
    let release = json!({"key": "k", "generation": claimed["generation"]});
    assert_eq!(send(&house, OPERATOR, "ann", call("release", &release)).await.code(), "key_completed");
    let replay = send(&house, SERVICE, "ann", call("register", &registration(2))).await.json();
    assert_eq!(replay["answer"], created());
}

#[tokio::test]
async fn what_an_operator_does_to_a_key_stands_in_the_log_with_who_and_from_where() {
    let house = House::configured(guarded).await;
    let claimed = send(&house, SERVICE, "told-ann", call("register", &registration(1))).await.json();
    let release = json!({"key": "k", "generation": claimed["generation"]});
    let refused = with(release.clone(), json!({"generation": 7}));
    send(&house, OPERATOR, "told-ann", call("release", &refused)).await;
    send(&house, OPERATOR, "told-ann", call("release", &release)).await;
    let log = log();
    let told: Vec<&str> = log.lines().filter(|line| line.contains("told-ann")).collect();
    for line in ["an operator's command on a key's record was refused", "an operator changed a key's record"] {
        let line = told.iter().find(|told| told.contains(line)).unwrap_or_else(|| panic!("nothing says {line}: {told:?}"));
        for part in ["release", "operator", "127.0.0.1", "generation="] {
            assert!(line.contains(part), "{line} does not say {part}");
        }
    }
}

/// What the audit tells, without what every fact has.
async fn audited(house: &House) -> Vec<Value> {
    let page = send(house, OPERATOR, "", Ask::get("/v1/audit")).await.json();
    page["facts"].as_array().expect("a page has facts").clone()
}

#[tokio::test]
async fn what_an_operator_does_to_a_key_stands_in_the_audit_with_what_was_before_and_after() {
    let house = House::configured(guarded).await;
    let claimed = send(&house, SERVICE, "ann", call("register", &with(registration(1), json!({"scope": "charges"})))).await.json();
    let generation = claimed["generation"].clone();
    assert_eq!(audited(&house).await, Vec::<Value>::new(), "a guard's own calls are no operator's");
    let named = json!({"key": "k", "scope": "charges", "generation": generation});
    house.later(70_000);
    for refused in [json!({"generation": 7}), json!({"key": "other"})] {
        assert_ne!(send(&house, OPERATOR, "ann", call("release", &with(named.clone(), refused))).await.status, 200);
    }
    assert_eq!(audited(&house).await, Vec::<Value>::new(), "what was refused changed nothing");
    let renewed = send(&house, OPERATOR, "ann", call("renew", &with(named.clone(), json!({"lease_ms": 600_000})))).await;
    assert_eq!(renewed.status, 200, "{}", renewed.text);
    // Asked twice, it has happened once.
    for _ in 0..2 {
        assert_eq!(send(&house, OPERATOR, "ann", call("release", &named)).await.status, 200);
    }
    let facts = audited(&house).await;
    let origin = &facts[0]["origin"];
    assert_eq!((&origin["name"], &origin["role"]), (&json!("operator"), &json!("operator")));
    assert!(origin["address"].as_str().is_some_and(|address| address.starts_with("127.0.0.1")), "{origin}");
    let told: Vec<Value> = facts
        .iter()
        .map(|fact| json!([fact["command"], fact["principal"], fact["key"], fact["about"], fact["before"], fact["after"]]))
        .collect();
    assert_eq!(
        told,
        [
            json!(["renew_lease", "ann", "k", "charges", {"state": "in_progress", "lease_ms": -10_000},
                {"state": "in_progress", "lease_ms": 600_000, "generation": generation}]),
            json!(["release_key", "ann", "k", "charges", {"state": "in_progress", "lease_ms": 600_000},
                {"state": "free", "generation": generation}]),
        ]
    );
    assert!(facts.iter().all(|fact| fact.get("shard").is_none() && fact.get("position").is_none()));
}

#[tokio::test]
async fn an_operators_own_claims_and_answers_are_audited_as_well() {
    let house = House::configured(guarded).await;
    let claimed = send(&house, OPERATOR, "ann", call("register", &registration(1))).await.json();
    send(&house, OPERATOR, "ann", call("register", &registration(1))).await;
    let answered = completion(1, &claimed["generation"], created());
    for _ in 0..2 {
        assert_eq!(send(&house, OPERATOR, "ann", call("complete", &answered)).await.status, 200);
    }
    assert_eq!(send(&house, OPERATOR, "ann", call("register", &registration(2))).await.json()["registration"], "replay");
    let facts = audited(&house).await;
    let commands: Vec<&Value> = facts.iter().map(|fact| &fact["command"]).collect();
    assert_eq!(commands, ["register_key", "complete_key"]);
    assert_eq!((&facts[0]["before"], &facts[0]["after"]["state"]), (&Value::Null, &json!("in_progress")));
    let after = &facts[1]["after"];
    assert_eq!((&after["state"], &after["status"], &after["is_tombstone"]), (&json!("completed"), &json!(201), &json!(false)));
    assert!(!facts[1].to_string().contains("charge"), "the answer itself is not shown: {}", facts[1]);
}

#[tokio::test]
async fn without_credentials_a_guards_calls_are_traffic_and_what_names_no_owner_is_audited() {
    let house = House::open().await;
    let claimed = house.send(call("register", &registration(1)).header("principal", "ann")).await.json();
    let release = json!({"key": "k", "generation": claimed["generation"]});
    let owned = with(release.clone(), json!({"owner": owner(1), "lease_ms": 1_000}));
    assert_eq!(house.send(call("renew", &owned).header("principal", "ann")).await.status, 200);
    assert_eq!(house.send(call("release", &release).header("principal", "ann")).await.status, 200);
    let page = house.get("/v1/audit").await.json();
    let commands: Vec<&Value> = page["facts"].as_array().expect("facts").iter().map(|fact| &fact["command"]).collect();
    assert_eq!(commands, ["release_key"]);
}
