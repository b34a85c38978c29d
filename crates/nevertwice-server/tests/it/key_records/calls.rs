//! The five calls, and how owner and generation tell who may do what.

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::guard::{call, completion, created, owner, registration, with};
use crate::client::send;
use crate::house::{House, START_MS};

const LEASE_MS: i64 = 60_000;

#[tokio::test]
async fn a_key_is_claimed_worked_on_answered_and_repeated() {
    let house = House::open().await;
    let claimed = house.on_keys("register", registration(1)).await;
    let generation = START_MS;
    assert_eq!(
        claimed,
        json!({"registration": "fresh", "owner": owner(1), "generation": generation, "lease_expires_at": START_MS + LEASE_MS,
            "taken_over": false, "at_ms": START_MS, "levels": ["decided"]})
    );
    // Another attempt has to wait for what is left of the lease.
    house.later(1_500);
    let answer = house.ask_keys("register", registration(2)).await;
    assert_eq!((answer.status, answer.code().as_str()), (409, "key_in_progress"));
    assert_eq!(answer.header("retry-after"), Some("59"));
    assert_eq!(answer.json()["figures"], json!({"generation": generation, "lease_expires_at": START_MS + LEASE_MS}));
    let renewed = house.on_keys("renew", json!({"key": "k", "owner": owner(1), "generation": generation})).await;
    assert_eq!(renewed["lease_expires_at"], START_MS + 1_500 + LEASE_MS);
    let completed = house.on_keys("complete", completion(1, &json!(generation), created())).await;
    assert_eq!((&completed["kept_before"], &completed["generation"]), (&json!(false), &json!(generation)));
    for attempt in [1, 2] {
        let replay = house.on_keys("register", registration(attempt)).await;
        assert_eq!((&replay["registration"], &replay["generation"]), (&json!("replay"), &json!(generation)));
        assert_eq!(replay["answer"], created());
        assert_eq!((&replay["owner"], &replay["lease_expires_at"]), (&Value::Null, &Value::Null));
    }
    for (outcome, count) in [("fresh", 1.0), ("key_in_progress", 1.0), ("renewed", 1.0), ("kept", 1.0), ("replay", 2.0)] {
        assert_eq!(house.became(outcome).await, count, "{outcome}");
    }
    assert_eq!(house.metric("nevertwice_key_records").await, 1.0);
    assert_eq!(house.metric("nevertwice_key_replayed_bytes_total").await, 24.0);
    assert_eq!(house.metric("nevertwice_key_answer_bytes_count").await, 1.0);
    assert_eq!(house.metric("nevertwice_key_store_seconds_count{operation=\"register\"}").await, 4.0);
}

#[tokio::test]
async fn of_many_attempts_at_once_exactly_one_runs() {
    let house = House::open().await;
    let mut attempts = JoinSet::new();
    for attempt in 0..48 {
        let (addr, ask) = (house.addr, call("register", &registration(attempt)));
        attempts.spawn(async move { send(addr, &ask).await });
    }
    let mut fresh = 0;
    for answer in attempts.join_all().await {
        match answer.status {
            200 => fresh += 1,
            _ => assert_eq!(answer.code(), "key_in_progress"),
        }
    }
    assert_eq!(fresh, 1);
    assert_eq!((house.became("fresh").await, house.became("key_in_progress").await), (1.0, 47.0));
}

#[tokio::test]
async fn every_call_may_be_repeated_by_its_owner() {
    let house = House::open().await;
    let generation = house.claim(1).await;
    let again = house.on_keys("register", registration(1)).await;
    assert_eq!((&again["registration"], &again["generation"]), (&json!("resumed"), &generation));
    let kept = completion(1, &generation, created());
    assert_eq!(house.on_keys("complete", kept.clone()).await["kept_before"], false);
    // The first answer stands, whatever the second one says.
    assert_eq!(house.on_keys("complete", kept.clone()).await["kept_before"], true);
    let other = completion(1, &generation, json!({"status": 500}));
    assert_eq!(house.on_keys("complete", other).await["kept_before"], true);
    assert_eq!(house.on_keys("register", registration(1)).await["answer"], created());
    let second = with(registration(1), json!({"key": "second"}));
    let generation = house.on_keys("register", second).await["generation"].clone();
    let release = json!({"key": "second", "owner": owner(1), "generation": generation});
    for _ in 0..2 {
        assert_eq!(house.on_keys("release", release.clone()).await["generation"], generation);
    }
}

#[tokio::test]
async fn an_owner_that_was_replaced_changes_nothing() {
    let house = House::open().await;
    let first = house.claim(1).await;
    house.later(LEASE_MS);
    // Nobody runs it again unless the caller says so.
    let lapsed = house.ask_keys("register", registration(2)).await;
    assert_eq!((lapsed.status, lapsed.code().as_str()), (503, "outcome_unknown"));
    let taken = house.on_keys("register", with(registration(2), json!({"lapse": "rerun"}))).await;
    assert_eq!((&taken["registration"], taken["generation"].as_i64()), (&json!("taken_over"), first.as_i64().map(|first| first + 1)));
    // Whose reply was lost hears that it resumes, and also that somebody may have begun before.
    let resumed = house.on_keys("register", with(registration(2), json!({"lapse": "rerun"}))).await;
    assert_eq!((&resumed["registration"], &resumed["taken_over"]), (&json!("resumed"), &json!(true)));
    let before = house.inspect("key=k").await.json();
    let claim = json!({"key": "k", "owner": owner(1), "generation": first});
    for (verb, body) in [("complete", completion(1, &first, created())), ("renew", claim.clone()), ("release", claim)] {
        let answer = house.ask_keys(verb, body).await;
        assert_eq!((answer.status, answer.code().as_str()), (409, "stale_owner"), "{verb}");
        assert_eq!(answer.json()["figures"]["generation"], taken["generation"], "{verb}");
    }
    // Neither is the right owner with the number of another claim.
    let answer = house.ask_keys("complete", completion(2, &first, created())).await;
    assert_eq!(answer.code(), "stale_owner");
    assert_eq!(house.inspect("key=k").await.json(), before);
    assert_eq!((house.became("stale_owner").await, house.became("outcome_unknown").await), (4.0, 1.0));
    house.on_keys("complete", completion(2, &taken["generation"], created())).await;
}

#[tokio::test]
async fn a_call_that_does_not_fit_the_state_is_refused() {
    let house = House::open().await;
    let claim = |generation: &Value| json!({"key": "k", "owner": owner(1), "generation": generation});
    for (verb, body) in [("complete", completion(1, &json!(1), created())), ("renew", claim(&json!(1))), ("release", claim(&json!(1)))] {
        assert_eq!(house.ask_keys(verb, body).await.code(), "unknown_key", "{verb}");
    }
    assert_eq!(house.inspect("key=k").await.code(), "unknown_key");
    let generation = house.claim(1).await;
    house.on_keys("release", claim(&generation)).await;
    assert_eq!(house.ask_keys("renew", claim(&generation)).await.code(), "key_released");
    assert_eq!(house.ask_keys("complete", completion(1, &generation, created())).await.code(), "key_released");
    // Free is free for anything else, too; the number goes on.
    let other = with(registration(2), json!({"request": "{}"}));
    let next = house.on_keys("register", other).await;
    assert_eq!(next["generation"].as_i64(), generation.as_i64().map(|generation| generation + 1));
    house.on_keys("complete", completion(2, &next["generation"], created())).await;
    let claim = json!({"key": "k", "owner": owner(2), "generation": next["generation"]});
    assert_eq!(house.ask_keys("renew", claim.clone()).await.code(), "key_completed");
    assert_eq!(house.ask_keys("release", claim).await.code(), "key_completed");
}

#[tokio::test]
async fn a_key_is_told_by_principal_and_scope_and_by_what_is_asked() {
    let house = House::open().await;
    let first = house.claim(1).await;
    for request in [r#"{"amount":101}"#, r#"{"amount":1e2}"#, "{}", ""] {
        // Said before anything about who works on it.
        let answer = house.ask_keys("register", with(registration(2), json!({"request": request}))).await;
        assert_eq!((answer.status, answer.code().as_str()), (422, "fingerprint_mismatch"), "{request}");
        assert_eq!(answer.json()["figures"]["generation"], first);
    }
    let same = with(registration(1), json!({"request": " { \"amo\\u0075nt\" : 100 } "}));
    assert_eq!(house.on_keys("register", same).await["registration"], "resumed");
    let scoped = with(registration(2), json!({"scope": "POST:/refunds"}));
    assert_eq!(house.on_keys("register", scoped).await["registration"], "fresh");
    let bob = house.send(call("register", &registration(3)).header("principal", "bob")).await;
    assert_eq!(bob.json()["registration"], "fresh", "{}", bob.text);
    // Two amounts that are one number to a double are two requests.
    let big = |amount: &str| json!({"key": "big", "owner": owner(1), "request": format!("{{\"amount\":{amount}}}")});
    house.on_keys("register", big("9007199254740992")).await;
    assert_eq!(house.ask_keys("register", big("9007199254740993")).await.code(), "fingerprint_mismatch");
    assert_eq!(house.became("fingerprint_mismatch").await, 5.0);
}

#[tokio::test]
async fn a_fingerprint_may_be_the_callers_own() {
    let house = House::open().await;
    let digest = "ab".repeat(32);
    let own = json!({"key": "k", "owner": owner(1), "fingerprint": digest});
    assert_eq!(house.on_keys("register", own.clone()).await["registration"], "fresh");
    let same = with(own.clone(), json!({"fingerprint": digest.to_uppercase()}));
    assert_eq!(house.on_keys("register", same).await["registration"], "resumed");
    let other = with(own, json!({"fingerprint": "ac".repeat(32)}));
    assert_eq!(house.ask_keys("register", other).await.code(), "fingerprint_mismatch");
}

#[tokio::test]
async fn who_asks_what_became_of_a_lapsed_claim_takes_it_over_before_it_runs() {
    let house = House::open().await;
    let first = house.claim(1).await;
    house.later(LEASE_MS);
    let asks = with(registration(2), json!({"lapse": "ask"}));
    let taken = house.on_keys("register", asks).await;
    assert_eq!(taken["registration"], "taken_over");
    // It is found that the work was done, and its answer is lost.
    let done = completion(2, &taken["generation"], json!({"status": 200, "tombstone_bytes": 0}));
    house.on_keys("complete", done).await;
    assert_eq!(house.ask_keys("complete", completion(1, &first, created())).await.code(), "stale_owner");
    let answer = house.ask_keys("register", registration(3)).await;
    assert_eq!((answer.status, answer.code().as_str()), (409, "answer_not_kept"));
}

#[tokio::test]
async fn a_key_has_an_end_of_its_own_and_is_forgotten_after_the_retention() {
    let house = House::open().await;
    let until = |expires_at: i64| with(registration(1), json!({"expires_at": expires_at}));
    let answer = house.ask_keys("register", until(START_MS)).await;
    assert_eq!((answer.status, answer.code().as_str()), (410, "intent_expired"));
    let answer = house.ask_keys("register", until(START_MS + 86_400_001)).await;
    assert_eq!(answer.code(), "intent_expiry_too_far");
    assert_eq!(answer.json()["figures"]["expires_at_max"], START_MS + 86_400_000);
    assert_eq!(house.on_keys("register", until(START_MS + 1)).await["registration"], "fresh");
    house.on_keys("complete", completion(1, &json!(START_MS), created())).await;
    house.later(86_399_999);
    assert_eq!(house.on_keys("register", registration(2)).await["registration"], "replay");
    house.later(1);
    let fresh = house.on_keys("register", registration(2)).await;
    assert_eq!((&fresh["registration"], &fresh["generation"]), (&json!("fresh"), &json!(START_MS + 86_400_000)));
}
