//! The fixtures against the product of today.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nevertwice_core::Event;
use nevertwice_local::inspect::Inspection;
use nevertwice_local::storage::FileStorage;
use nevertwice_server::{check_person_secret, note_person_secret, routes};
use nevertwice_testkit::release::{self, Folder};
use serde_json::Value;
use tempfile::TempDir;

use super::agree::{differ, differs};
use super::exchange::{Asked, Step, perform};
use super::quiet;
use super::script::Recorder;
use crate::house::{House, START_MS, data};

/// Another number than any that was drawn.
const MARKER: &str = "nevertwice data\nformat 1\njournal 0123456789abcdef\n";

/// The folders, and whether their server made snapshots and was stopped. The other one was killed.
const FOLDERS: [(&str, bool); 2] = [("killed", false), ("stopped", true)];

fn recording() -> PathBuf {
    release::root(release::LAST).join("exchanges.json")
}

fn recorded() -> Vec<Step> {
    let text = fs::read_to_string(recording()).expect("the recording is there");
    serde_json::from_str(&text).expect("the recording can be read")
}

async fn empty() -> House {
    let folder = TempDir::new().expect("a folder can be made");
    fs::create_dir(data(&folder)).expect("a folder can be made");
    fs::write(data(&folder).join("format"), MARKER).expect("a file can be written");
    House::on(quiet::plan(), folder, START_MS).await
}

fn hashes(path: &Path) -> Vec<String> {
    let storage = FileStorage::open(path).expect("the folder is there");
    let contents = Inspection::open(Arc::new(storage)).and_then(|inspection| inspection.contents()).expect("it can be read");
    assert_eq!(contents.damage, None);
    contents.states.shards().map(|state| format!("{} at {}: hash {}", state.shard(), state.position(), state.state_hash())).collect()
}

/// A copy of what is on the disk.
fn copied(folder: &Folder) -> TempDir {
    let copy = TempDir::new().expect("a folder can be made");
    folder.unpack(&data(&copy));
    copy
}

#[tokio::test]
async fn fixtures_are_made_where_they_are_missing() {
    if std::env::var_os("NVT_WRITE_FIXTURES").is_some() && !recording().exists() {
        for (name, has_snapshots) in FOLDERS {
            let mut recorder = Recorder::new(empty().await, has_snapshots);
            recorder.record().await;
            let text = serde_json::to_string_pretty(&recorder.steps).expect("steps can be written");
            let house = recorder.into_house();
            note_person_secret(Path::new("data.key"), &house.data(), &[7; 32]).expect("the person key is noted");
            let killed = Folder::of(&house.data());
            let stopped = house.close().await;
            let mut folder = if has_snapshots { Folder::of(&data(&stopped)) } else { killed };
            folder.hashes = hashes(&data(&copied(&folder)));
            folder.write(release::LAST, name);
            fs::write(recording(), text + "\n").expect("the recording can be written");
        }
    }
    let names: Vec<&str> = FOLDERS.iter().map(|(name, _)| *name).collect();
    assert_eq!(release::folders(release::LAST), names);
}

/// The recording says something of every route that it describes itself, and of many ways to be refused.
#[test]
fn the_recording_covers_the_api_that_it_was_made_of() {
    let steps = recorded();
    let asked: Vec<&Asked> =
        steps.iter().filter_map(|step| if let Step::Ask { request, .. } = step { Some(request) } else { None }).collect();
    let described = steps.iter().find_map(|step| match step {
        Step::Ask { request, answer } if request.path == "/openapi.json" => answer.body.as_array(),
        _ => None,
    });
    let described: Vec<&str> = described.expect("the API is described").iter().filter_map(Value::as_str).collect();
    let described: Vec<(&str, &str)> = described.iter().filter_map(|line| line.split_once(" /")).collect();
    assert!(described.len() > 30, "{described:?}");
    for (method, path) in described {
        let is_of = |asked: &&&Asked| asked.method.eq_ignore_ascii_case(method) && matches(path, asked.path.trim_start_matches('/'));
        assert!(asked.iter().find(is_of).is_some(), "{method} /{path} was not asked");
        // A route stays.
        let stays = routes().iter().any(|route| route.method.word().eq_ignore_ascii_case(method) && route.path == format!("/{path}"));
        assert!(stays, "{method} /{path} is gone");
    }
    let refusals = steps.iter().filter_map(|step| match step {
        Step::Ask { answer, .. } => answer.body["code"].as_str(),
        _ => None,
    });
    let refusals: BTreeSet<&str> = refusals.collect();
    assert!(refusals.len() >= 20, "{refusals:?}");
}

/// Whether a path has the form of a route.
fn matches(route: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (route.split('/'), path.split('?').next().unwrap_or_default().split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(wanted), Some(given)) if wanted == given || wanted.starts_with('{') => {}
            _ => return false,
        }
    }
}

/// Every kind of entry that the version could make is in its folder.
#[test]
fn a_folder_holds_every_kind_of_entry() {
    let copy = copied(&Folder::read(release::LAST, "killed"));
    let storage = FileStorage::open(data(&copy)).expect("the folder is there");
    let mut words = BTreeSet::new();
    let mut note = |event: &Event| {
        words.insert(format!("{event:?}").split('(').next().unwrap_or_default().to_owned());
    };
    let inspection = Inspection::open(Arc::new(storage)).expect("it can be read");
    let contents = inspection.replay(|_, entry| entry.events.iter().for_each(&mut note)).expect("it can be read");
    assert_eq!((contents.damage, contents.report.snapshot), (None, None));
    let all = [
        "AccountOpened",
        "BookingReleased",
        "CandidateAdmitted",
        "CandidatesLoaded",
        "CapsSet",
        "HoldersPaid",
        "HoldsExpired",
        "InstrumentFrozen",
        "InstrumentListed",
        "InstrumentRepriced",
        "InstrumentSettled",
        "InstrumentUnfrozen",
        "MarketOpened",
        "ModeSet",
        "OrderFilled",
        "PaymentAttached",
        "PaymentBegun",
        "PaymentConfirmed",
        "SaleOpenSet",
        "SaleOpened",
    ];
    assert_eq!(words, all.map(str::to_owned).into());
}

#[tokio::test]
async fn the_api_is_answered_as_it_was() {
    let mut house = empty().await;
    for (number, step) in recorded().iter().enumerate() {
        if let Step::Ask { request, answer } = step {
            let now = request.send(&house).await;
            let told = differs(answer, &now);
            assert_eq!(told, None, "step {number}, {} {} {}: {now:?}", request.method, request.path, request.body);
        } else {
            house = perform(house, step, true).await;
        }
    }
}

#[tokio::test]
async fn its_folders_are_read_and_every_command_is_a_replay() {
    for (name, _) in FOLDERS {
        let folder = Folder::read(release::LAST, name);
        assert_eq!(folder.hashes.len(), 2);
        let copy = copied(&folder);
        assert_eq!(hashes(&data(&copy)), folder.hashes, "{name}");
        check_person_secret(Path::new("data.key"), &data(&copy), &[7; 32]).expect("its person key is known");
        let elapsed: i64 = recorded().iter().map(|step| if let Step::Later { ms } = step { *ms } else { 0 }).sum();
        let house = House::on(quiet::plan(), copy, START_MS + elapsed).await;
        let mut replays = 0;
        for step in recorded() {
            let Step::Ask { request, answer } = step else { continue };
            if request.method != "POST" || !request.path.starts_with("/v1/") || answer.status >= 300 {
                continue;
            }
            let now = request.send(&house).await;
            assert_eq!(now.status, 200, "{name}: {} {}: {now:?}", request.path, request.body);
            match &answer.body {
                Value::Array(lines) => {
                    for (line, now) in lines.iter().zip(now.body.as_array().expect("as many lines")) {
                        if line["status"].as_u64().is_some_and(|status| status < 300) {
                            let replayed = &now["answer"]["replayed"];
                            assert_eq!((&now["status"], replayed), (&Value::from(200), &Value::from(true)), "{name}: {now}");
                            assert_eq!(differ(&line["answer"]["result"], &now["answer"]["result"], ""), None, "{name}");
                            replays += 1;
                        }
                    }
                }
                body => {
                    assert!(now.headers.contains(&("idempotent-replayed".to_owned(), "true".to_owned())), "{name}: {now:?}");
                    assert_eq!(differ(&body["result"], &now.body["result"], ""), None, "{name}: {}", request.path);
                    replays += 1;
                }
            }
        }
        assert!(replays > 35, "{replays}");
        // What was read of it is what it was, and it goes on.
        let folder_now = house.close().await;
        assert_eq!(hashes(&data(&folder_now)), folder.hashes, "{name}: replays change nothing");
        let house = House::on(quiet::plan(), folder_now, START_MS + elapsed).await;
        let order = serde_json::json!({"account": "ann", "instrument": "FRA", "side": "sell", "quantity": 1});
        assert_eq!(house.post("/v1/markets/wc/orders", "new", order).await.status, 201, "{name}");
    }
}
