//! `nevertwice key` as a process, beside a server that reads the file again.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::ran::Ran as _;
use crate::serve::Serving;

fn key(arguments: &[&str], file: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    command.arg("key").args(arguments).arg("--keys-file").arg(file).ran()
}

fn told(output: &Output) -> (String, String) {
    (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
#[cfg(unix)]
fn a_key_is_made_taken_and_revoked_while_the_server_runs() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = folder.path().join("keys.toml");
    let made = key(&["make", "--role", "operator", "--id", "desk-1", "--expires", "90d"], &file);
    let (shown, silence) = told(&made);
    assert!(made.status.success() && silence.is_empty(), "{silence}");
    let first = shown.trim();
    assert!(first.starts_with("nevertwice_desk-1_") && shown.lines().count() == 1, "{shown}");

    let setting = format!("keys_file={}", file.display());
    let serving = Serving::start(&folder.path().join("data"), &["--set", &setting]);
    let status = |key: &str| serving.ask_as(&format!("authorization: Bearer {key}\r\n"), "GET /v1/markets/none", "").0;
    assert_eq!((status(first), status("nevertwice_desk-1_x")), (404, 401));

    let (second, _) = told(&key(&["make", "--role", "reader", "--id", "look-1", "--shard", "market/none"], &file));
    assert!(key(&["revoke", "desk-1"], &file).status.success());
    serving.hang_up();
    // The signal is heard a little later than it is sent.
    while status(first) != 401 {
        std::thread::yield_now();
    }
    assert_eq!(status(second.trim()), 404);

    let (listed, _) = told(&key(&["list"], &file));
    assert!(listed.contains("desk-1") && listed.contains("revoked 2") && listed.contains("market/none"), "{listed}");
    let stopped = serving.signal("-TERM");
    let log = String::from_utf8_lossy(&stopped.stderr);
    assert!(stopped.status.success() && log.contains("read again"), "{log}");
    let text = std::fs::read_to_string(&file).expect("it can be read");
    for secret in [first, second.trim()] {
        let secret = secret.rsplit_once('_').expect("a key").1;
        assert!(!log.contains(secret) && !listed.contains(secret) && !text.contains(secret), "a key was written down");
    }
}

#[test]
fn a_command_about_keys_says_what_is_wrong() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = folder.path().join("keys.toml");
    for (arguments, wanted) in [
        (&["make", "--role", "king", "--id", "a"][..], "king"),
        (&["make", "--role", "reader", "--id", "operator"], "name other credentials"),
        (&["make", "--role", "reader", "--id", "a", "--shard", "wc"], "market/NAME"),
        (&["make", "--role", "reader", "--id", "a", "--expires", "soon"], "90d"),
        (&["make", "--role", "reader", "--id", "a", "--expires", "2020-01-01"], "time is over"),
        (&["list"], "can't be opened"),
        (&["revoke", "a"], "can't be opened"),
    ] {
        let output = key(arguments, &file);
        let (shown, told) = told(&output);
        assert!(!output.status.success() && shown.is_empty() && told.contains(wanted), "{arguments:?}: {told}");
        assert!(!file.exists(), "{arguments:?}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_nevertwice")).args(["key", "list"]).ran();
    assert!(String::from_utf8_lossy(&output.stderr).contains("keys_file"));
}
