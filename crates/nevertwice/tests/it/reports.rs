//! The commands that report on a data folder, as processes.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use nevertwice_api::{Backend as _, Levels, NoObserver, Request};
use nevertwice_core::{
    Action, Command as Ask, IdempotencyKey, Intent, ListInstrument, MarketLimits, MarketMode, Name, OpenMarket, Principal, ShardId,
};
use nevertwice_local::clock::SystemClock;
use nevertwice_local::storage::FileStorage;
use nevertwice_local::{LocalBackend, LocalOptions};
use nevertwice_server::{note_person_secret, person_key_of};
use serde_json::Value;
use tempfile::TempDir;

use crate::ran::Ran as _;

fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

/// The data folder of a market with so many instruments, in small segments, with a snapshot after every twenty.
pub(crate) fn folder(instruments: usize) -> TempDir {
    let folder = TempDir::new().expect("a folder can be made");
    let storage = FileStorage::create(folder.path()).expect("it takes files");
    let mut options = LocalOptions::default();
    options.journal.segment_bytes = 64 << 10;
    let (backend, _) = LocalBackend::open(Arc::new(storage), Arc::new(SystemClock), Arc::new(NoObserver), &options).expect("it opens");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime can be made");
    let limits = MarketLimits { quantity_max: 9, holding_max: 9, house_loss_max: 0 };
    let open = OpenMarket { decimals: 2, fee_bps: 0, limits, mode: MarketMode::Open, retention_ms: 86_400_000 };
    let listed = (1..=instruments).map(|number| ListInstrument { instrument: name(&format!("i-{number}")), base: 100, slope: 1 }.into());
    for (number, action) in std::iter::once(Action::from(open)).chain(listed).enumerate() {
        let key = IdempotencyKey::new(&format!("k-{number}")).expect("a key");
        let intent = Intent { principal: Principal::new("desk").expect("a principal"), key, fingerprint: [0; 32], expires_at: None };
        let request = Request { shard: ShardId::market(name("cup")), command: Ask::new(intent, action), levels: Levels::NONE };
        runtime.block_on(backend.submit(request)).expect("it is decided");
        if number > 0 && number % 20 == 0 {
            runtime.block_on(backend.snapshot()).expect("a snapshot is made");
        }
    }
    folder
}

pub(crate) fn command(arguments: &[&str], data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    command.args(arguments).arg("--data").arg(data).stderr(Stdio::piped());
    command
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let folder = folder(3);
    for arguments in
        [&["journal", "inspect", "--entries"][..], &["verify"], &["audit"], &["explain", "--principal", "desk", "--key", "k-1"]]
    {
        let (reader, writer) = std::io::pipe().expect("a pipe can be made");
        drop(reader);
        let output = command(arguments, folder.path()).stdout(writer).ran();
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {output:?}");
        let read = command(arguments, folder.path()).ran();
        assert!(read.status.success() && !read.stdout.is_empty(), "{arguments:?}: {read:?}");
    }
}

#[test]
fn verify_says_which_shard_it_can_only_judge_from_its_records() {
    let told = "market/cup: judged from its records: its first entries lie below the oldest snapshot";
    for (instruments, pruned) in [(3, false), (80, true)] {
        let output = command(&["verify"], folder(instruments).path()).ran();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.ends_with("clean\n"), "{text}");
        assert_eq!(text.lines().any(|line| line == told), pruned, "{text}");
    }
}

#[test]
fn verify_tells_a_note_of_the_person_key_that_is_damaged_or_of_another_key() {
    let outer = TempDir::new().expect("a folder can be made");
    let data = outer.path().join("data");
    std::fs::rename(folder(3).keep(), &data).expect("it can be moved");
    let verify = || {
        let output = command(&["verify"], &data).output().expect("the binary starts");
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (key, note) = (person_key_of(&data), data.join("person-key.check"));
    note_person_secret(&key, &data, &[7; 32]).expect("it can be noted");
    let (clean, text) = verify();
    assert!(clean && text.contains("is not there to be compared"), "{text}");
    for (digits, is_right) in [("07", true), ("08", false)] {
        std::fs::write(&key, digits.repeat(32)).expect("it can be written");
        let (clean, text) = verify();
        assert_eq!((clean, text.contains("is not the one with which the data")), (is_right, !is_right), "{text}");
    }
    std::fs::write(&key, "07".repeat(32)).expect("it can be written");
    let whole = std::fs::read(&note).expect("it can be read");
    let damaged = [Vec::new(), whole[..40].to_vec(), [whole.as_slice(), &whole].concat(), vec![0; 65], whole.to_ascii_uppercase()];
    let flipped = (0..whole.len()).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    });
    for bytes in damaged.into_iter().chain(flipped.step_by(9)) {
        std::fs::write(&note, &bytes).expect("it can be written");
        let (clean, text) = verify();
        assert!(!clean && text.contains("FAULT") && text.contains("person"), "{bytes:?}: {text}");
    }
    std::fs::write(&note, "person-key 2\nsomething\n").expect("it can be written");
    assert!(verify().1.contains("has version 2"));
}

fn read(arguments: &[&str], data: &Path) -> String {
    let output = command(arguments, data).ran();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("it is text")
}

#[test]
fn the_audit_tells_what_the_journal_does_not_hold_any_more() {
    let folder = folder(80);
    let inspected = read(&["journal", "inspect", "--entries"], folder.path());
    assert!(!inspected.contains("MarketOpened"), "the beginning of the journal has gone: {inspected}");
    let text = read(&["audit"], folder.path());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 81);
    assert!(lines[0].contains("market/cup 1-1 open_market by somebody whose name was not kept as desk with k-0"), "{}", lines[0]);
    assert!(lines[80].ends_with(r#"before nothing is known, after {"base":100,"slope":1,"state":"active"}"#), "{}", lines[80]);
    let json = read(&["audit", "--json", "--shard", "market/cup"], folder.path());
    let facts: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    assert_eq!((facts.len(), &facts[7]["about"]), (81, &Value::from("i-7")));
    assert_eq!(read(&["audit", "--shard", "sale/cup"], folder.path()), "");

    let file = std::fs::read_dir(folder.path()).expect("it can be listed").filter_map(|entry| Some(entry.ok()?.path()));
    let file = file
        .into_iter()
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("audit-")))
        .expect("it is there");
    let mut bytes = std::fs::read(&file).expect("it can be read");
    bytes[100] ^= 1;
    std::fs::write(&file, bytes).expect("it can be written");
    for (arguments, told) in [(["audit"], "FAULT"), (["verify"], "not clean")] {
        let output = command(&arguments, folder.path()).ran();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success() && text.contains(told) && text.contains("audit-"), "{arguments:?}: {output:?}");
    }
}

#[test]
fn a_tap_is_explained_from_a_folder() {
    let folder = folder(3);
    let explain = |key: &str| read(&["explain", "--principal", "desk", "--key", key], folder.path());
    let text = explain("k-2");
    for told in ["It happened once: list_instrument at 1-3 of market/cup.", "A retry now", r#""instrument":"i-2""#, "its end"] {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert!(explain("k-9").contains("it never happened"));
    let json = read(&["explain", "--json", "--principal", "desk", "--key", "k-2", "--shard", "market/cup"], folder.path());
    let told: Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!((&told["found"][0]["position"], &told["attempts"]["seen"]), (&Value::from("1-3"), &Value::Array(Vec::new())));
    for wrong in [&["explain", "--principal", "a b", "--key", "k"][..], &["explain", "--principal", "a", "--key", "k", "--shard", "cup"]] {
        assert!(!command(wrong, folder.path()).ran().status.success(), "{wrong:?}");
    }
}
