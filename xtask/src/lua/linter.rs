//! The linter for the language: luacheck, over each script as it is sent.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::parse::File;
use crate::install::{self, Need};
use crate::step::Failure;
use crate::suite::unusable;
use crate::workspace::{Workspace, stream};

const NEEDS: &[Need] = &[Need::installed("luacheck", "lua-check", "the linter of the Lua scripts")];

/// Names that a server gives to scripts.
const GLOBALS: &[&str] = &["redis", "KEYS", "ARGV", "struct", "bit", "cmsgpack"];

/// Longest line of a script.
const COLUMNS_MAX: &str = "140";

pub(super) fn run(workspace: &Workspace, scripts: &[File<'_>], libs: &[File<'_>]) -> Result<(), Failure> {
    println!("install: {}", install::run(workspace, NEEDS)?);
    let folder = workspace.metadata()?.target_directory.into_std_path_buf().join("lua");
    fs::create_dir_all(&folder).map_err(|error| unusable(&folder, &error))?;
    let mut command = Command::new("luacheck");
    command.args(["--std", "lua51", "--no-color", "--no-cache", "--no-default-config", "--max-line-length", COLUMNS_MAX]);
    command.arg("--read-globals").args(GLOBALS).arg("--");
    for script in scripts {
        let file = folder.join(format!("{}.lua", script.name()));
        write(&file, &as_sent(script, libs))?;
        command.arg(file);
    }
    stream(&mut command, "mend what luacheck names above, in crates/nevertwice-redis/lua: the files there are put together from it")
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(|error| unusable(file, &error))
}

/// The script with the parts that it brings in. Of these it need not use everything.
pub(super) fn as_sent(script: &File<'_>, libs: &[File<'_>]) -> String {
    let mut text = String::new();
    for (_, line) in script.lines() {
        let part = line.strip_prefix("-- include ").and_then(|name| libs.iter().find(|lib| lib.name() == name));
        match part {
            // 211 is what is declared and not used, 212 an argument likewise.
            Some(lib) => text.push_str(&format!("-- luacheck: push ignore 211 212\n{}-- luacheck: pop\n", lib.text)),
            None => text.push_str(&format!("{line}\n")),
        }
    }
    text
}
