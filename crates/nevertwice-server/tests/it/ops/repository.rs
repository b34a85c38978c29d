//! Files of the repository, and programs that `cargo xtask test` brings.

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A program out of the folder of tools beside the tests, or else from the PATH.
pub(crate) fn program(name: &str) -> Command {
    let brought = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../tools").join(name);
    Command::new(if brought.is_file() { brought } else { PathBuf::from(name) })
}
