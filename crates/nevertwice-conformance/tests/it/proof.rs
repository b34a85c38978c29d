//! `docs/keys-proof.md` names tests, rules and properties that are there.

use std::fs;
use std::path::{Path, PathBuf};

use nevertwice_conformance::rules;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All Rust of a folder, one text.
fn rust(folder: &Path, text: &mut String) {
    for file in fs::read_dir(folder).expect("it can be listed").map(|file| file.expect("it can be read").path()) {
        if file.is_dir() {
            rust(&file, text);
        } else if file.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(file).expect("it is text"));
        }
    }
}

/// The second column of a page's tables.
fn proofs(page: &str) -> Vec<&str> {
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| what "));
    rows.flat_map(|row| row.trim_end_matches('|').rsplit('|').next().into_iter().flat_map(|cell| cell.split(", "))).map(str::trim).collect()
}

#[test]
fn the_page_of_proofs_names_what_is_there() {
    let page = fs::read_to_string(root().join("docs/keys-proof.md")).expect("the page is there");
    let mut text = String::new();
    for name in ["-core", "-idempotency", "-testkit", "-local", "-server", "-client", ""] {
        rust(&root().join(format!("crates/nevertwice{name}")), &mut text);
    }
    let is_there = |proof: &str| match (proof.strip_prefix("**"), proof.strip_prefix('`')) {
        (Some(property), _) => text.contains(&format!("\"{}\"", property.trim_end_matches("**"))),
        (_, Some(name)) => {
            let name = name.trim_end_matches('`');
            rules().iter().any(|rule| rule.id == name) || ["(", "<"].iter().any(|after| text.contains(&format!("fn {name}{after}")))
        }
        _ => false,
    };
    let proofs = proofs(&page);
    assert!(proofs.len() > 80, "only {} proofs were found on the page", proofs.len());
    let missing: Vec<_> = proofs.into_iter().filter(|proof| !is_there(proof)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(!is_there("`no_such_test`") && !is_there("**no such property**") && !is_there("no mark"));
}
