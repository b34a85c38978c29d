//! The secret of keys is changed, and no key is forgotten.

use std::path::Path;
use std::sync::Arc;

use nevertwice_local::clock::Clock;
use nevertwice_server::{Config, LocalKeys, StartError};
use nevertwice_testkit::clock::ManualClock;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::guard::{completion, created, owner, registration, with};
use crate::house::{House, Plan, START_MS};

/// A data folder, in which the secret is changed by replacing its file and naming the old one.
struct Changed {
    folder: TempDir,
    clock: Arc<ManualClock>,
}

impl Changed {
    fn new() -> Self {
        Self { folder: TempDir::new().expect("a folder can be made"), clock: Arc::new(ManualClock::new(START_MS)) }
    }

    fn config(&self, is_changing: bool) -> Config {
        let previous = is_changing.then(|| self.folder.path().join("old.key"));
        Config { data: self.folder.path().join("data"), keys_previous_secret_file: previous, ..Config::default() }
    }

    fn try_open(&self, is_changing: bool) -> Result<LocalKeys, StartError> {
        let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        LocalKeys::open(&self.config(is_changing), clock).map(|keys| keys.expect("it is the default"))
    }

    fn change(&self) {
        let path = self.config(false).keys_secret_path();
        std::fs::rename(&path, self.folder.path().join("old.key")).expect("it is there");
        std::fs::write(&path, "5a".repeat(32)).expect("it can be written");
    }

    async fn with(&self, is_changing: bool, asked: impl AsyncFnOnce(&House)) {
        let keys = self.try_open(is_changing).expect("it opens");
        let house = House::with(Plan { keys: Some(keys.parts()), ..Plan::default() }).await;
        asked(&house).await;
        house.close().await;
        tokio::task::spawn_blocking(move || keys.stop()).await.expect("it stops");
    }
}

fn of(key: &str, number: u8) -> Value {
    with(registration(number.into()), json!({"key": key}))
}

fn answered(key: &str, number: u8, generation: &Value) -> Value {
    with(completion(number.into(), generation, created()), json!({"key": key}))
}

#[tokio::test]
async fn no_key_is_forgotten_when_the_secret_changes() {
    let changed = Changed::new();
    let mut claims = json!({});
    changed
        .with(false, async |house| {
            for key in ["answered", "late", "lapses", "given back"].map(|key| key.replace(' ', "-")) {
                claims[&key] = house.on_keys("register", of(&key, 1)).await["generation"].clone();
            }
            house.on_keys("complete", answered("answered", 1, &claims["answered"])).await;
        })
        .await;
    changed.change();
    changed.clock.set(START_MS + 1_000);
    changed
        .with(true, async |house| {
            assert_eq!(house.on_keys("register", of("answered", 2)).await["registration"], "replay");
            assert_eq!(house.ask_keys("register", of("late", 2)).await.code(), "key_in_progress");
            // Whoever works since before the change goes on with the generation that he was told.
            let late = json!({"key": "late", "owner": owner(1), "generation": claims["late"], "lease_ms": 30_000});
            house.on_keys("renew", late).await;
            let told = house.on_keys("complete", answered("late", 1, &claims["late"])).await;
            assert_eq!(told["kept_before"], false);
            assert_eq!(house.on_keys("complete", answered("late", 1, &claims["late"])).await["kept_before"], true);
            let release = json!({"key": "given-back", "owner": owner(1), "generation": claims["given-back"]});
            house.on_keys("release", release).await;
            assert_eq!(house.on_keys("register", of("given-back", 2)).await["registration"], "fresh");
            let stale = house.ask_keys("complete", answered("late", 9, &claims["late"])).await;
            assert_eq!(stale.code(), "stale_owner");
            let fresh = house.on_keys("register", of("new", 1)).await;
            assert_eq!(house.ask_keys("register", of("new", 2)).await.code(), "key_in_progress");
            house.on_keys("complete", answered("new", 1, &fresh["generation"])).await;
            assert_eq!(house.inspect("key=new").await.json()["state"], "completed");
        })
        .await;
    changed.clock.set(START_MS + 70_000);
    changed
        .with(true, async |house| {
            assert_eq!(house.ask_keys("register", of("lapses", 2)).await.code(), "outcome_unknown");
            let rerun = with(of("lapses", 2), json!({"lapse": "rerun"}));
            let taken = house.on_keys("register", rerun).await;
            assert_eq!((&taken["registration"], &taken["taken_over"]), (&json!("taken_over"), &json!(true)));
            house.on_keys("complete", answered("lapses", 2, &taken["generation"])).await;
        })
        .await;
    // Until one retention after the change the old secret is needed.
    changed.clock.set(START_MS + 1_000 + 86_400_000 - 1);
    let refused = changed.try_open(false).expect_err("the old one is left out too early").to_string();
    assert!(refused.contains("keys_previous_secret_file"), "{refused}");
    changed
        .with(true, async |house| {
            for key in ["late", "new", "lapses"] {
                assert_eq!(house.on_keys("register", of(key, 3)).await["registration"], "replay", "{key}");
            }
        })
        .await;
    // From then on whatever is still remembered is known under the new secret alone.
    changed.clock.set(START_MS + 1_000 + 86_400_000);
    changed
        .with(false, async |house| {
            assert_eq!(house.on_keys("register", of("lapses", 3)).await["registration"], "replay");
            assert_eq!(house.on_keys("register", of("answered", 3)).await["registration"], "fresh", "its retention is over");
        })
        .await;
}

#[tokio::test]
async fn a_claim_under_both_names_counts_as_one_and_ends_as_one() {
    let changed = Changed::new();
    changed.try_open(false).expect("it opens").stop();
    changed.change();
    changed
        .with(true, async |house| {
            let first = house.on_keys("register", of("k", 1)).await;
            assert_eq!((&first["registration"], &first["taken_over"]), (&json!("fresh"), &json!(false)));
            let again = house.on_keys("register", of("k", 1)).await;
            assert_eq!(
                (&again["registration"], &again["generation"], &again["taken_over"]),
                (&json!("resumed"), &first["generation"], &json!(false))
            );
            let release = json!({"key": "k", "owner": owner(1), "generation": first["generation"]});
            house.on_keys("release", release).await;
            let next = house.on_keys("register", of("k", 2)).await;
            assert_eq!(next["registration"], "fresh");
            assert!(next["generation"].as_u64() > first["generation"].as_u64());
            let ended = json!({"key": "k", "owner": owner(2), "generation": next["generation"], "lease_ms": 0});
            house.on_keys("renew", ended).await;
            assert_eq!(house.ask_keys("register", of("k", 3)).await.code(), "outcome_unknown");
        })
        .await;
}

fn note(folder: &Path) -> Vec<u8> {
    std::fs::read(folder.join("data/keys/keys-secret.check")).expect("it is noted")
}

#[test]
fn a_start_changes_what_is_noted_and_refuses_any_other_pair() {
    let changed = Changed::new();
    changed.try_open(false).expect("it opens").stop();
    let before = note(changed.folder.path());
    changed.change();
    let refused = changed.try_open(false).expect_err("the old secret is not named");
    assert!(refused.to_string().contains("is not the one"), "{refused}");
    assert_eq!(LocalKeys::inspect_secret(&changed.config(false)), Some(Err(refused)));
    assert_eq!(LocalKeys::inspect_secret(&changed.config(true)), Some(Ok(())));
    assert_eq!(LocalKeys::changing_since(&changed.config(true)), None, "no start has changed it");
    changed.try_open(true).expect("it opens").stop();
    assert_ne!(note(changed.folder.path()), before);
    assert!(LocalKeys::changing_since(&changed.config(true)).is_some());
    changed.try_open(true).expect("it opens again").stop();
    changed.try_open(false).expect_err("the old one is needed");
    changed.clock.set(START_MS + 86_400_000);
    changed.try_open(false).expect("the old one may go").stop();
    std::fs::write(changed.folder.path().join("old.key"), "00".repeat(32)).expect("it can be written");
    changed.try_open(true).expect("the present one is noted").stop();
    std::fs::write(changed.config(true).keys_secret_path(), "ff".repeat(32)).expect("it can be written");
    changed.try_open(true).expect_err("neither is noted");
    std::fs::remove_file(changed.folder.path().join("old.key")).expect("it is there");
    let missing = changed.try_open(true).expect_err("it is named, and not there");
    assert!(missing.to_string().contains("keys_previous_secret_file"), "{missing}");
}
