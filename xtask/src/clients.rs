//! The clients in Python and TypeScript against their scripts, and all clients against a running server.
//!
//! The server is the real binary on a free port of the loopback address. Between it and each client stands a relay that loses what it
//! can, and in the end the server's own books are compared with what was meant (`clients/proof`). The TypeScript compiler is the version
//! that `clients/typescript/package-lock.json` names, brought by npm into the target folder; nothing else is fetched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::install::{self, Need};
use crate::step::Failure;
use crate::workspace::{Workspace, capture, shown, stream};

/// Where they lie, from the root of the repository.
const FOLDER: &str = "clients";
/// The oldest Node that has all that the client uses.
const NODE_MIN: u32 = 20;
/// What decides which compiler is brought.
const PINS: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];

const NEEDS: &[Need] = &[
    Need::installed("python3", "python3", "the tests of the Python client"),
    Need::installed("node", "nodejs", "the tests of the TypeScript client"),
    Need::installed("npm", "npm", "the TypeScript compiler"),
];

pub(crate) fn run(workspace: &Workspace) -> Result<String, Failure> {
    println!("install: {}", install::run(workspace, NEEDS)?);
    check_node(&capture(Command::new("node").arg("--version"))?.stdout)?;
    let clients = workspace.root().join(FOLDER);
    let target = workspace.metadata()?.target_directory.into_std_path_buf();
    let remedy = "mend what does not compile";
    stream(workspace.cargo().args(["build", "--package", "nevertwice", "--bins"]), remedy)?;
    stream(workspace.cargo().args(["build", "--package", "nevertwice-client", "--example", "orders"]), remedy)?;
    let typescript = clients.join("typescript");
    let compiler = bring(&typescript, &target.join("tools/typescript"))?;
    stream(Command::new("node").arg(compiler).arg("--project").arg(&typescript), "mend what the compiler names above")?;
    let in_script = in_python(python("python/tests", &clients))?;
    let javascript = in_node(&typescript)?;
    let mut proof = python("proof", &clients);
    proof.env("NVT_SERVER", target.join("debug/nevertwice"));
    proof.env("NVT_NODE", "node");
    proof.env("NVT_RUST_ORDERS", target.join("debug/examples/orders"));
    let proven = in_python(proof)?;
    Ok(format!("{in_script} tests in Python, {javascript} in TypeScript, {proven} runs against the server: as many effects as intents"))
}

fn check_node(version: &[u8]) -> Result<(), Failure> {
    let version = String::from_utf8_lossy(version);
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_some_and(|major| major >= NODE_MIN) {
        return Ok(());
    }
    Err(Failure::new(
        format!("node is {:?}, and the client needs {NODE_MIN} or newer", version.trim()),
        format!("install Node {NODE_MIN} or newer, so that it is on the PATH; then run `cargo xtask clients` again"),
    ))
}

/// Puts the pinned compiler into a folder of its own, if it is not there, and says where it is.
fn bring(own: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let broken =
        |error: std::io::Error| Failure::new(format!("the TypeScript compiler could not be brought: {error}"), "look at the target folder");
    let compiler = folder.join("node_modules/typescript/bin/tsc");
    let same = |name: &str| fs::read(own.join(name)).ok() == fs::read(folder.join(name)).ok();
    if compiler.is_file() && PINS.iter().all(|name| same(name)) {
        return Ok(compiler);
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(broken)?;
    }
    fs::create_dir_all(folder).map_err(broken)?;
    for name in PINS {
        fs::copy(own.join(name), folder.join(name)).map_err(broken)?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder);
    stream(&mut npm, "npm takes the compiler from its registry: make that reachable, then run `cargo xtask clients` again")?;
    Ok(compiler)
}

/// The tests in a folder, whose package lies in the folder above it.
fn python(tests: &str, clients: &Path) -> Command {
    let tests = clients.join(tests);
    let mut command = Command::new("python3");
    command.args(["-W", "error::ResourceWarning", "-m", "unittest", "discover", "--start-directory"]).arg(&tests);
    command.arg("--top-level-directory").arg(tests.parent().unwrap_or(clients));
    command.env("PYTHONPATH", clients.join("python/src")).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn in_python(mut command: Command) -> Result<u64, Failure> {
    let output = capture(&mut command)?;
    let told = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    judge(&command, output.status.success(), &told, ran_in_python(&told))
}

fn in_node(typescript: &Path) -> Result<u64, Failure> {
    let tests = typescript.join("test");
    let broken = |error: std::io::Error| Failure::new(format!("{}: {error}", tests.display()), "make it readable");
    let mut files = Vec::new();
    for entry in fs::read_dir(&tests).map_err(broken)? {
        let path = entry.map_err(broken)?.path();
        if path.to_string_lossy().ends_with(".test.mjs") {
            files.push(path);
        }
    }
    files.sort();
    let mut command = Command::new("node");
    command.args(["--test", "--test-reporter=tap"]).args(files);
    let output = capture(&mut command)?;
    let told = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    judge(&command, output.status.success(), &told, ran_in_node(&told))
}

/// How many tests ran, if all of them passed and none was skipped. Nothing is a failure.
fn judge(command: &Command, passed: bool, told: &str, ran: Option<u64>) -> Result<u64, Failure> {
    match ran {
        Some(ran) if passed && ran > 0 => {
            // What struck, and how often.
            told.lines().filter(|line| line.contains("; the relay: ")).for_each(|line| println!("{line}"));
            Ok(ran)
        }
        _ => {
            println!("{told}");
            let what = format!("`{}`: {}", shown(command), if passed { "no test ran, or one was skipped" } else { "a test failed" });
            Err(Failure::new(what, "read what it says above; `cargo xtask clients` repeats it"))
        }
    }
}

/// `Ran 43 tests in 0.5s` and `OK`, without anything in brackets behind it.
fn ran_in_python(told: &str) -> Option<u64> {
    let whole = told.lines().any(|line| line == "OK");
    let ran = told.lines().find_map(|line| line.strip_prefix("Ran ")?.split(' ').next()?.parse().ok());
    ran.filter(|_| whole)
}

/// `# tests 78`, `# pass 78` and `# skipped 0`.
fn ran_in_node(told: &str) -> Option<u64> {
    let figure = |name: &str| told.lines().find_map(|line| line.strip_prefix("# ")?.strip_prefix(name)?.trim().parse::<u64>().ok());
    let passed = figure("pass ")?;
    (figure("tests ")? == passed && figure("skipped ")? == 0).then_some(passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_counted_and_skipped_ones_do_not_pass() {
        assert_eq!(ran_in_python("....\nRan 43 tests in 0.5s\n\nOK\n"), Some(43));
        assert_eq!(ran_in_python("Ran 43 tests in 0.5s\n\nOK (skipped=1)\n"), None);
        assert_eq!(ran_in_python("Ran 43 tests in 0.5s\n\nFAILED (failures=1)\n"), None);
        assert_eq!(ran_in_node("# tests 78\n# suites 0\n# pass 78\n# fail 0\n# skipped 0\n"), Some(78));
        assert_eq!(ran_in_node("# tests 78\n# pass 77\n# skipped 1\n"), None);
        assert_eq!(ran_in_node(""), None);
    }

    #[test]
    fn a_run_without_tests_has_failed() {
        let command = Command::new("python3");
        for (passed, ran) in [(true, Some(0)), (true, None), (false, Some(43))] {
            assert!(judge(&command, passed, "", ran).is_err());
        }
        assert_eq!(judge(&command, true, "", Some(43)).expect("a good run"), 43);
    }

    #[test]
    fn an_old_node_is_told() {
        assert!(check_node(b"v20.0.0\n").is_ok() && check_node(b"v22.1.0").is_ok());
        for version in [b"v18.20.4\n".as_slice(), b"", b"no number"] {
            let text = check_node(version).expect_err("too old").to_string();
            assert!(text.contains("needs 20 or newer"), "{text}");
        }
    }
}
