//! `nevertwice serve` as a process: start, kill, stop, and what it refuses.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;

use serde_json::Value;
use tempfile::TempDir;

use crate::ran::Ran as _;

/// A server in a process of its own, which ends with this.
pub(crate) struct Serving {
    process: Mutex<Child>,
    pub(crate) address: String,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.kill();
    }
}

fn command(data: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).args(more);
    command.env_remove("NEVERTWICE_OPERATOR_KEY").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Serving {
    pub(crate) fn start(data: &Path, more: &[&str]) -> Self {
        Self::started(command(data, more))
    }

    /// Starts whatever says on its first line where it listens.
    pub(crate) fn started(mut command: Command) -> Self {
        let mut process = command.spawn().expect("the binary starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("its output")).read_line(&mut line).expect("it says where it listens");
        let address = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("it said {line:?}"));
        let address = address.split_once("://").expect("a scheme").1.to_owned();
        Self { process: Mutex::new(process), address }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn ask(&self, head: &str, body: &str) -> (u16, Value) {
        self.ask_as("", head, body)
    }

    /// Asks with more headers: whole lines.
    pub(crate) fn ask_as(&self, headers: &str, head: &str, body: &str) -> (u16, Value) {
        self.exchange(headers, head, &format!("k{}", body.len()), body).expect("it answers")
    }

    /// A command under a key; none if nobody answers.
    pub(crate) fn command(&self, path: &str, key: &str, body: &str) -> Option<(u16, Value)> {
        self.exchange("", &format!("POST {path}"), key, body)
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        self.exchange("", &format!("GET {path}"), "none", "").expect("it answers")
    }

    fn exchange(&self, headers: &str, head: &str, key: &str, body: &str) -> Option<(u16, Value)> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let length = body.len();
        let head = format!(
            "{head} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}"
        );
        write!(stream, "{head}idempotency-key: {key}\r\n\r\n{body}").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Some((status, serde_json::from_str(body).unwrap_or(Value::Null)))
    }

    /// Sends SIGHUP.
    pub(crate) fn hang_up(&self) {
        let id = self.process.lock().expect("nobody panicked with it").id();
        assert!(Command::new("kill").args(["-HUP", &id.to_string()]).status().expect("kill runs").success());
    }

    /// Ends it by SIGKILL, and waits until it is gone.
    pub(crate) fn kill(&self) {
        let mut process = self.process.lock().expect("nobody panicked with it");
        let _ = process.kill();
        let _ = process.wait();
    }

    pub(crate) fn signal(self, signal: &str) -> Output {
        let mut process = self.process.lock().expect("nobody panicked with it");
        let sent = Command::new("kill").args([signal, &process.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
        let status = process.wait().expect("it ends");
        let mut stderr = Vec::new();
        if let Some(mut log) = process.stderr.take() {
            log.read_to_end(&mut stderr).expect("it can be read");
        }
        Output { status, stdout: Vec::new(), stderr }
    }
}

pub(crate) const MARKET: &str =
    r#"{"market":"wc","decimals":2,"fee_bps":0,"limits":{"quantity_max":9,"holding_max":9,"house_loss_max":0},"mode":"open"}"#;

#[test]
#[cfg(unix)]
fn what_was_acknowledged_is_there_after_a_kill() {
    let folder = TempDir::new().expect("a folder can be made");
    let data = folder.path().join("data");
    let serving = Serving::start(&data, &[]);
    let (status, first) = serving.ask("POST /v1/markets", MARKET);
    assert_eq!(status, 201, "{first}");
    assert!(!serving.signal("-KILL").status.success());
    let serving = Serving::start(&data, &[]);
    let (status, again) = serving.ask("POST /v1/markets", MARKET);
    assert_eq!((status, &again["result"], &again["replayed"]), (200, &first["result"], &Value::Bool(true)));
    let stopped = serving.signal("-TERM");
    let log = String::from_utf8_lossy(&stopped.stderr);
    assert!(stopped.status.success() && log.contains("stopped"), "{log}");
    assert!(!log.contains('\u{1b}'), "a log that is no terminal has no colours: {log}");
    let serving = Serving::start(&data, &[]);
    assert_eq!(serving.ask("GET /v1/markets/wc", "").0, 200);
    assert!(serving.signal("-INT").status.success());
}

#[test]
#[cfg(unix)]
fn a_data_folder_has_one_process() {
    let folder = TempDir::new().expect("a folder can be made");
    let data = folder.path().join("data");
    let serving = Serving::start(&data, &[]);
    let second = command(&data, &[]).ran();
    let told = String::from_utf8_lossy(&second.stderr);
    assert!(!second.status.success() && told.contains("data_folder_in_use"), "{told}");
    assert!(second.stdout.is_empty());
    assert_eq!(serving.ask("GET /readyz", "").0, 200);
    serving.signal("-TERM");
}

#[test]
fn nonsense_does_not_start() {
    let folder = TempDir::new().expect("a folder can be made");
    let data = folder.path().join("data");
    for (more, told) in [
        (&["--set", "swep_ms=1"][..], "configuration_invalid"),
        (&["--set", "sweep_ms=999999"], "a quarter"),
        (&["--listen", "0.0.0.0:0"], "cannot be used multiple times"),
        // Given twice in two ways, one would not count.
        (&["--set", "listen=127.0.0.1:1"], "gives `listen` twice"),
        (&["--set", "sweep_ms=1000", "--set", "SWEEP_MS=2000"], "gives `sweep_ms` twice"),
        (&["--set", "log=debug", "--log", "info"], "gives `log` twice"),
        (&["--set", "operator_key=0123456789abcdef"], "seen by everybody"),
        (&["--config", "/no/such/file.toml"], "configuration_invalid"),
        (&["--log", "=="], "configuration_invalid"),
    ] {
        let output = command(&data, more).ran();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(told), "{more:?}: {stderr}");
        assert!(output.stdout.is_empty());
    }
    let mut open = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    let output = open.args(["serve", "--listen", "0.0.0.0:0", "--data"]).arg(&data).ran();
    assert!(String::from_utf8_lossy(&output.stderr).contains("credentials_required"));
    assert!(!data.exists(), "nothing was made");
}

#[test]
fn an_address_in_use_leaves_no_data_behind() {
    let folder = TempDir::new().expect("a folder can be made");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("it binds");
    let address = taken.local_addr().expect("an address").to_string();
    let data = folder.path().join("data");
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
        command.args(["serve", "--listen", &address, "--data"]).arg(&data).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let refused = start().ran();
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && told.contains("address_in_use"), "{told}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("it can be listed").count(), 0, "neither data nor a person key");
    drop(taken);
    let serving = Serving::started(start());
    assert_eq!((serving.address.as_str(), serving.ask("GET /readyz", "").0), (address.as_str(), 200));
}

#[test]
fn what_is_no_data_folder_is_told_as_such_and_not_as_a_fault_of_the_person_key() {
    let folder = TempDir::new().expect("a folder can be made");
    let place = |name: &str| folder.path().join(name);
    std::fs::write(place("file"), "").expect("it can be written");
    for (name, file) in [("home", "letter.txt"), ("backup", "backup.manifest")] {
        std::fs::create_dir(place(name)).expect("it can be made");
        std::fs::write(place(name).join(file), "").expect("it can be written");
    }
    for (name, expected) in [("file", "is a file"), ("home", "letter.txt"), ("backup", "nevertwice restore")] {
        let output = command(&place(name), &[]).ran();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains("data_folder_invalid") && told.contains(expected), "{name}: {told}");
        assert!(!told.contains("person key"), "{name}: {told}");
        assert!(!place(&format!("{name}.key")).exists(), "{name}: no key was made");
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
        let output = doctor.args(["doctor", "--data"]).arg(place(name)).ran();
        assert!(output.status.code() == Some(2) && String::from_utf8_lossy(&output.stdout).contains(expected), "{name}: {output:?}");
    }
}

#[test]
#[cfg(unix)]
fn a_running_server_tells_what_operators_did_and_what_became_of_a_tap() {
    let folder = TempDir::new().expect("a folder can be made");
    let serving = Serving::start(&folder.path().join("data"), &[]);
    assert_eq!(serving.ask("POST /v1/markets", MARKET).0, 201);
    let url = format!("http://{}", serving.address);
    let ask = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
        command.args(arguments).args(["--server", &url]).ran()
    };
    let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let audit = ask(&["audit"]);
    assert!(audit.status.success() && text(&audit).contains("open_market by local (operator) from 127.0.0.1 as local"), "{audit:?}");
    let key = format!("k{}", MARKET.len());
    let explained = ask(&["explain", "--principal", "local", "--key", &key]);
    assert!(explained.status.success() && text(&explained).contains("accepted at 1-1"), "{explained:?}");
    let file = folder.path().join("key");
    std::fs::write(&file, "two words").expect("it can be written");
    let refused = ask(&["audit", "--api-key-file", file.to_str().expect("a path is text")]);
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("holds no key"), "{refused:?}");
    assert!(serving.signal("-TERM").status.success());
    let gone = ask(&["audit"]);
    assert!(!gone.status.success() && String::from_utf8_lossy(&gone.stderr).contains("there is no answer"), "{gone:?}");
}
