//! Keys that outlive the server: the local store, and the secret that belongs to it.

use std::path::Path;
use std::sync::Arc;

use nevertwice_api::ErrorCode;
use nevertwice_local::clock::Clock;
use nevertwice_server::config::KeysStore;
use nevertwice_server::{Config, LocalKeys};
use nevertwice_testkit::clock::ManualClock;
use serde_json::json;
use tempfile::TempDir;

use super::guard::{call, completion, created, registration, with};
use crate::house::{House, Plan, START_MS, eventually};

fn config(folder: &Path) -> Config {
    Config { data: folder.join("data"), ..Config::default() }
}

fn open(folder: &Path) -> LocalKeys {
    open_by(folder, &Arc::new(ManualClock::new(START_MS)))
}

fn open_by(folder: &Path, clock: &Arc<ManualClock>) -> LocalKeys {
    LocalKeys::open(&config(folder), Arc::clone(clock) as Arc<dyn Clock>).expect("it opens").expect("it is the default")
}

async fn house(keys: &LocalKeys) -> House {
    House::with(Plan { keys: Some(keys.parts()), ..Plan::default() }).await
}

async fn close(house: House, keys: LocalKeys) {
    house.close().await;
    tokio::task::spawn_blocking(move || keys.stop()).await.expect("it stops");
}

#[tokio::test]
async fn what_was_claimed_and_answered_is_there_after_a_restart() {
    let folder = TempDir::new().expect("a folder can be made");
    let keys = open(folder.path());
    let first = house(&keys).await;
    let registered = first.send(call("register", &registration(1)).header("ack-level", "journaled")).await.json();
    assert_eq!(registered["levels"], json!(["decided", "journaled"]));
    let base64 = json!({"status": 200, "headers": [{"name": "x-a", "value": "1"}, {"name": "x-a", "value": "2"}], "body_base64": "/wD+"});
    first.on_keys("complete", completion(1, &registered["generation"], base64.clone())).await;
    let other = first.on_keys("register", with(registration(1), json!({"key": "other"}))).await;
    close(first, keys).await;

    let keys = open(folder.path());
    let second = house(&keys).await;
    let replay = second.on_keys("register", registration(2)).await;
    assert_eq!((&replay["registration"], &replay["answer"]), (&json!("replay"), &base64));
    let waits = second.ask_keys("register", with(registration(2), json!({"key": "other"}))).await;
    assert_eq!(waits.code(), "key_in_progress");
    let late = with(completion(1, &other["generation"], created()), json!({"key": "other"}));
    assert_eq!(second.on_keys("complete", late).await["kept_before"], false);
    assert_eq!(second.send(call("register", &registration(3)).header("ack-level", "ledgered")).await.code(), "level_unavailable");
    close(second, keys).await;
}

#[tokio::test]
async fn claims_on_disk_are_counted_and_freed_though_nobody_asks_for_them() {
    let folder = TempDir::new().expect("a folder can be made");
    let clock = Arc::new(ManualClock::new(START_MS));
    let keys = open_by(folder.path(), &clock);
    let mut plan = Plan { keys: Some(keys.parts()), ..Plan::default() };
    plan.config.sweep_ms = 10;
    let house = House::with(plan).await;
    for number in 0..3 {
        house.on_keys("register", with(registration(1), json!({"key": format!("k{number}")}))).await;
    }
    let shows = async |name: &str, value: f64| (house.metric(name).await == value).then_some(());
    clock.set(START_MS + 60_000);
    eventually("they are counted", async || shows("nevertwice_key_claims_lapsed", 3.0).await).await;
    clock.set(START_MS + 86_400_000);
    eventually("they are freed", async || shows("nevertwice_key_records", 0.0).await).await;
    eventually("none is left to count", async || shows("nevertwice_key_claims_lapsed", 0.0).await).await;
    close(house, keys).await;
}

#[test]
fn another_secret_than_that_of_the_folder_is_refused_and_nothing_is_touched() {
    let folder = TempDir::new().expect("a folder can be made");
    open(folder.path()).stop();
    let config = config(folder.path());
    let (data, path) = (config.keys_path(), config.keys_secret_path());
    assert_eq!((data.clone(), path.clone()), (folder.path().join("data/keys"), folder.path().join("data-keys.key")));
    let secret = std::fs::read(&path).expect("it was made");
    let refused = |named: &str| {
        let clock = Arc::new(ManualClock::new(START_MS)) as Arc<dyn Clock>;
        let error = LocalKeys::open(&config, clock).expect_err("it is refused");
        assert_eq!(error.code, ErrorCode::ConfigurationInvalid);
        assert!(error.to_string().contains(named) && error.to_string().contains("keys_secret_file"), "{error}");
        let inspected = LocalKeys::inspect_secret(&config).expect("it is local");
        assert_eq!(inspected, Err(error), "the doctor says the same");
    };
    std::fs::write(&path, "ab".repeat(32)).expect("it can be written");
    refused("is not the one");
    std::fs::remove_file(&path).expect("it can be removed");
    refused("is missing");
    assert!(!path.exists(), "no new one is made beside keys");
    std::fs::write(&path, secret).expect("it can be written");
    open(folder.path()).stop();
}

#[test]
fn keys_in_memory_need_no_folder() {
    let folder = TempDir::new().expect("a folder can be made");
    let config = Config { keys_store: KeysStore::Memory, ..config(folder.path()) };
    let clock = Arc::new(ManualClock::new(START_MS)) as Arc<dyn Clock>;
    assert!(LocalKeys::open(&config, clock).expect("it is fine").is_none() && LocalKeys::inspect_secret(&config).is_none());
    assert_eq!(std::fs::read_dir(folder.path()).expect("it can be read").count(), 0);
}
