//! Holds every rule against every file.

use super::finding::Finding;
use super::tree::Tree;
use super::{bans, documents, modules, names, shape, words};
use crate::step::Failure;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Result<String, Failure> {
    let tree = Tree::load(workspace.root())?;
    let (findings, sources) = check(&tree, &words::machine_folders(workspace.root()));
    if sources == 0 {
        return Err(Failure::new("no Rust file was found", "run `cargo xtask tidy` inside the repository"));
    }
    if findings.is_empty() {
        return Ok(format!("{} files, {sources} of them Rust, break no rule", tree.len()));
    }
    let told: Vec<String> = findings.iter().map(Finding::to_string).collect();
    Err(Failure::new(
        format!("{}\n{} findings", told.join("\n"), findings.len()),
        "follow the line `instead` of each; a rule that is wrong is changed in xtask/src/tidy, with its examples",
    ))
}

/// What was found, in order, and how many Rust files were read.
fn check(tree: &Tree, machine_folders: &[String]) -> (Vec<Finding>, usize) {
    let (sources, mut findings) = modules::read(tree);
    for source in &sources {
        findings.extend(bans::check(source));
        findings.extend(names::check(source));
        findings.extend(shape::check(source));
    }
    for (path, text) in tree.texts() {
        findings.extend(words::check(path, text, machine_folders));
    }
    findings.extend(documents::links(tree));
    findings.extend(documents::unlisted(tree));
    findings.extend(documents::error_pages(tree, &sources));
    findings.sort();
    findings.dedup();
    (findings, sources.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_rule_is_asked() {
        let tree = Tree::of(&[
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/lib.rs", "fn manager() { todo!() } \n"),
            ("crates/a/src/dead.rs", ""),
            ("crates/nevertwice-api/Cargo.toml", ""),
            ("crates/nevertwice-api/src/lib.rs", "mod errors;\n"),
            ("crates/nevertwice-api/src/errors.rs", "errors! { Gone = \"gone\", 410, final, \"Gone\"; }\n"),
            ("README.md", "[gone](gone.md)\n"),
            ("docs/a.md", concat!("@", "@LATER\n")),
        ]);
        let (findings, sources) = check(&tree, &[]);
        assert_eq!(sources, 4);
        let mut rules: Vec<&str> = findings.iter().map(|finding| finding.rule.name).collect();
        rules.sort_unstable();
        let expected =
            ["broken-link", "code-without-page", "code-without-test", "contents-only", "dead-file", "placeholder", "trailing-space"];
        assert_eq!(rules, [&expected[..], &["unfinished", "unlisted-page", "vague-name"]].concat());
    }

    #[test]
    fn a_clean_tree_passes() {
        let tree = Tree::of(&[
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/lib.rs", "//! Contents.\nmod steward;\n"),
            ("crates/a/src/steward.rs", "pub fn sweep() {}\n"),
            ("README.md", "[crate](crates/a)\n"),
        ]);
        assert_eq!(check(&tree, &[]), (vec![], 2));
    }
}
