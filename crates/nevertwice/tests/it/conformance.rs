//! `nevertwice conformance`, as whoever starts it sees it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn conformance(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    command.arg("conformance").args(arguments).output().expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A port that was free a moment ago, and at which nobody listens.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    format!("http://{}", listener.local_addr().expect("it is bound"))
}

#[test]
fn a_target_that_does_not_answer_fails_with_what_was_seen_and_how_to_repeat_it() {
    let told = conformance(&["--target", &nobody(), "--rule", "retry-replays", "--rule", "old-keys"]);
    let out = text(&told.stdout);
    assert_eq!(told.status.code(), Some(1), "{out}");
    for part in ["FAIL retry-replays", "seen:     the control endpoint", "no connection", "curl -sS -i -X PUT", "n/a  old-keys"] {
        assert!(out.contains(part), "{part} in {out}");
    }
    assert!(out.contains("0 passed, 1 failed, 1 not applicable"), "{out}");
}

#[test]
fn a_target_that_passes_everything_that_was_asked_is_a_success() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/targets/python_target.py");
    let mut target = Command::new("python3").arg(script).stdout(Stdio::piped()).spawn().expect("python3 starts");
    let mut line = String::new();
    BufReader::new(target.stdout.take().expect("it is piped")).read_line(&mut line).expect("it says where it listens");
    let told = conformance(&["--target", line.trim().trim_start_matches("listening on "), "--rule", "endpoint-"]);
    target.kill().and_then(|()| target.wait()).expect("it ends");
    assert!(told.status.success() && text(&told.stdout).contains("4 passed, 0 failed, 0 not applicable"), "{}", text(&told.stdout));
}

#[test]
fn json_is_one_object_a_line() {
    let told = conformance(&["--target", &nobody(), "--rule", "key-two-lines", "--json"]);
    let lines: Vec<serde_json::Value> = text(&told.stdout).lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    assert_eq!((lines[0]["rule"].as_str(), lines[0]["verdict"].as_str()), (Some("key-two-lines"), Some("fail")));
    assert_eq!((&lines[1]["tally"]["failed"], lines[1]["profile"].as_str()), (&1.into(), Some("ietf")));
    assert_eq!((lines.len(), told.status.code()), (2, Some(1)));
}

#[test]
fn what_is_not_there_is_told_before_anything_is_asked() {
    for (arguments, said) in [
        (["--rule", "nonsense"], "there is no rule `nonsense`; nothing was asked"),
        (["--profile", "nonsense"], "there is no profile nonsense (ietf, stripe, ucp, choices, server)"),
        (["--profile", "Cargo.toml"], "Cargo.toml: the profile can't be read"),
    ] {
        let told = conformance(&[["--target", "http://127.0.0.1:1"].as_slice(), arguments.as_slice()].concat());
        assert!(!told.status.success() && text(&told.stderr).contains(said), "{}", text(&told.stderr));
    }
    assert_eq!(conformance(&["--target", "https://127.0.0.1:1"]).status.code(), Some(2));
}

#[test]
fn the_servers_own_endpoints_keep_the_contract() {
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    let server = crate::serve::Serving::start(&folder.path().join("data"), &[]);
    let told = conformance(&["--target", &format!("http://{}", server.address()), "--profile", "server", "--json"]);
    let lines: Vec<serde_json::Value> = text(&told.stdout).lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    let failed: Vec<_> = lines.iter().filter(|line| line["verdict"] == "fail").collect();
    assert!(told.status.success() && failed.is_empty(), "{failed:#?}");
    let is_reasoned = |line: &serde_json::Value| line["reason"].is_string() == (line["verdict"] == "n/a");
    assert!(lines.iter().rev().skip(1).all(is_reasoned), "whatever is not asked says why");
    for endpoint in ["orders", "bookings"] {
        assert!(lines.iter().any(|line| line["endpoint"] == endpoint && line["rule"] == "running-many" && line["verdict"] == "pass"));
    }
    let passed = lines.last().and_then(|tally| tally["tally"]["passed"].as_u64()).expect("the tally comes last");
    nevertwice_testkit::conformance::count("http-server", passed);
}
