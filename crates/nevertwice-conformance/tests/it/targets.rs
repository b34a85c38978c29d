//! The targets in other languages, without a guard: their endpoints are as they have to be.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nevertwice_conformance::{Base, Verdict};

use crate::serve::ask;

/// A target in a process of its own, which ends with it.
struct Target {
    process: Child,
    base: Base,
}

impl Target {
    fn start(program: &str, file: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/targets").join(file);
        let spawned = Command::new(program).arg(path).stdout(Stdio::piped()).spawn();
        let mut process =
            spawned.unwrap_or_else(|error| panic!("{program} does not start: {error}; `cargo xtask test` says how to get it"));
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("it is piped")).read_line(&mut line).expect("it says where it listens");
        let base = line.trim().strip_prefix("listening on ").and_then(|url| url.parse().ok());
        Self { base: base.unwrap_or_else(|| panic!("no address: {line}")), process }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ended = self.process.kill().and_then(|()| self.process.wait());
    }
}

async fn check(program: &str, file: &str) {
    let target = Target::start(program, file);
    let said = ask(target.base.clone(), target.base.clone(), "ietf", &["endpoint-", "methods-unguarded", "running-many"]).await;
    assert_eq!(said.with(Verdict::Fail), ["running-many"], "{}", said.failures());
    assert_eq!(said.tally.passed, 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_python_target_offers_the_endpoints() {
    check("python3", "python_target.py").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_node_target_offers_the_endpoints() {
    check("node", "node_target.mjs").await;
}
