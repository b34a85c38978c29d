//! API keys: made, used, rotated, revoked, read again.

use std::fs;

use nevertwice_server::{KeyId, KeyRole, WantedKey, instant_text, list_keys, make_key, revoke_key, shard_of};
use tempfile::TempDir;

use crate::callers::{keys_file, wanted};
use crate::client::Ask;
use crate::house::{House, START_MS};

/// Whether a key opens the door just now, or the code of what it says.
async fn try_key(house: &House, key: &str) -> String {
    let answer = house.send(Ask::get("/v1/markets/none").header("authorization", format!("Bearer {key}")).header("principal", "ann")).await;
    answer.code()
}

const LET_IN: &str = "unknown_market";

#[tokio::test]
async fn a_key_is_rotated_without_a_gap() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = keys_file(folder.path());
    let first = make_key(&file, wanted("web-1", KeyRole::Service), START_MS).expect("a key");
    let house = House::configured(|config| config.keys_file = Some(file.clone())).await;
    let second = make_key(&file, wanted("web-2", KeyRole::Service), START_MS).expect("a key");
    assert_eq!(try_key(&house, second.reveal()).await, "credentials_missing");
    house.reload().await;
    for key in [&first, &second] {
        assert_eq!(try_key(&house, key.reveal()).await, LET_IN);
    }
    revoke_key(&file, "web-1", START_MS).expect("it is revoked");
    assert_eq!(try_key(&house, first.reveal()).await, LET_IN);
    house.reload().await;
    assert_eq!(try_key(&house, first.reveal()).await, "credentials_revoked");
    assert_eq!(try_key(&house, second.reveal()).await, LET_IN);
    assert!(revoke_key(&file, "web-1", START_MS).is_err(), "once is enough");
    assert!(make_key(&file, wanted("web-1", KeyRole::Service), START_MS).is_err(), "ids are never used again");
}

#[tokio::test]
async fn a_key_ends_at_its_instant() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = keys_file(folder.path());
    let key =
        make_key(&file, WantedKey { expires_at: Some(START_MS + 5_000), ..wanted("web", KeyRole::Service) }, START_MS).expect("a key");
    let house = House::configured(|config| config.keys_file = Some(file)).await;
    house.later(4_999);
    assert_eq!(try_key(&house, key.reveal()).await, LET_IN);
    house.later(1);
    assert_eq!(try_key(&house, key.reveal()).await, "credentials_expired");
    // The time of a key is told only to whoever has it.
    let (id, _) = key.reveal().rsplit_once('_').expect("a key");
    assert_eq!(try_key(&house, &format!("{id}_{}", "b".repeat(52))).await, "credentials_missing");
}

#[tokio::test]
async fn a_file_that_changes_is_read_again_by_itself() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = keys_file(folder.path());
    make_key(&file, wanted("web-1", KeyRole::Service), START_MS).expect("a key");
    let house = House::configured(|config| {
        config.keys_file = Some(file.clone());
        config.reload_ms = 10;
    })
    .await;
    let second = make_key(&file, wanted("web-2", KeyRole::Service), START_MS).expect("a key");
    crate::house::eventually("the new key counts", async || (try_key(&house, second.reveal()).await == LET_IN).then_some(())).await;
}

#[tokio::test]
async fn a_bad_file_changes_nothing_and_is_shown() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = keys_file(folder.path());
    let key = make_key(&file, wanted("web", KeyRole::Service), START_MS).expect("a key");
    let metrics = make_key(&file, wanted("watch", KeyRole::Reader), START_MS).expect("a key");
    let house = House::configured(|config| config.keys_file = Some(file.clone())).await;
    let metric = async |name: &str| -> f64 {
        let ask = Ask::get("/metrics").header("authorization", format!("Bearer {}", metrics.reveal()));
        let text = house.send(ask).await.text;
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("no {name}: {text}")).to_owned();
        line.trim().parse().expect("a number")
    };
    let good = fs::read_to_string(&file).expect("it can be read");
    for (number, bad) in [
        "version = 1\nkey = 5".to_owned(),
        good.replace("role = \"service\"", "role = \"king\""),
        good.replacen("sha256:", "sha256:00", 1),
        good.replace("version = 1", "version = 2"),
        format!("{good}\n{}", &good[good.find("[[key]]").expect("a key")..]),
    ]
    .into_iter()
    .enumerate()
    {
        fs::write(&file, bad).expect("it can be written");
        house.reload().await;
        house.reload().await;
        assert_eq!(try_key(&house, key.reveal()).await, LET_IN);
        assert_eq!(metric("nevertwice_reload_refused{file=\"keys\"}").await, 1.0);
        assert_eq!(metric("nevertwice_reload_failures_total{file=\"keys\"}").await, (number + 1) as f64, "once for each");
    }
    fs::remove_file(&file).expect("it can be removed");
    house.reload().await;
    assert_eq!(try_key(&house, key.reveal()).await, LET_IN);
    fs::write(&file, good).expect("it can be written");
    house.reload().await;
    assert_eq!(metric("nevertwice_reload_refused{file=\"keys\"}").await, 0.0);
    assert_eq!(metric("nevertwice_reload_failures_total{file=\"keys\"}").await, 6.0);
}

#[test]
fn the_file_says_what_was_made_and_never_the_key() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = keys_file(&folder.path().join("not/there"));
    let shards = vec![shard_of("sale/final").expect("a shard"), shard_of("market/wc").expect("a shard")];
    let wanted = WantedKey { shards: Some(shards.clone()), expires_at: Some(START_MS + 86_400_000), ..wanted("web-1", KeyRole::Service) };
    let key = make_key(&file, wanted, START_MS + 999).expect("a key");
    revoke_key(&file, "web-1", START_MS + 1_500).expect("it is revoked");
    let records = list_keys(&file).expect("they can be read");
    let [record] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!((record.id.as_str(), record.role, record.shards.as_ref()), ("web-1", KeyRole::Service, Some(&shards)));
    assert_eq!((record.created_at, record.expires_at, record.revoked_at), (START_MS, Some(START_MS + 86_400_000), Some(START_MS + 1_000)));
    let text = fs::read_to_string(&file).expect("it can be read");
    let secret = key.reveal().rsplit_once('_').expect("a key").1;
    assert!(!text.contains(secret) && !format!("{records:?}").contains(secret));
    assert!(text.contains(&format!("expires_at = {}", instant_text(START_MS + 86_400_000).expect("an instant"))), "{text}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |mode: u32| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("it can be set");
        let now = || fs::metadata(&file).expect("it is there").permissions().mode() & 0o777;
        assert_eq!(now(), 0o600);
        mode(0o640);
        make_key(
            &file,
            WantedKey { id: KeyId::new("web-2").expect("an id"), role: KeyRole::Reader, shards: None, expires_at: None },
            START_MS,
        )
        .expect("a key");
        assert_eq!(now(), 0o640, "who could read it still can");
    }
}

#[test]
fn keys_that_make_no_sense_are_refused() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = keys_file(folder.path());
    let late = WantedKey { expires_at: Some(START_MS), ..wanted("web", KeyRole::Service) };
    assert!(make_key(&file, late, START_MS).expect_err("it is over").to_string().contains("time is over"));
    assert!(!file.exists());
    assert!(list_keys(&file).expect_err("there is none").to_string().contains("keys.toml"));
    fs::write(&file, "role = \"pasted-secret\"").expect("it can be written");
    for error in
        [list_keys(&file).expect_err("it is none"), make_key(&file, wanted("a", KeyRole::Reader), START_MS).expect_err("it is none")]
    {
        assert!(!error.to_string().contains("pasted-secret"), "{error}");
    }
    assert!(revoke_key(&file, "web", START_MS).is_err());
}

#[test]
fn ids_that_differ_in_capitals_alone_are_told_apart_in_words() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = keys_file(folder.path());
    make_key(&file, wanted("desk", KeyRole::Operator), START_MS).expect("a key");
    let text = fs::read_to_string(&file).expect("it can be read");
    let (head, row) = text.split_once("[[key]]").expect("a key");
    for (second, told) in [
        (
            row.replace("\"desk\"", "\"Desk\""),
            "key number 2 is wrong: its id has capitals, and ids have small letters alone; with those it is the id",
        ),
        (row.replace("\"desk\"", "\"TILL\""), "key number 2 is wrong: its id has capitals, and ids have small letters alone"),
        (row.to_owned(), "the id `desk` is there twice"),
    ] {
        fs::write(&file, format!("{head}[[key]]{row}\n[[key]]{second}")).expect("it can be written");
        let error = list_keys(&file).expect_err(told).to_string();
        assert!(error.contains(told) && !error.contains("Desk"), "{error}");
    }
}

#[test]
fn many_at_once_lose_no_key() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = keys_file(folder.path());
    std::thread::scope(|scope| {
        for number in 0..8 {
            let file = &file;
            scope.spawn(move || make_key(file, wanted(&format!("web-{number}"), KeyRole::Service), START_MS).expect("a key"));
        }
    });
    assert_eq!(list_keys(&file).expect("they can be read").len(), 8);
}
