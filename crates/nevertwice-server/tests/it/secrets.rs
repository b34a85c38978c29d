//! Secrets are in no log, no error and no answer.

use std::io;
use std::path::Path;
use std::sync::{Mutex, Once, PoisonError};

use nevertwice_api::fingerprint;
use nevertwice_api::person::SaleKey;
use nevertwice_server::config::{Secret, Sources, load};
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::client::Ask;
use crate::house::{House, Plan, data};

static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Log;

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        Self
    }
}

/// Keeps all that this process logs from now on.
pub(crate) fn listen_to_log() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(Log).with_ansi(false);
        // Another subscriber would be a fault of this file.
        tracing::subscriber::set_global_default(subscriber.finish()).expect("one subscriber");
    });
}

pub(crate) fn log() -> String {
    String::from_utf8_lossy(&LOG.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
}

#[tokio::test]
async fn keys_codes_and_addresses_are_not_logged_and_not_echoed() {
    let (operator, service, wrong) = ("operator-Zq81-secret-key", "service-Xv42-secret-key", "wrong-Kp77-secret-key-00");
    let (code, email) = ("ZEBRA-CODE-77", "zebra.person@example.org");
    let mut plan = Plan::default();
    plan.config.operator_key = Some(Secret::new(operator));
    plan.config.service_key = Some(Secret::new(service));
    let config = format!("{:?}", plan.config);
    let house = House::with(plan).await;
    let window =
        json!({"sale": "s", "levels": [{"level": "n", "cap": null}], "total_cap": 5, "opens_at": 0, "closes_at": 9_000_000_000_000_i64});
    let mut answers = config;
    for (key, path, body) in [
        ("1", "/v1/sales", window),
        ("2", "/v1/sales/s/candidates", json!({"candidates": [{"code": code, "email": email}]})),
        ("3", "/v1/sales/s/open", json!({"open": true})),
    ] {
        let ask = Ask::post(path, key, body.to_string()).header("authorization", format!("Bearer {operator}"));
        answers += &format!("{:?}", house.send(ask).await);
    }
    for token in [service, wrong, operator] {
        for body in [json!({"code": code, "email": email, "level": "n"}), json!({"code": code, "level": "n"})] {
            let ask = Ask::post("/v1/sales/s/bookings", "4", body.to_string()).header("principal", "web");
            answers += &format!("{:?}", house.send(ask.header("authorization", format!("Bearer {token}"))).await);
        }
    }
    assert!(answers.contains("Answer { status: 201") && answers.contains("fingerprint_mismatch"), "{answers}");
    house.close().await;
    let log = log();
    assert!(log.contains("answered"), "the log was heard");
    for secret in [operator, service, wrong, code, email] {
        assert!(!log.contains(secret), "a secret is in the log");
        assert!(!answers.contains(secret), "a secret is in an answer");
    }
}

#[tokio::test]
async fn nobody_can_try_out_codes_on_the_stored_fingerprints() {
    let house = House::open().await;
    let sale = json!({"sale": "final", "levels": [{"level": "n", "cap": null}], "total_cap": 5, "opens_at": 0, "closes_at": 9_000_000_000_000_i64});
    let load = json!({"candidates": [{"code": "AB-12", "email": "ada@example.org"}]});
    let book = json!({"code": " ab-12", "email": "Ada@Example.org", "level": "n"});
    let normal = json!({"code": "AB-12", "email": "ada@example.org", "level": "n"});
    house.post("/v1/sales", "sale", sale).await.result();
    house.post("/v1/sales/final/candidates", "load", load.clone()).await.result();
    house.post("/v1/sales/final/open", "doors", json!({"open": true})).await.result();
    house.post("/v1/sales/final/bookings", "book", book.clone()).await.result();
    let folder = house.close().await;
    let stored = stored(&data(&folder));
    let has = |digest: &[u8; 32]| stored.windows(32).any(|bytes| bytes == digest);
    let key = SaleKey::derive(&[7; 32], "final");
    for (word, body, is_stored) in [("load_candidates", load, true), ("book", book, false), ("book", normal, true)] {
        let plain = fingerprint::of_json(&[word, "final"], body.to_string().as_bytes()).expect("it is JSON");
        assert!(!has(&plain), "{word} {body}");
        assert_eq!(has(&key.fingerprint(&plain)), is_stored, "{word} {body}");
    }
}

/// All bytes in a folder.
fn stored(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder can be listed") {
        let path = entry.expect("an entry").path();
        bytes.extend(if path.is_dir() { stored(&path) } else { std::fs::read(&path).expect("the file can be read") });
    }
    bytes
}

#[test]
fn a_refused_configuration_does_not_tell_the_keys() {
    let environment = [("NEVERTWICE_OPERATOR_KEY", "short-secret"), ("NEVERTWICE_SERVICE_KEY", "sp ace in a secret key")];
    let environment = environment.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let error = load(&Sources { environment, ..Sources::default() }).expect_err("the keys are nonsense").to_string();
    assert!(error.contains("operator_key") && error.contains("service_key"), "{error}");
    assert!(!error.contains("short-secret") && !error.contains("sp ace"), "{error}");
}

/// The library that reads TOML shows the line that it can't read, and a key may stand there.
#[test]
fn a_file_that_is_no_toml_does_not_tell_the_key_in_it() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let file = folder.path().join("nevertwice.toml");
    for (text, line) in [
        ("hold_ms = 60000\noperator_key = \"hush-0123456789-hush\n", "line 2"),
        ("operator_key = hush-0123456789-hush", "line 1"),
        ("operator_key = [\"hush-0123456789-hush\"", "line 1"),
        ("operator_key = \"a\"\n\noperator_key = \"hush-0123456789-hush\"", "line 3"),
        ("operator_key = \"hush-0123456789-hush\" sweep_ms = 1", "line 1"),
    ] {
        std::fs::write(&file, text).expect("the file can be written");
        let error = load(&Sources { file: Some(file.clone()), ..Sources::default() }).expect_err("it is no TOML");
        let told = error.to_string();
        assert_eq!(error.code.code(), "configuration_invalid");
        assert!(told.contains(line) && told.contains("nevertwice.toml") && told.contains("TOML"), "{text}: {told}");
        assert!(!told.contains("hush"), "{told}");
    }
}

/// Another person key would make strangers of all who are in the data, and give them second seats.
#[test]
fn a_person_key_that_the_data_were_not_made_with_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (path, data) = (folder.path().join("data.key"), folder.path());
    nevertwice_server::check_person_secret(&path, data, &[1; 32]).expect("nothing is known yet");
    assert_eq!(std::fs::read_dir(data).expect("it can be listed").count(), 0, "to look is not to write");
    nevertwice_server::note_person_secret(&path, data, &[1; 32]).expect("the first one is noted");
    nevertwice_server::note_person_secret(&path, data, &[2; 32]).expect("what is noted stays");
    nevertwice_server::check_person_secret(&path, data, &[1; 32]).expect("the same is right");
    let refused = nevertwice_server::check_person_secret(&path, data, &[2; 32]).expect_err("another is not");
    assert_eq!(refused.code.code(), "configuration_invalid");
    let noted = std::fs::read_to_string(data.join("person-key.check")).expect("it is noted");
    assert!(!noted.contains(&"01".repeat(32)), "the key itself is not noted");
    std::fs::write(data.join("person-key.check"), "person-key 2\nsha3 0123\n").expect("it can be written");
    let newer = nevertwice_server::check_person_secret(&path, data, &[1; 32]).expect_err("a later version noted it");
    assert_eq!(newer.code.code(), "data_too_new");
}

/// The data folder may lie in a folder that is not there yet, and so may the key beside it.
#[test]
fn the_first_start_makes_the_folder_of_the_person_key() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("not/there/data.key");
    let made = nevertwice_server::load_or_create_person_secret(&path, &folder.path().join("not/there/data")).expect("it is made");
    let again = nevertwice_server::load_or_create_person_secret(&path, folder.path()).expect("it is read");
    assert_eq!(made, again);
}
