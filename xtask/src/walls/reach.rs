//! Asks cargo whether one package reaches another.
//!
//! `cargo tree -p X -e normal --all-features -i Y` has three ways to mislead, and each is answered here. It exits 101 for
//! "not reachable", but also for a misspelt name (so names are looked up in the lock file first) and for a name that has two
//! versions (so the version is always given). And it exits 0 with nothing printed where only tests or other platforms reach
//! Y; then a second question, about all platforms, tells these apart.

use cargo_metadata::{Metadata, PackageId};

use crate::step::Failure;
use crate::workspace::{Workspace, capture, shown};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    No,
    OnOtherPlatforms,
    /// With cargo's picture of the way.
    Yes(String),
}

/// The versions that the lock file holds of a package.
pub(super) fn versions(metadata: &Metadata, name: &str) -> Vec<String> {
    let named = metadata.packages.iter().filter(|package| package.name.as_str() == name);
    named.map(|package| package.version.to_string()).collect()
}

pub(super) fn members(metadata: &Metadata) -> Vec<String> {
    let is_member = |id: &PackageId| metadata.workspace_members.contains(id);
    let members = metadata.packages.iter().filter(|package| is_member(&package.id));
    members.map(|package| package.name.to_string()).collect()
}

/// What cargo works on where no package is named.
pub(super) fn default_members(metadata: &Metadata) -> Vec<String> {
    metadata.workspace_default_packages().iter().map(|package| package.name.to_string()).collect()
}

/// Does `from` reach `to`, in any of these versions?
pub(super) fn reach(workspace: &Workspace, from: &str, to: &str, versions: &[String]) -> Result<Reach, Failure> {
    let mut found = Reach::No;
    for version in versions {
        match ask(workspace, from, &format!("{to}@{version}"))? {
            Reach::No => {}
            Reach::OnOtherPlatforms => found = Reach::OnOtherPlatforms,
            yes @ Reach::Yes(_) => return Ok(yes),
        }
    }
    Ok(found)
}

fn ask(workspace: &Workspace, from: &str, to: &str) -> Result<Reach, Failure> {
    Ok(match ask_cargo(workspace, from, to, &[])? {
        Answer::Unknown => Reach::No,
        Answer::Way(way) => Reach::Yes(way),
        Answer::NoWay => match ask_cargo(workspace, from, to, &["--target", "all"])? {
            Answer::Way(_) => Reach::OnOtherPlatforms,
            Answer::NoWay | Answer::Unknown => Reach::No,
        },
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// Nothing that `from` could ever use has this name.
    Unknown,
    /// Only by edges that were not asked for.
    NoWay,
    /// Cargo's picture of the way.
    Way(String),
}

fn ask_cargo(workspace: &Workspace, from: &str, to: &str, platforms: &[&str]) -> Result<Answer, Failure> {
    let mut command = workspace.cargo();
    command.args(["tree", "--locked", "-p", from, "-e", "normal", "--all-features", "-i", to]).args(platforms);
    let output = capture(&mut command)?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    read_answer(output.status.code(), &stdout, &stderr).ok_or_else(|| {
        Failure::new(
            format!("`{}` answered neither yes nor no ({}): {}", shown(&command), output.status, stderr.trim()),
            "run it by hand; if cargo has changed its words, teach them to xtask/src/walls/reach.rs",
        )
    })
}

fn read_answer(code: Option<i32>, stdout: &str, stderr: &str) -> Option<Answer> {
    match code {
        Some(0) if !stdout.trim().is_empty() => Some(Answer::Way(stdout.trim_end().to_owned())),
        Some(0) if stderr.contains("nothing to print") => Some(Answer::NoWay),
        Some(101) if stderr.contains("did not match any packages") => Some(Answer::Unknown),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_answer_is_known() {
        let unknown = "error: package ID specification `serde@1.0.0` did not match any packages";
        assert_eq!(read_answer(Some(101), "", unknown), Some(Answer::Unknown));
        assert_eq!(read_answer(Some(0), "", "warning: nothing to print."), Some(Answer::NoWay));
        assert_eq!(read_answer(Some(0), "serde v1\n", ""), Some(Answer::Way("serde v1".into())));
    }

    #[test]
    fn other_failures_are_no_answer() {
        assert_eq!(read_answer(Some(101), "", "error: There are multiple `syn` packages in your project"), None);
        assert_eq!(read_answer(Some(101), "", "error: failed to parse manifest"), None);
        assert_eq!(read_answer(Some(0), "", ""), None);
        assert_eq!(read_answer(None, "", ""), None);
    }
}
