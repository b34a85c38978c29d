//! What the tests need beyond the Rust toolchain.
//!
//! Only programs that our tests start themselves belong here. A crate never does: cargo brings those.

use std::env;
use std::path::Path;
use std::process::Command;

use crate::step::Failure;
use crate::workspace::{capture, stream};

/// A program that must be found on the `PATH`, and the Debian package that brings it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    program: &'static str,
    package: &'static str,
    used_for: &'static str,
}

/// Nothing today: the embedded backend needs no server.
const NEEDS: &[Need] = &[];

#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Nothing,
    Install(Vec<&'static str>),
    Ask(Vec<Need>),
}

pub(crate) fn run() -> Result<String, Failure> {
    match plan(NEEDS, on_path, is_root() && on_path("apt-get")) {
        Plan::Nothing if NEEDS.is_empty() => Ok("nothing beyond the Rust toolchain is needed".into()),
        Plan::Nothing => Ok(format!("all {} programs are there", NEEDS.len())),
        Plan::Install(packages) => {
            let remedy = "install these packages by hand, then run `cargo xtask test` again";
            println!("installing {}", packages.join(", "));
            stream(apt_get().arg("update"), remedy)?;
            stream(apt_get().args(["install", "--yes", "--no-install-recommends"]).args(&packages), remedy)?;
            match plan(NEEDS, on_path, false) {
                Plan::Ask(missing) => Err(ask(&missing)),
                Plan::Nothing | Plan::Install(_) => Ok(format!("installed {}", packages.join(", "))),
            }
        }
        Plan::Ask(missing) => Err(ask(&missing)),
    }
}

fn plan(needs: &[Need], present: impl Fn(&str) -> bool, may_install: bool) -> Plan {
    let missing: Vec<Need> = needs.iter().copied().filter(|need| !present(need.program)).collect();
    if missing.is_empty() {
        Plan::Nothing
    } else if may_install {
        Plan::Install(missing.iter().map(|need| need.package).collect())
    } else {
        Plan::Ask(missing)
    }
}

fn ask(missing: &[Need]) -> Failure {
    let mut what = String::from("programs that the tests need are missing:");
    for need in missing {
        what.push_str(&format!("\n  {} ({})", need.program, need.used_for));
    }
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    Failure::new(
        what,
        format!("on Debian or Ubuntu: `sudo apt-get install {}`; elsewhere, install them so that they are on the PATH", packages.join(" ")),
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

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}

fn is_root() -> bool {
    capture(Command::new("id").arg("-u")).is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CACHE: Need = Need { program: "cache-server", package: "cache", used_for: "the cache tests" };
    const STORE: Need = Need { program: "store-server", package: "store", used_for: "the store tests" };

    #[test]
    fn what_is_there_is_left_alone() {
        assert_eq!(plan(&[CACHE, STORE], |_| true, true), Plan::Nothing);
        assert_eq!(plan(&[], |_| false, true), Plan::Nothing);
    }

    #[test]
    fn only_what_is_missing_is_installed() {
        assert_eq!(plan(&[CACHE, STORE], |program| program == "cache-server", true), Plan::Install(vec!["store"]));
    }

    #[test]
    fn without_the_right_to_install_it_says_what_to_do() {
        assert_eq!(plan(&[CACHE, STORE], |_| false, false), Plan::Ask(vec![CACHE, STORE]));
        let text = ask(&[CACHE, STORE]).to_string();
        assert!(text.contains("store-server (the store tests)"), "{text}");
        assert!(text.contains("sudo apt-get install cache store"), "{text}");
    }

    #[test]
    fn the_path_is_searched() {
        assert!(on_path("sh"));
        assert!(!on_path("a-program-that-nobody-has"));
    }
}
