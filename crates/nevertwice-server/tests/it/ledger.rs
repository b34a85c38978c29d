//! The ledger over HTTP: waiting for it, and what is refused when it does not follow.

use std::path::Path;
use std::sync::{Arc, Mutex};

use nevertwice_api::Backend;
use nevertwice_ledger::{Ledgered, LedgeredOptions, Now, Watermarks};
use nevertwice_local::LocalBackend;
use nevertwice_local::clock::Clock as _;
use nevertwice_server::config::Secret;
use nevertwice_server::{Config, LocalLedger};
use nevertwice_testkit::clock::ManualClock;
use serde_json::json;
use tempfile::TempDir;

use crate::house::{House, Plan, START_MS};
use crate::standby::buying;

/// What a house was given, to be stopped after it.
type Given = Arc<Mutex<Option<LocalLedger>>>;

/// A house whose entries go to that file.
fn plan(file: &Path, change: impl FnOnce(&mut Config)) -> (Plan, Given) {
    let mut plan = Plan::default();
    plan.config.ledger = Some(Secret::new(format!("sqlite:{}", file.display())));
    change(&mut plan.config);
    let (given, config) = (Given::default(), plan.config.clone());
    let ledger = Arc::clone(&given);
    plan.wrap = Box::new(move |local| {
        let opened = LocalLedger::open(&config, &local, Arc::new(ManualClock::new(START_MS)));
        let opened = opened.expect("the ledger opens").expect("there is one");
        let backend = opened.backend();
        *ledger.lock().expect("nobody panics with it") = Some(opened);
        backend
    });
    (plan, given)
}

async fn stop(given: Given) {
    let ledger = given.lock().expect("nobody panics with it").take().expect("it was opened");
    tokio::task::spawn_blocking(move || ledger.stop()).await.expect("it stops");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_may_ask_for_the_ledger_and_whoever_comes_later_may_wait_for_it() {
    let folder = TempDir::new().expect("a folder can be made");
    let (plan, given) = plan(&folder.path().join("ledger.db"), |_| {});
    let house = House::with(plan).await.with_market().await;
    let all = json!(["decided", "replicated", "journaled", "ledgered"]);
    let asked = house.send(buying("1").header("ack-level", "ledgered")).await;
    assert_eq!((asked.status, &asked.json()["levels"]), (201, &all), "{}", asked.text);
    let plain = house.send(buying("2")).await;
    assert_eq!(plain.status, 201, "{}", plain.text);
    let position = plain.json()["position"].as_str().expect("a position").to_owned();
    let acks = house.get(format!("/v1/markets/wc/acks/{position}?level=ledgered")).await;
    assert_eq!((acks.status, &acks.json()["levels"]), (200, &all), "{}", acks.text);
    assert_eq!(house.get("/v1/markets/wc?level=ledgered").await.json()["levels"], all);
    house.close().await;
    stop(given).await;
}

/// The order that defeats a plain unique index, over HTTP: another folder decides anew what the ledger has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_history_is_refused_and_what_the_ledger_has_stays() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = folder.path().join("ledger.db");
    let ledgered = |config: &mut Config| config.level = nevertwice_api::Level::Ledgered;
    let (first, given) = plan(&file, ledgered);
    let house = House::with(first).await.with_market().await;
    let sold = house.send(buying("1")).await;
    assert_eq!(sold.status, 201, "{}", sold.text);
    let data = house.close().await;
    stop(given).await;

    let (second, given) = plan(&file, ledgered);
    let house = House::with(second).await;
    let limits = json!({"quantity_max": 9, "holding_max": 9, "house_loss_max": 0});
    let market = json!({"market": "wc", "decimals": 2, "fee_bps": 0, "limits": limits, "mode": "open"});
    let unknown = house.post("/v1/markets", "anew", market.clone()).await;
    assert_eq!((unknown.status, unknown.code().as_str()), (503, "outcome_unknown"), "nobody is told yes: {}", unknown.text);
    let stopped = house.post("/v1/markets", "anew", market).await;
    assert_eq!((stopped.status, stopped.code().as_str(), stopped.header("retry-after")), (503, "ledger_stopped", Some("1")));
    assert!(stopped.text.contains("another entry"), "{}", stopped.text);
    assert_eq!(house.get("/v1/markets/wc").await.code(), "ledger_stopped", "nor is anybody shown it");
    house.close().await;
    stop(given).await;

    // The folder that the ledger knows goes on.
    let (third, given) = plan(&file, ledgered);
    let house = House::on(third, data, START_MS).await;
    let again = house.send(buying("1")).await;
    assert_eq!((again.status, again.result()), (200, sold.result()));
    assert_eq!(house.send(buying("2")).await.status, 201);
    house.close().await;
    stop(given).await;
}

#[tokio::test]
async fn a_ledger_that_is_too_far_behind_is_told_with_its_figures() {
    let clock = Arc::new(ManualClock::new(START_MS));
    let shown = Arc::clone(&clock);
    let wrap = Box::new(move |local: Arc<LocalBackend>| {
        // Nobody writes it.
        let now: Now = Arc::new(move || shown.now_ms());
        let options = LedgeredOptions { is_default: false, wait_ms: 20, lag_ms_max: 60_000 };
        Arc::new(Ledgered::new(local, Arc::new(Watermarks::default()), now, options)) as Arc<dyn Backend>
    });
    let house = House::with(Plan { wrap, ..Plan::default() }).await.with_market().await;
    assert_eq!(house.send(buying("1")).await.status, 201);
    let unknown = house.send(buying("2").header("ack-level", "ledgered")).await;
    assert_eq!((unknown.status, unknown.code().as_str()), (503, "outcome_unknown"));
    clock.set(START_MS + 60_001);
    let refused = house.send(buying("3")).await;
    assert_eq!((refused.status, refused.code().as_str(), refused.header("retry-after")), (503, "ledger_behind", Some("1")));
    assert_eq!(refused.json()["figures"], json!({"lag_ms": 60_001, "lag_ms_max": 60_000}));
    house.close().await;
}
