//! The core needs no standard library.
//!
//! The proof is a build for a target that has none, where one is installed. Everywhere else, `#![no_std]` makes every `std::`
//! path an error, `tidy` refuses `extern crate std`, and here no dependency of the core may have its `std` feature on.

use std::fs;
use std::path::Path;

use crate::step::Failure;
use crate::workspace::{Workspace, capture, shown, stream};

const CORE: &str = "nevertwice-core";
const CORE_ROOT: &str = "crates/nevertwice-core/src/lib.rs";
const FEATURES: &[&str] = &["std", "use_std", "use-std"];

pub(super) fn check(workspace: &Workspace) -> Result<String, Failure> {
    let path = workspace.root().join(CORE_ROOT);
    let text = fs::read_to_string(&path).map_err(|error| Failure::new(format!("{CORE_ROOT}: {error}"), "the core's root belongs there"))?;
    if !has_no_std(&text) {
        return Err(Failure::new(
            format!("{CORE_ROOT} does not say `#![no_std]`"),
            "write it without a condition; tests may say `#[cfg(test)] extern crate std;`",
        ));
    }
    check_features(workspace)?;
    let Some(target) = installed_target(workspace)? else {
        return Ok("no target without std is installed here, so `#![no_std]` and the features were looked at".into());
    };
    stream(
        workspace.cargo().args(["check", "-p", CORE, "--all-features", "--target", &target]),
        "use `core::` and `alloc::`, and take dependencies without their std features",
    )?;
    Ok(format!("the core builds for {target}, which has no std"))
}

fn has_no_std(text: &str) -> bool {
    text.lines().any(|line| line.trim() == "#![no_std]")
}

fn check_features(workspace: &Workspace) -> Result<(), Failure> {
    let mut command = workspace.cargo();
    command.args(["tree", "--locked", "-p", CORE, "-e", "normal", "--all-features"]);
    command.args(["--prefix", "none", "-f", "{p} | {f}"]);
    let output = capture(&mut command)?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || stdout.trim().is_empty() {
        return Err(Failure::new(
            format!("`{}` answered nothing: {}", shown(&command), String::from_utf8_lossy(&output.stderr).trim()),
            "run it by hand",
        ));
    }
    let users = std_users(&stdout);
    if users.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        format!("dependencies of the core have their std feature on: {}", users.join(", ")),
        "take them with `default-features = false`",
    ))
}

/// The packages of lines `name version | feature,feature` that have a std feature on. Procedural macros run in the compiler
/// and may.
fn std_users(tree: &str) -> Vec<&str> {
    let mut users = Vec::new();
    for line in tree.lines() {
        let Some((package, features)) = line.split_once(" | ") else {
            continue;
        };
        let features = features.trim_end_matches("(*)").trim();
        if !package.contains("(proc-macro)") && features.split(',').any(|feature| FEATURES.contains(&feature)) {
            users.push(package);
        }
    }
    users
}

/// A target whose standard library is installed and is no more than core and alloc.
fn installed_target(workspace: &Workspace) -> Result<Option<String>, Failure> {
    let mut command = std::process::Command::new("rustc");
    command.current_dir(workspace.root()).args(["--print", "sysroot"]);
    let output = capture(&mut command)?;
    let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let Ok(entries) = fs::read_dir(Path::new(&sysroot).join("lib/rustlib")) else {
        return Ok(None);
    };
    let mut targets: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).filter(|name| is_bare(name)).collect();
    targets.sort();
    Ok(targets.pop())
}

/// `thumbv7em-none-eabi` and `x86_64-unknown-none`, but not `manifest-rust-std-x86_64-unknown-none`.
fn is_bare(name: &str) -> bool {
    !name.starts_with("manifest-") && name.split('-').skip(1).any(|part| part == "none")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attribute_must_stand_without_a_condition() {
        assert!(has_no_std("//! Docs.\n#![no_std]\nextern crate alloc;\n"));
        assert!(!has_no_std("//! Docs about #![no_std].\n"));
        assert!(!has_no_std("#![cfg_attr(not(test), no_std)]\n"));
    }

    #[test]
    fn features_named_std_are_found() {
        let tree = "core v1 | model\nhash v2 | alloc,std\nderive v3 (proc-macro) | std\nsmall v4 | stdlike\n";
        assert_eq!(std_users(tree), ["hash v2"]);
        assert_eq!(std_users("hash v2 | std (*)\n"), ["hash v2"]);
        assert!(std_users("hash v2 | \nsmall v4 |  (*)\n").is_empty());
    }

    #[test]
    fn bare_targets_are_told_from_others() {
        assert!(is_bare("thumbv7em-none-eabi"));
        assert!(is_bare("x86_64-unknown-none"));
        assert!(!is_bare("x86_64-unknown-linux-gnu"));
        assert!(!is_bare("manifest-rust-std-x86_64-unknown-none"));
        assert!(!is_bare("components"));
    }
}
