//! What callers hear, through the proxy: the same as from the layer.

use nevertwice_idempotency::Outcome;

use super::house::House;
use super::upstream::Upstream;
use super::wire::{answer, ask, post, request, write};

#[tokio::test]
async fn a_retry_gets_the_first_answer_byte_for_byte_and_the_effect_is_one() {
    let upstream = Upstream::start().await;
    let house = House::before(upstream.address).await;
    let first = ask(house.address, post("/charges", "k", r#"{"a":1}"#)).await;
    assert_eq!((first.status, first.text()), (201, "charge 1"));
    assert_eq!(first.all("x-part"), ["a, b", "c"]);
    assert_eq!(first.header("set-cookie"), Some("session=1"));
    let again = ask(house.address, post("/charges", "k", r#"{ "a" : 1 }"#)).await;
    assert_eq!((again.status, &again.body, again.is_replay()), (201, &first.body, true));
    assert_eq!(again.all("x-part"), ["a, b", "c"]);
    assert_eq!(again.header("location"), Some("/charges/1"));
    assert_eq!(again.header("set-cookie"), None);
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn another_body_another_caller_and_no_key_are_told_apart() {
    let upstream = Upstream::start().await;
    let house = House::before(upstream.address).await;
    assert_eq!(ask(house.address, post("/charges", "k", "{}")).await.status, 201);
    let mismatch = ask(house.address, post("/charges", "k", "[]")).await;
    assert_eq!((mismatch.status, mismatch.code().as_str()), (422, "fingerprint_mismatch"));
    let bob = request("POST", "/charges", &[("authorization", "Bearer bob"), ("idempotency-key", "k")], "{}");
    assert_eq!(ask(house.address, bob).await.text(), "charge 2");
    let nobody = ask(house.address, request("POST", "/charges", &[("idempotency-key", "k")], "{}")).await;
    assert_eq!((nobody.status, nobody.code().as_str()), (401, "credentials_missing"));
    let no_key = ask(house.address, request("POST", "/charges", &[("authorization", "Bearer ann")], "{}")).await;
    assert_eq!((no_key.status, no_key.code().as_str()), (400, "idempotency_key_missing"));
    assert_eq!(upstream.effects(), 2);
}

#[tokio::test]
async fn a_duplicate_is_told_to_wait_while_the_first_is_worked_on() {
    let upstream = Upstream::start().await;
    let house = House::before(upstream.address).await;
    let mut first = write(house.address, post("/gate", "k", "{}")).await;
    upstream.waits.acquire().await.expect("it comes").forget();
    let duplicate = ask(house.address, post("/gate", "k", "{}")).await;
    assert_eq!((duplicate.status, duplicate.code().as_str()), (409, "key_in_progress"));
    assert!(duplicate.header("retry-after").is_some());
    upstream.gate.add_permits(1);
    assert_eq!(answer(&mut first).await.text(), "passed 1");
    assert!(ask(house.address, post("/gate", "k", "{}")).await.is_replay());
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn a_client_that_hangs_up_changes_nothing() {
    let upstream = Upstream::start().await;
    let house = House::before(upstream.address).await;
    let first = write(house.address, post("/gate", "k", "{}")).await;
    upstream.waits.acquire().await.expect("it comes").forget();
    drop(first);
    // It is seen that it has left: the next request of the same key comes later.
    assert_eq!(ask(house.address, post("/gate", "k", "{}")).await.code(), "key_in_progress");
    upstream.gate.add_permits(1);
    assert!(house.settled(2).await.contains(&Outcome::Fresh));
    let again = ask(house.address, post("/gate", "k", "{}")).await;
    assert_eq!((again.text(), again.is_replay(), upstream.effects()), ("passed 1", true, 1));
}

#[tokio::test]
async fn what_the_upstream_says_of_its_effect_counts_and_is_not_passed_on() {
    let upstream = Upstream::start().await;
    let house = House::before(upstream.address).await;
    for (path, then) in [
        ("/status/200", Outcome::Fresh),
        ("/status/422", Outcome::Fresh),
        ("/status/409", Outcome::Freed),
        ("/status/429", Outcome::Freed),
        ("/status/500", Outcome::Unknown),
        ("/status/200?none", Outcome::Freed),
        ("/status/500?none", Outcome::Freed),
        ("/status/500?done", Outcome::Fresh),
    ] {
        let told = ask(house.address, post(path, path, "{}")).await;
        assert_eq!((told.text(), told.header("idempotency-effect")), ("said", None), "{path}");
        assert_eq!(house.outcomes().last(), Some(&then), "{path}");
    }
}

#[tokio::test]
async fn what_the_upstream_says_of_its_effect_is_not_passed_on_where_nothing_was_claimed() {
    let upstream = Upstream::start().await;
    let routes = "[[routes]]\nmethods = [\"POST\"]\npath = \"/status/{status}\"\npreset = \"stripe\"";
    let house = House::with(upstream.address, "", routes).await;
    // A route that is not guarded, and one that is, without a key.
    for method in ["GET", "POST"] {
        let told = ask(house.address, request(method, "/status/200?none", &[("authorization", "Bearer ann")], "")).await;
        assert_eq!((told.text(), told.header("idempotency-effect")), ("said", None), "{method}");
    }
    assert_eq!(house.outcomes(), [Outcome::WithoutKey]);
}

#[tokio::test]
async fn the_upstream_sees_the_number_of_the_claim_and_nobody_else_writes_it() {
    let upstream = Upstream::start().await;
    let house = House::before(upstream.address).await;
    let lines = [("authorization", "Bearer ann"), ("idempotency-key", "k"), ("idempotency-generation", "99")];
    let guarded = ask(house.address, request("POST", "/headers", &lines, "{}")).await;
    let generations: Vec<u64> =
        guarded.text().lines().filter_map(|line| line.strip_prefix("idempotency-generation: ")?.parse().ok()).collect();
    assert!(matches!(generations[..], [generation] if generation > 99), "{generations:?}");
    assert!(guarded.text().contains("idempotency-key: k\n"));
    let unguarded = ask(house.address, request("POST", "/open/headers", &lines, "{}")).await;
    assert!(!unguarded.text().contains("idempotency-generation"));
}

#[tokio::test]
async fn of_many_duplicates_at_once_one_reaches_the_upstream() {
    let upstream = Upstream::start().await;
    let house = House::before(upstream.address).await;
    let asking: Vec<_> = (0..32).map(|_| tokio::spawn(ask(house.address, post("/charges", "k", "{}")))).collect();
    let mut statuses = Vec::new();
    for told in asking {
        statuses.push(told.await.expect("no panic").status);
    }
    assert!(statuses.iter().all(|status| [201, 409].contains(status)), "{statuses:?}");
    assert_eq!(upstream.effects(), 1);
    assert!(ask(house.address, post("/charges", "k", "{}")).await.is_replay());
}
