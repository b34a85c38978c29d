//! `nevertwice doctor` as a process: on good folders, bad folders and none.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::ran::Ran as _;
use crate::reports::folder;
use crate::serve::Serving;

fn doctor(data: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    command.args(["doctor", "--json", "--data"]).arg(data).args(more).env_clear();
    command.ran()
}

/// What it found, after checking that its exit code is that of the worst.
fn findings(data: &Path, more: &[&str]) -> Vec<Value> {
    let output = doctor(data, more);
    assert!(output.stderr.is_empty(), "{output:?}");
    let diagnosis: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let code = match diagnosis["worst"].as_str() {
        Some("fine" | "note") => 0,
        Some("warning") => 1,
        Some("error") => 2,
        _ => panic!("{diagnosis}"),
    };
    assert_eq!(output.status.code(), Some(code), "{diagnosis}");
    let findings = diagnosis["findings"].as_array().expect("findings").clone();
    assert_eq!(findings.last().expect("at least one")["grade"], diagnosis["worst"]);
    for finding in &findings {
        let says = |member: &str| finding[member].as_str().is_some_and(|text| text.len() > 5);
        assert!(says("found") && says("means"), "{finding}");
        assert_eq!(finding["grade"] == "fine", finding["advice"].is_null(), "{finding}");
    }
    findings
}

fn of<'a>(findings: &'a [Value], subject: &str) -> Vec<(&'a str, &'a str)> {
    let own = findings.iter().filter(|finding| finding["subject"] == subject);
    own.map(|finding| (finding["grade"].as_str().expect("a grade"), finding["found"].as_str().expect("a text"))).collect()
}

#[test]
fn a_folder_that_is_not_there_is_no_error_and_is_not_made() {
    let temporary = TempDir::new().expect("a folder can be made");
    let data = temporary.path().join("some/where");
    let findings = findings(&data, &[]);
    for subject in ["settings", "file system", "disk", "data folder", "clock", "open files", "memory"] {
        assert!(!of(&findings, subject).is_empty(), "{subject} was not looked at");
    }
    assert_eq!(of(&findings, "data folder")[0].0, "fine");
    assert!(of(&findings, "disk").iter().any(|(_, found)| found.contains("p99")), "{findings:?}");
    assert_eq!(fs::read_dir(temporary.path()).expect("it can be listed").count(), 0);
}

#[test]
fn a_stopped_server_s_folder_is_looked_at_and_left_as_it_was() {
    let folder = folder(3);
    let files = || {
        let files = fs::read_dir(folder.path()).expect("it can be listed").flatten();
        let mut files: Vec<_> = files.map(|file| (file.file_name(), fs::read(file.path()).expect("it can be read"))).collect();
        files.sort();
        files
    };
    let before = files();
    // The backend alone has made it: the key that a server would have made is missing.
    let without_key = findings(folder.path(), &[]);
    assert_eq!(of(&without_key, "data folder")[0].0, "fine", "{without_key:?}");
    assert!(
        of(&without_key, "clock").iter().any(|(grade, found)| *grade == "fine" && found.starts_with("the last entry")),
        "{without_key:?}"
    );
    assert_eq!(of(&without_key, "person key")[0].0, "error");
    let key = TempDir::new().expect("a folder can be made");
    let key = key.path().join("key");
    fs::write(&key, "7".repeat(64)).expect("it can be written");
    let setting = format!("person_key_file={}", key.display());
    let with_key = findings(folder.path(), &["--set", &setting]);
    assert_ne!(of(&with_key, "person key")[0].0, "error", "{with_key:?}");
    assert!(before == files(), "nothing is changed");
}

#[test]
fn bad_folders_are_findings_and_no_panics() {
    let whole = folder(3);
    let segment = fs::read_dir(whole.path()).expect("it can be listed").flatten().map(|file| file.path());
    let segment = segment.filter(|path| path.extension().is_some_and(|extension| extension == "segment")).min().expect("a segment");
    let good = fs::read(&segment).expect("it can be read");
    for (what, spoil) in [
        (
            "garbage in the first frame",
            Box::new(|bytes: &mut Vec<u8>| bytes[4_096 + 70..4_096 + 90].fill(0xA5)) as Box<dyn Fn(&mut Vec<u8>)>,
        ),
        ("a segment of nothing", Box::new(Vec::clear)),
        ("a segment of noise", Box::new(|bytes| bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 31 % 251) as u8))),
    ] {
        let mut bytes = good.clone();
        spoil(&mut bytes);
        fs::write(&segment, &bytes).expect("it can be written");
        let findings = findings(whole.path(), &[]);
        assert_eq!(of(&findings, "data folder")[0].0, "error", "{what}: {findings:?}");
    }
    fs::write(&segment, &good).expect("it can be written");
    for (marker, told) in [("nevertwice data\nformat 99\njournal 0123456789abcdef\n", "data_too_new"), ("\u{fffd}", "data_folder_invalid")]
    {
        fs::write(whole.path().join("format"), marker).expect("it can be written");
        let findings = findings(whole.path(), &[]);
        assert!(of(&findings, "data folder")[0].1.contains(told), "{findings:?}");
    }
    // A file where the folder should be, and files of somebody else.
    let file = whole.path().join("format");
    assert_eq!(of(&findings(&file, &[]), "data folder")[0].0, "error");
    let strange = TempDir::new().expect("a folder can be made");
    fs::write(strange.path().join("holiday.jpg"), "sand").expect("it can be written");
    let strange = findings(strange.path(), &[]);
    assert!(of(&strange, "data folder")[0].1.contains("holiday.jpg"), "{strange:?}");
}

#[test]
fn settings_that_serve_would_refuse_are_an_error() {
    let temporary = TempDir::new().expect("a folder can be made");
    let data = temporary.path().join("data");
    for more in
        [&["--set", "sweep_ms=999999"][..], &["--set", "swep_ms=1"], &["--config", "/no/such/file.toml"], &["--listen", "0.0.0.0:80"]]
    {
        let findings = findings(&data, more);
        let settings = of(&findings, "settings");
        assert_eq!(settings[0].0, "error", "{settings:?}");
    }
    assert_eq!(doctor(&data, &["--no-such-flag"]).status.code(), Some(2));
}

#[test]
#[cfg(unix)]
fn it_runs_beside_the_server() {
    let temporary = TempDir::new().expect("a folder can be made");
    let data = temporary.path().join("data");
    let serving = Serving::start(&data, &[]);
    let findings = findings(&data, &[]);
    assert!(of(&findings, "data folder")[0].1.contains("a server runs"), "{findings:?}");
    assert_eq!(of(&findings, "person key")[0].0, "fine");
    assert_eq!(serving.ask("GET /readyz", "").0, 200);
    assert!(serving.signal("-TERM").status.success());
    let output = Command::new(env!("CARGO_BIN_EXE_nevertwice")).args(["doctor", "--data"]).arg(&data).ran();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("What to do:") && text.trim_end().ends_with("notes"), "{text}");
}

#[test]
fn the_least_rights_on_redis_are_printed() {
    let told = Command::new(env!("CARGO_BIN_EXE_nevertwice")).args(["doctor", "--acl"]).output().expect("the binary starts");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.starts_with("ACL SETUSER nevertwice-keys reset on >PASSWORD resetkeys ~nvt:v1:"), "{told}");
    assert!(told.contains("-@all") && told.contains("+evalsha") && told.lines().count() == 1, "{told}");
}
