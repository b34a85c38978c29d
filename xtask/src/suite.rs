//! Runs every test, and makes sure that tests really ran.
//!
//! A green exit code says too little: a suite that no configuration runs is green as well. So the tests are counted, zero
//! is a failure, the conformance cases of every backend are compared with `conformance-cases.txt`, and an error code that no answer
//! carried is named.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::codes;
use crate::install;
use crate::step::{Failure, Report};
use crate::workspace::{Workspace, shown};

/// Where the list of expected conformance cases lies, from the root of the repository.
const EXPECTED: &str = "xtask/conformance-cases.txt";

/// Tells the test programs which folder takes their `<backend>.count` files.
const COUNT_DIR_VARIABLE: &str = "NVT_CONFORMANCE_DIR";

/// Tells them which folder takes a file for each error code that they meet.
const CODES_DIR_VARIABLE: &str = "NVT_CODES_DIR";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
}

/// The report ends with the line that counts, whether or not all is well.
pub(crate) fn run(workspace: &Workspace) -> Report {
    let mut tally = Tally::default();
    let verdict = run_counted(workspace, &mut tally);
    Report { verdict, closing: Some(format!("{} passed, {} failed", tally.passed, tally.failed)) }
}

fn run_counted(workspace: &Workspace, tally: &mut Tally) -> Result<String, Failure> {
    println!("install: {}", install::run(workspace, install::OF_THE_TESTS)?);
    let target = workspace.metadata()?.target_directory.into_std_path_buf();
    let (count_dir, codes_dir) = (empty(target.join("conformance"))?, empty(target.join("codes"))?);
    let finished = run_tests(workspace, [(COUNT_DIR_VARIABLE, &count_dir), (CODES_DIR_VARIABLE, &codes_dir)], tally)?;
    judge(*tally, finished)?;
    let cases = compare(&read_expected(&workspace.root().join(EXPECTED))?, &read_counts(&count_dir)?)?;
    Ok(format!("{cases}; {}", codes::check(workspace.root(), &codes_dir)?))
}

/// The folder, with nothing in it.
fn empty(folder: PathBuf) -> Result<PathBuf, Failure> {
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(unusable(&folder, &error)),
        _ => fs::create_dir_all(&folder).map_err(|error| unusable(&folder, &error))?,
    }
    Ok(folder)
}

/// Adds up what the test programs report, and says whether cargo was content.
fn run_tests(workspace: &Workspace, folders: [(&str, &PathBuf); 2], tally: &mut Tally) -> Result<bool, Failure> {
    let mut command = workspace.cargo();
    command.args(["test", "--workspace", "--all-features", "--no-fail-fast"]).envs(folders).stdout(Stdio::piped());
    let broken = |error: std::io::Error| {
        Failure::new(format!("`cargo test` could not be followed: {error}"), "run `cargo test --workspace` by hand")
    };
    println!("{}", shown(&command));
    let mut child = command.spawn().map_err(broken)?;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.map_err(broken)?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            if let Some(more) = parse_result(&line) {
                tally.passed += more.passed;
                tally.failed += more.failed;
                tally.ignored += more.ignored;
            }
        }
    }
    let status = child.wait().map_err(broken)?;
    Ok(status.success())
}

/// The figures of a line `test result: ok. 3 passed; 0 failed; 0 ignored; ...`.
fn parse_result(line: &str) -> Option<Tally> {
    let figures = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let mut tally = Tally::default();
    for figure in figures.split("; ") {
        let (count, what) = figure.split_once(' ')?;
        match what {
            "passed" => tally.passed = count.parse().ok()?,
            "failed" => tally.failed = count.parse().ok()?,
            "ignored" => tally.ignored = count.parse().ok()?,
            _ => {}
        }
    }
    Some(tally)
}

fn judge(tally: Tally, finished: bool) -> Result<(), Failure> {
    if tally.failed > 0 {
        return Err(Failure::new(
            format!("{} tests failed", tally.failed),
            "read the panics above; `cargo test -p CRATE NAME` repeats one",
        ));
    }
    if !finished {
        return Err(Failure::new(
            "`cargo test` failed although no test is reported as failed",
            "look above for a compile error, or for a test program that died before it reported",
        ));
    }
    if tally.ignored > 0 {
        return Err(Failure::new(
            format!("{} tests were ignored", tally.ignored),
            "run them or delete them; mark an example of the docs that must not run as `text` or `no_run`",
        ));
    }
    if tally.passed == 0 {
        return Err(Failure::new("no test ran", "check that `cargo test --workspace` finds the crates' tests"));
    }
    Ok(())
}

fn read_expected(path: &Path) -> Result<BTreeMap<String, u64>, Failure> {
    let text = fs::read_to_string(path).map_err(|error| unusable(path, &error))?;
    parse_expected(&text)
}

/// Lines `backend cases`; empty lines and lines that start with `#` say nothing.
fn parse_expected(text: &str) -> Result<BTreeMap<String, u64>, Failure> {
    let mut expected = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let parsed = line.split_once(' ').and_then(|(backend, cases)| Some((backend, cases.trim().parse().ok()?)));
        let Some((backend, cases)) = parsed else {
            return Err(Failure::new(format!("{EXPECTED}: `{line}` is not `backend cases`"), "write e.g. `local 120`"));
        };
        if cases == 0 || expected.insert(backend.to_owned(), cases).is_some() {
            return Err(Failure::new(
                format!("{EXPECTED}: `{backend}` is listed twice or with zero cases"),
                "keep one line for it, with the number of cases that it runs",
            ));
        }
    }
    Ok(expected)
}

/// Each `<backend>.count` holds one number a line, one line for each suite that ran.
fn read_counts(dir: &Path) -> Result<BTreeMap<String, u64>, Failure> {
    let mut counts = BTreeMap::new();
    for entry in fs::read_dir(dir).map_err(|error| unusable(dir, &error))? {
        let path = entry.map_err(|error| unusable(dir, &error))?.path();
        let Some(backend) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".count")) else {
            continue;
        };
        let text = fs::read_to_string(&path).map_err(|error| unusable(&path, &error))?;
        let mut sum = 0_u64;
        for line in text.lines() {
            sum += line.trim().parse::<u64>().map_err(|_| {
                Failure::new(
                    format!("{}: `{line}` is not a number of cases", path.display()),
                    "let each suite append one line with the number of cases that it ran",
                )
            })?;
        }
        counts.insert(backend.to_owned(), sum);
    }
    Ok(counts)
}

fn compare(expected: &BTreeMap<String, u64>, counted: &BTreeMap<String, u64>) -> Result<String, Failure> {
    let mut wrong = Vec::new();
    for (backend, &cases) in expected {
        match counted.get(backend) {
            None => wrong.push(format!("{backend}: none of its {cases} conformance cases ran")),
            Some(&ran) if ran != cases => wrong.push(format!("{backend}: {ran} conformance cases ran, not {cases}")),
            Some(_) => {}
        }
    }
    for (backend, &ran) in counted {
        if !expected.contains_key(backend) {
            wrong.push(format!("{backend}: {ran} conformance cases ran, but it is not listed"));
        }
    }
    if !wrong.is_empty() {
        return Err(Failure::new(
            wrong.join("\n"),
            format!("find out why a case did not run; only if the suite was changed on purpose, correct {EXPECTED}"),
        ));
    }
    if expected.is_empty() {
        return Ok(format!("all tests passed; {EXPECTED} lists no backend yet, so no conformance cases were compared"));
    }
    let told: Vec<String> = expected.iter().map(|(backend, cases)| format!("{backend} {cases}")).collect();
    Ok(format!("all tests passed; conformance cases as expected: {}", told.join(", ")))
}

pub(crate) fn unusable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display()), "make sure that it exists and can be read and written")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
        pairs.iter().map(|&(backend, cases)| (backend.to_owned(), cases)).collect()
    }

    #[test]
    fn a_result_line_is_read() {
        let line = "test result: FAILED. 31 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s";
        assert_eq!(parse_result(line), Some(Tally { passed: 31, failed: 2, ignored: 1 }));
        assert_eq!(parse_result("test it::result ... ok"), None);
    }

    #[test]
    fn only_tests_that_ran_and_passed_will_do() {
        let good = Tally { passed: 3, failed: 0, ignored: 0 };
        assert!(judge(good, true).is_ok());
        for (tally, finished, told) in [
            (Tally::default(), true, "no test ran"),
            (good, false, "no test is reported as failed"),
            (Tally { failed: 1, ..good }, false, "1 tests failed"),
            (Tally { failed: 1, ..good }, true, "1 tests failed"),
            (Tally { ignored: 2, ..good }, true, "2 tests were ignored"),
        ] {
            let text = judge(tally, finished).expect_err("a bad run must not pass").to_string();
            assert!(text.contains(told), "{text}");
        }
    }

    #[test]
    fn the_list_of_cases_is_read() {
        let list = parse_expected("# backend cases\n\nlocal 120\nredis  80\n").expect("the list is well formed");
        assert_eq!(list, counts(&[("local", 120), ("redis", 80)]));
        for bad in ["local", "local many", "local 0", "local 1\nlocal 1"] {
            assert!(parse_expected(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_lines_of_a_count_are_added() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        fs::write(dir.path().join("local.count"), "100\n20\n").expect("written");
        fs::write(dir.path().join("notes.txt"), "no count").expect("written");
        assert_eq!(read_counts(dir.path()).expect("readable"), counts(&[("local", 120)]));
        fs::write(dir.path().join("redis.count"), "some\n").expect("written");
        assert!(read_counts(dir.path()).is_err());
    }

    #[test]
    fn a_backend_that_ran_less_more_or_unlisted_fails() {
        let expected = counts(&[("local", 120)]);
        assert!(compare(&expected, &expected).is_ok());
        for (counted, told) in [
            (counts(&[]), "none of its 120"),
            (counts(&[("local", 119)]), "119 conformance cases ran, not 120"),
            (counts(&[("local", 120), ("redis", 4)]), "redis: 4 conformance cases ran, but it is not listed"),
        ] {
            let text = compare(&expected, &counted).expect_err("a difference must not pass").to_string();
            assert!(text.contains(told), "{text}");
        }
        assert!(compare(&counts(&[]), &counts(&[])).expect("nothing to compare").contains("no backend yet"));
    }
}
