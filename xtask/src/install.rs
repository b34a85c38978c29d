//! What the tests need beyond the Rust toolchain.
//!
//! Only programs that our tests start themselves belong here. A crate never does: cargo brings those.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::Failure;
use crate::workspace::{Workspace, capture, stream};

/// A program that must be found on the `PATH` or in the folder of tools, and the Debian package that brings it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    program: &'static str,
    package: &'static str,
    used_for: &'static str,
    /// The one file to take out of the package, where installing it would also start a service. Otherwise it is installed.
    unpack: Option<&'static str>,
}

impl Need {
    /// One whose package is installed.
    pub(crate) const fn installed(program: &'static str, package: &'static str, used_for: &'static str) -> Self {
        Self { program, package, used_for, unpack: None }
    }
}

/// What `cargo xtask test` needs.
pub(crate) const OF_THE_TESTS: &[Need] = &[
    Need { program: "promtool", package: "prometheus", used_for: "the tests of ops/alerts.yml", unpack: Some("usr/bin/promtool") },
    Need::installed("python3", "python3", "the test of conformance/targets/python_target.py"),
    Need::installed("node", "nodejs", "the test of conformance/targets/node_target.mjs"),
    // The package without the service: its `redis-check-rdb` is the server, under another name.
    Need::installed("redis-check-rdb", "redis-tools", "the tests of the Redis backend, which start servers of their own"),
    Need::installed("postgres", "postgresql", "the tests of the ledger, which start servers of their own"),
    Need::installed("systemd-analyze", "systemd", "the test of ops/nevertwice.service"),
];

#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Nothing,
    Fetch(Vec<Need>),
    Ask(Vec<Need>),
}

/// Where programs lie that were taken out of their packages. The tests look there first.
pub(crate) fn tools(workspace: &Workspace) -> Result<PathBuf, Failure> {
    Ok(workspace.metadata()?.target_directory.into_std_path_buf().join("tools"))
}

pub(crate) fn run(workspace: &Workspace, needs: &[Need]) -> Result<String, Failure> {
    let tools = tools(workspace)?;
    let present = |program: &str| is_file(&tools.join(program)) || on_path(program) || is_beside_versions(program);
    match plan(needs, present, is_root() && on_path("apt-get")) {
        Plan::Nothing => Ok(format!("all {} programs are there", needs.len())),
        Plan::Fetch(missing) => {
            stream(apt_get().arg("update"), REMEDY)?;
            for need in &missing {
                println!("bringing {} from the package {}", need.program, need.package);
                match need.unpack {
                    None => stream(apt_get().args(["install", "--yes", "--no-install-recommends", need.package]), REMEDY)?,
                    Some(file) => unpack(need, file, &tools)?,
                }
            }
            match plan(needs, present, false) {
                Plan::Ask(missing) => Err(ask(&missing)),
                Plan::Nothing | Plan::Fetch(_) => Ok(format!("brought {}", programs(&missing))),
            }
        }
        Plan::Ask(missing) => Err(ask(&missing)),
    }
}

const REMEDY: &str = "bring what is missing by hand, so that it is on the PATH; then run the same step again";

/// Takes one file out of a package, without installing it.
fn unpack(need: &Need, file: &str, tools: &Path) -> Result<(), Failure> {
    let broken = |error: std::io::Error| Failure::new(format!("{} could not be unpacked: {error}", need.package), REMEDY);
    let folder = tools.join(format!("unpacking-{}", need.package));
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(broken)?;
    }
    fs::create_dir_all(&folder).map_err(broken)?;
    stream(apt_get().args(["download", need.package]).current_dir(&folder), REMEDY)?;
    let archive = fs::read_dir(&folder).map_err(broken)?.flatten().map(|entry| entry.path()).next();
    let Some(archive) = archive else {
        return Err(Failure::new(format!("nothing came for the package {}", need.package), REMEDY));
    };
    stream(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(&folder), REMEDY)?;
    fs::rename(folder.join(file), tools.join(need.program)).map_err(broken)?;
    fs::remove_dir_all(&folder).map_err(broken)
}

fn plan(needs: &[Need], present: impl Fn(&str) -> bool, may_fetch: bool) -> Plan {
    let missing: Vec<Need> = needs.iter().copied().filter(|need| !present(need.program)).collect();
    if missing.is_empty() {
        Plan::Nothing
    } else if may_fetch {
        Plan::Fetch(missing)
    } else {
        Plan::Ask(missing)
    }
}

fn programs(needs: &[Need]) -> String {
    needs.iter().map(|need| need.program).collect::<Vec<_>>().join(", ")
}

fn ask(missing: &[Need]) -> Failure {
    let mut what = String::from("programs that the tests need are missing:");
    for need in missing {
        what.push_str(&format!("\n  {} ({})", need.program, need.used_for));
    }
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    Failure::new(
        what,
        format!(
            "on Debian or Ubuntu they are in the packages {}; elsewhere, install them so that they are on the PATH",
            packages.join(", ")
        ),
    )
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|dir| is_file(&dir.join(program)))
}

/// Debian keeps the programs of Postgres beside each other, a folder for each version, and off the `PATH`.
fn is_beside_versions(program: &str) -> bool {
    let mut versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    versions.any(|version| is_file(&version.path().join("bin").join(program)))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}

fn is_root() -> bool {
    capture(Command::new("id").arg("-u")).is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CACHE: Need = Need::installed("cache-server", "cache", "the cache tests");
    const STORE: Need = Need::installed("store-server", "store", "the store tests");

    #[test]
    fn what_is_there_is_left_alone() {
        assert_eq!(plan(&[CACHE, STORE], |_| true, true), Plan::Nothing);
        assert_eq!(plan(&[], |_| false, true), Plan::Nothing);
    }

    #[test]
    fn only_what_is_missing_is_installed() {
        assert_eq!(plan(&[CACHE, STORE], |program| program == "cache-server", true), Plan::Fetch(vec![STORE]));
    }

    #[test]
    fn without_the_right_to_install_it_says_what_to_do() {
        assert_eq!(plan(&[CACHE, STORE], |_| false, false), Plan::Ask(vec![CACHE, STORE]));
        let text = ask(&[CACHE, STORE]).to_string();
        assert!(text.contains("store-server (the store tests)"), "{text}");
        assert!(text.contains("in the packages cache, store"), "{text}");
    }

    #[test]
    fn the_path_is_searched() {
        assert!(on_path("sh"));
        assert!(!on_path("a-program-that-nobody-has"));
    }
}
