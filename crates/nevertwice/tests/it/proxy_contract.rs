//! `nevertwice proxy` in front of a service in Python keeps the contract, under every profile of the conformance suite.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nevertwice_testkit::conformance::count;
use nevertwice_testkit::redis::RedisServer;
use tempfile::TempDir;

/// A program that says where it listens, and ends with its owner.
struct Listening {
    process: Child,
    url: String,
}

impl Listening {
    fn start(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let url = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("listening on ").map(str::to_owned));
        Self { url: url.unwrap_or_else(|| panic!("{command:?} does not say where it listens")), process }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ended = self.process.kill().and_then(|()| self.process.wait());
    }
}

/// The one guarded route, by that profile.
fn settings(store: &str, methods: &str, choices: &str) -> String {
    format!(
        "{store}trusted_proxies = \"127.0.0.1\"\nidentity = {{ header = {{ principal = \"X-User\" }} }}\n\n\
         [[routes]]\npath = \"/echo/{{*rest}}\"\nmethods = {methods}\n{choices}\n"
    )
}

fn check(profile: &str, methods: &str, choices: &str) {
    check_on(profile, "", profile, methods, choices);
}

fn check_on(counted: &str, store: &str, profile: &str, methods: &str, choices: &str) {
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("proxy.toml");
    fs::write(&file, settings(store, methods, choices)).expect("written");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/targets/python_target.py");
    let service = Listening::start(Command::new("python3").arg(script));
    let nevertwice = || Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    let proxy = ["proxy", "--upstream", &service.url, "--listen", "127.0.0.1:0", "--config"];
    let proxy = Listening::start(nevertwice().args(proxy).arg(&file));
    let asked = ["conformance", "--target", &proxy.url, "--control", &service.url, "--profile", profile, "--json"];
    let told = nevertwice().args(asked).output().expect("the binary starts");
    let lines: Vec<serde_json::Value> =
        String::from_utf8_lossy(&told.stdout).lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    let failed: Vec<_> = lines.iter().filter(|line| line["verdict"] == "fail").collect();
    assert!(told.status.success() && failed.is_empty(), "{failed:#?}");
    let passed = lines.last().and_then(|tally| tally["tally"]["passed"].as_u64()).expect("the tally comes last");
    count(&format!("http-proxy-{counted}"), passed);
}

#[test]
fn the_proxy_keeps_the_contract_of_the_draft() {
    check("ietf", r#"["POST", "PATCH"]"#, "");
}

#[test]
fn the_proxy_keeps_the_contract_as_stripe_has_it() {
    check("stripe", r#"["POST"]"#, "preset = \"stripe\"");
}

#[test]
fn the_proxy_keeps_the_contract_as_ucp_has_it() {
    check("ucp", r#"["POST", "PUT", "PATCH"]"#, "preset = \"ucp\"");
}

#[test]
fn the_proxy_keeps_the_contract_with_every_choice_the_other_way_round() {
    let choices = "scope = \"route\"\nanonymous_shares = true\nwait_ms = 30000\nclient_errors_free = true\n\
                   oversize = { spill = 1048576 }\nrefuse_old_keys = true";
    check("choices", r#"["POST", "PATCH"]"#, choices);
}

#[test]
fn the_proxy_keeps_the_contract_with_its_keys_on_redis() {
    let (server, folder) = (RedisServer::start(&[]), TempDir::new().expect("a temporary folder"));
    let secret = folder.path().join("secret");
    fs::write(&secret, "0123456789abcdef".repeat(4)).expect("written");
    let store = format!("store.url = \"{}\"\nsecret_file = \"{}\"\n", server.url(), secret.display());
    check_on("redis", &store, "ietf", r#"["POST", "PATCH"]"#, "");
}
