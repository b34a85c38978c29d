//! Finds the scripts, and holds each to the rules and to the linter.

use std::fs;
use std::path::Path;

use super::parse::File;
use super::{linter, rules};
use crate::step::Failure;
use crate::suite::unusable;
use crate::workspace::Workspace;

/// Where the scripts lie, from the root of the repository.
const FOLDER: &str = "crates/nevertwice-redis/lua";

pub(crate) fn run(workspace: &Workspace) -> Result<String, Failure> {
    let scripts = read(workspace.root(), FOLDER)?;
    let parts = read(workspace.root(), &format!("{FOLDER}/lib"))?;
    let libs: Vec<File<'_>> = parts.iter().map(|(path, text)| File { path, text }).collect();
    let scripts: Vec<File<'_>> = scripts.iter().map(|(path, text)| File { path, text }).collect();
    if scripts.is_empty() {
        return Err(Failure::new(format!("no script lies in {FOLDER}"), "run `cargo xtask lua` inside the repository"));
    }
    let mut broken: Vec<rules::Broken> = scripts.iter().flat_map(|script| rules::script(script, &libs)).collect();
    broken.extend(libs.iter().flat_map(rules::lib));
    for lib in &libs {
        if scripts.iter().all(|script| script.includes().iter().all(|(_, name)| *name != lib.name())) {
            broken.push(rules::Broken { path: lib.path.to_owned(), line: 1, rule: "dead-part", what: "no script brings it in".into() });
        }
    }
    broken.sort();
    if !broken.is_empty() {
        let told: Vec<String> =
            broken.iter().map(|broken| format!("{}:{}: {} [{}]", broken.path, broken.line, broken.what, broken.rule)).collect();
        return Err(Failure::new(told.join("\n"), "see crates/nevertwice-redis/lua/README.md for the shape of a script"));
    }
    linter::run(workspace, &scripts, &libs)?;
    Ok(format!("{} scripts and {} shared parts keep to the rules, and luacheck has nothing against them", scripts.len(), libs.len()))
}

/// Path and text of every Lua file in a folder, in order.
fn read(root: &Path, folder: &str) -> Result<Vec<(String, String)>, Failure> {
    let path = root.join(folder);
    let mut files = Vec::new();
    for entry in fs::read_dir(&path).map_err(|error| unusable(&path, &error))? {
        let file = entry.map_err(|error| unusable(&path, &error))?.path();
        if file.extension().is_some_and(|extension| extension == "lua") {
            let text = fs::read_to_string(&file).map_err(|error| unusable(&file, &error))?;
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.push((format!("{folder}/{name}"), text));
        }
    }
    files.sort();
    Ok(files)
}
