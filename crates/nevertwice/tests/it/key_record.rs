//! `nevertwice key-record` as a process, beside a server that has claims.

use std::process::{Command, Output};

use nevertwice_testkit::redis::RedisServer;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::serve::Serving;

fn key_record(serving: &Serving, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    let server = format!("http://{}", serving.address());
    command.arg("key-record").args(arguments).args(["--server", &server, "--principal", "ann", "--key", "k"]);
    command.output().expect("the binary starts")
}

fn told(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn refused(output: &Output) -> String {
    assert!(!output.status.success() && output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn call(serving: &Serving, verb: &str, body: &Value) -> (u16, Value) {
    serving.ask_as("principal: ann\r\n", &format!("POST /v1/keys/{verb}"), &body.to_string())
}

#[test]
fn an_operator_looks_at_a_claim_and_renews_and_releases_it() {
    let folder = TempDir::new().expect("a folder can be made");
    let serving = Serving::start(&folder.path().join("data"), &[]);
    let scope = ["--scope", "charges"];
    assert!(refused(&key_record(&serving, &[&["inspect"][..], &scope].concat())).contains("(unknown_key)"));
    let owner = "5a".repeat(32);
    let registration = json!({"key": "k", "scope": "charges", "owner": owner, "request": "{}"});
    let (status, claimed) = call(&serving, "register", &registration);
    assert_eq!(status, 200, "{claimed}");
    let generation = claimed["generation"].to_string();

    let shown = told(&key_record(&serving, &[&["inspect"][..], &scope].concat()));
    for part in ["key k of ann in scope charges", "in_progress: somebody works on it", &format!("generation {generation}, owner {owner}")] {
        assert!(shown.contains(part), "{shown}");
    }
    let json = told(&key_record(&serving, &[&["inspect", "--json"][..], &scope].concat()));
    let record: Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!((&record["state"], record["generation"].to_string()), (&json!("in_progress"), generation.clone()));

    // Another claim than the one that was looked at is left alone.
    for verb in ["renew", "release"] {
        let stale = key_record(&serving, &[&[verb, "--generation", "7"][..], &scope].concat());
        assert!(refused(&stale).contains("(stale_owner)"), "{verb}");
    }
    let renewed = told(&key_record(&serving, &[&["renew", "--generation", &generation, "--lease-ms", "120000"][..], &scope].concat()));
    assert!(renewed.contains("120000 ms from now"), "{renewed}");
    for _ in 0..2 {
        let released = told(&key_record(&serving, &[&["release", "--generation", &generation][..], &scope].concat()));
        assert!(released.contains("is released") && released.contains(&owner), "{released}");
    }
    assert!(told(&key_record(&serving, &[&["inspect"][..], &scope].concat())).contains("free: it was given back"));

    let explained = Command::new(env!("CARGO_BIN_EXE_nevertwice"))
        .args(["explain", "--principal", "ann", "--key", "k", "--scope", "charges", "--server"])
        .arg(format!("http://{}", serving.address()))
        .output()
        .expect("the binary starts");
    let explained = told(&explained);
    assert!(explained.contains("it is free") && explained.contains("key k of ann in scope charges"), "{explained}");
    let audit = |source: [&str; 2]| {
        let output = Command::new(env!("CARGO_BIN_EXE_nevertwice")).arg("audit").args(source).output();
        let text = told(&output.expect("the binary starts"));
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("the record of a key")).collect();
        assert_eq!(lines.len(), 2, "{text}");
        for (line, command) in lines.iter().zip(["renew_lease", "release_key"]) {
            assert!(line.contains(&format!("{command} charges by local")) && line.contains("as ann with k: before {"), "{line}");
        }
        assert!(lines[1].contains("\"state\":\"free\"") && lines[1].contains(&generation), "{}", lines[1]);
    };
    audit(["--server", &format!("http://{}", serving.address())]);
    let stopped = serving.signal("-TERM");
    audit(["--data", &folder.path().join("data").to_string_lossy()]);
    let log = String::from_utf8_lossy(&stopped.stderr);
    assert!(log.contains("an operator changed a key's record") && log.contains("command=\"release\""), "{log}");
}

#[test]
#[cfg(unix)]
fn an_answer_is_repeated_after_a_kill() {
    let folder = TempDir::new().expect("a folder can be made");
    let data = folder.path().join("data");
    let serving = Serving::start(&data, &[]);
    let owner = |digits: &str| digits.repeat(32);
    let registration = |attempt: &str| json!({"key": "k", "owner": owner(attempt), "request": "{}"});
    let (_, claimed) = call(&serving, "register", &registration("01"));
    let answer = json!({"status": 201, "headers": [], "body_text": "charged"});
    let completion = json!({"key": "k", "owner": owner("01"), "generation": claimed["generation"], "answer": answer});
    let (status, completed) = call(&serving, "complete", &completion);
    assert_eq!((status, &completed["levels"]), (200, &json!(["decided", "journaled"])));
    assert!(!serving.signal("-KILL").status.success());
    let serving = Serving::start(&data, &[]);
    let (_, replay) = call(&serving, "register", &registration("02"));
    assert_eq!((&replay["registration"], &replay["answer"]), (&json!("replay"), &answer));
    let stopped = serving.signal("-TERM");
    assert!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
}

#[test]
fn servers_share_the_keys_that_a_redis_server_keeps() {
    let (redis, folder) = (RedisServer::start(&[]), TempDir::new().expect("a folder can be made"));
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "5a".repeat(32)).expect("it can be written");
    let (store, file) = (format!("keys_store={}", redis.url()), format!("keys_secret_file={}", secret.display()));
    let more = ["--set", &store, "--set", &file];
    let start = |name: &str| Serving::start(&folder.path().join(name), &more);
    let (one, other) = (start("one"), start("other"));
    let owner = |digits: &str| digits.repeat(32);
    let registration = |attempt: &str| json!({"key": "k", "owner": owner(attempt), "request": "{}"});
    let (_, claimed) = call(&one, "register", &registration("01"));
    assert_eq!(claimed["levels"], json!(["decided"]));
    assert_eq!(call(&other, "register", &registration("02")).0, 409);
    let answer = json!({"status": 201, "headers": [], "body_text": "charged"});
    let completion = json!({"key": "k", "owner": owner("01"), "generation": claimed["generation"], "answer": answer});
    assert_eq!(call(&other, "complete", &completion).0, 200, "any server takes the answer of who owns the claim");
    let (_, replay) = call(&one, "register", &registration("03"));
    assert_eq!((&replay["registration"], &replay["answer"]), (&json!("replay"), &answer));

    redis.ask(&["FLUSHALL"]);
    let (status, refused) = call(&one, "register", &registration("04"));
    assert_eq!((status, &refused["code"]), (503, &json!("key_store_unavailable")), "{refused}");

    std::fs::write(&secret, "77".repeat(32)).expect("it can be written");
    let third = start("third");
    assert_eq!(call(&third, "register", &registration("05")).0, 200, "the server holds nothing, and nobody else's secret");
    let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    std::fs::write(&secret, "5a".repeat(32)).expect("it can be written");
    command.arg("serve").arg("--data").arg(folder.path().join("fourth")).args(["--listen", "127.0.0.1:0"]).args(more);
    let said = refused_start(&mut command);
    assert!(said.contains("named under another secret") && said.contains("configuration_invalid"), "{said}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    command.args(["serve", "--set", "keys_store=redis://:hush@h"]);
    assert!(refused_start(&mut command).contains("seen by everybody"));
}

fn refused_start(command: &mut Command) -> String {
    let output = command.output().expect("the binary starts");
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[cfg(unix)]
fn keys_travel_with_a_backup_of_a_running_server_and_are_known_after_a_restore() {
    let folder = TempDir::new().expect("a folder can be made");
    let at = |name: &str| folder.path().join(name);
    let nevertwice = |arguments: &[&str], paths: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
        command.args(arguments);
        for (flag, name) in paths {
            command.arg(flag).arg(at(name));
        }
        told(&command.output().expect("the binary starts"))
    };
    let serving = Serving::start(&at("data"), &[]);
    let server = format!("http://{}", serving.address());
    let registration = |key: &str, attempt: &str| json!({"key": key, "owner": attempt.repeat(32), "request": "{}"});
    let answer = json!({"status": 201, "headers": [], "body_text": "charged"});
    for key in ["early", "late"] {
        let (_, claimed) = call(&serving, "register", &registration(key, "01"));
        let completion = json!({"key": key, "owner": "01".repeat(32), "generation": claimed["generation"], "answer": answer});
        assert_eq!(call(&serving, "complete", &completion).0, 200);
        call(&serving, "register", &registration("running", "01"));
        let backed = nevertwice(&["backup", "--server", &server], &[("--to", "backup")]);
        assert!(backed.contains("records of keys") && backed.contains("read back and verified"), "{backed}");
    }
    assert!(nevertwice(&["verify"], &[("--data", "backup")]).contains("with 3 records of keys, 2 answers"));
    assert!(serving.signal("-TERM").status.success());
    let restored = nevertwice(&["restore", "--to-position", "latest"], &[("--from", "backup"), ("--data", "new")]);
    assert!(restored.contains("with 3 records of keys, 2 answers"), "{restored}");
    assert!(nevertwice(&["verify"], &[("--data", "new")]).contains("3 keys: 1 claims, 2 answers"));
    for end in [".key", "-keys.key"] {
        std::fs::copy(at(&format!("data{end}")), at(&format!("new{end}"))).expect("the secret is there");
    }
    let serving = Serving::start(&at("new"), &[]);
    for key in ["early", "late"] {
        let (_, replay) = call(&serving, "register", &registration(key, "02"));
        assert_eq!((&replay["registration"], &replay["answer"]), (&json!("replay"), &answer), "{key}");
    }
    let (_, running) = call(&serving, "register", &registration("running", "02"));
    assert_eq!(running["code"], "key_in_progress");
    // A stopped folder is copied as well.
    assert!(serving.signal("-TERM").status.success());
    assert!(nevertwice(&["backup"], &[("--data", "new"), ("--to", "other")]).contains("with 3 records of keys, 2 answers"));
}
