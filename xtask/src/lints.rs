//! The steps that the toolchain does for us: rustfmt, clippy, rustdoc.

use crate::step::Failure;
use crate::workspace::{Workspace, stream};

pub(crate) fn fmt(workspace: &Workspace) -> Result<String, Failure> {
    stream(workspace.cargo().args(["fmt", "--all", "--check"]), "run `cargo fmt --all` and commit what it changed")?;
    Ok("every file is formatted".into())
}

pub(crate) fn clippy(workspace: &Workspace) -> Result<String, Failure> {
    stream(
        workspace.cargo().args(["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"]),
        "fix what clippy names above; where it is wrong, `#[expect(lint, reason = \"...\")]` on the smallest item",
    )?;
    Ok("no warnings in any target with all features".into())
}

pub(crate) fn docs(workspace: &Workspace) -> Result<String, Failure> {
    stream(
        workspace.cargo().args(["doc", "--workspace", "--no-deps", "--all-features"]).env("RUSTDOCFLAGS", "-D warnings"),
        "fix what rustdoc names above: mostly a link to an item that was renamed, or an item without docs",
    )?;
    Ok("every crate's documentation builds without warnings".into())
}
