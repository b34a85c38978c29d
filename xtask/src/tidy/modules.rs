//! Which Rust files the crates really consist of: from each crate's roots along every `mod`.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Finding, Rule};
use super::tokens::{self, Token};
use super::tree::{Tree, folder_of, normalise};

pub(super) const DEAD_FILE: Rule = Rule {
    name: "dead-file",
    why: "a file that no `mod` names is not compiled: it rots, and its tests never run",
    instead: "name it with `mod`, or delete it",
};

pub(super) const UNREADABLE: Rule =
    Rule { name: "unreadable", why: "a file that can't be read as Rust can't be checked", instead: "make it compile" };

/// One Rust file.
pub(super) struct Source {
    pub(super) path: String,
    pub(super) tokens: Vec<Token>,
    pub(super) imports: Vec<Vec<Token>>,
}

/// Reads every Rust file. In a file that only tests reach, every token is test code.
pub(super) fn read(tree: &Tree) -> (Vec<Source>, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut rows = BTreeMap::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".rs")) {
        match tokens::read(text) {
            Some(row) => drop(rows.insert(path, row)),
            None => findings.push(Finding::new(path, 1, "this is not Rust", UNREADABLE)),
        }
    }

    let (product, test) = reached(tree, &rows);
    let mut sources = Vec::new();
    for (path, mut tokens) in rows {
        if !product.contains(path) && !test.contains(path) {
            findings.push(Finding::new(path, 1, "no `mod` names this file", DEAD_FILE));
        }
        if !product.contains(path) {
            tokens.iter_mut().for_each(|token| token.is_test = true);
        }
        let imports = tokens::imports(&tokens);
        sources.push(Source { path: path.to_owned(), tokens, imports });
    }
    (sources, findings)
}

/// The files that the product consists of, and those that tests, benchmarks and examples add.
fn reached<'a>(tree: &Tree, rows: &BTreeMap<&'a str, Vec<Token>>) -> (BTreeSet<&'a str>, BTreeSet<&'a str>) {
    let mut product = BTreeSet::new();
    let mut test = BTreeSet::new();
    let mut waiting: Vec<(String, bool)> = Vec::new();
    for &path in rows.keys() {
        if let Some(is_test) = root_kind(tree, path) {
            waiting.push((path.to_owned(), is_test));
        }
    }
    while let Some((path, is_test)) = waiting.pop() {
        let Some((&path, row)) = rows.get_key_value(path.as_str()) else {
            continue;
        };
        let seen = if is_test { &mut test } else { &mut product };
        if seen.insert(path) {
            let is_root = root_kind(tree, path).is_some();
            let children = children(path, is_root, row);
            waiting.extend(children.into_iter().map(|(child, child_is_test)| (child, is_test || child_is_test)));
        }
    }
    (product, test)
}

/// Is this the root of a crate by cargo's conventions, and is it one that only tests, benchmarks or examples have?
fn root_kind(tree: &Tree, path: &str) -> Option<bool> {
    let mut package = folder_of(path);
    while !tree.has_file(format!("{package}/Cargo.toml").trim_start_matches('/')) {
        if package.is_empty() {
            return None;
        }
        package = folder_of(package);
    }
    let inside = path.strip_prefix(package)?.trim_start_matches('/');
    match inside.split('/').collect::<Vec<_>>().as_slice() {
        ["src", "lib.rs" | "main.rs"] | ["build.rs"] | ["src", "bin", _] | ["src", "bin", _, "main.rs"] => Some(false),
        ["tests" | "benches" | "examples", _] | ["tests" | "benches" | "examples", _, "main.rs"] => Some(true),
        ["fuzz_targets", _] => Some(true),
        _ => None,
    }
}

/// The files that this one names, and whether it names them for tests only.
fn children(path: &str, is_root: bool, row: &[Token]) -> Vec<(String, bool)> {
    let folder = folder_of(path);
    let own_folder = match path.strip_suffix(".rs") {
        Some(stem) if !is_root && !path.ends_with("/mod.rs") => stem.to_owned(),
        _ => folder.to_owned(),
    };
    let mut found = Vec::new();
    let mut depth = 0_usize;
    // Inline modules around here, with the depth of their bodies.
    let mut around: Vec<(&str, usize)> = Vec::new();
    // A `#[path = ".."]` that waits for its `mod`.
    let mut given: Option<&str> = None;
    for (index, token) in row.iter().enumerate() {
        let text = |ahead: usize| row.get(index + ahead).map_or("", |token| token.text.as_str());
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                around.retain(|&(_, body)| body <= depth);
                given = None;
            }
            ";" => given = None,
            "[" if text(1) == "path" && text(2) == "=" => given = unquote(text(3)),
            "include" if text(1) == "!" => {
                if let Some(file) = unquote(text(3)) {
                    found.push((format!("{folder}/{file}"), token.is_test));
                }
            }
            "mod" if text(2) == "{" => around.push((text(1), depth + 1)),
            "mod" if text(2) == ";" => {
                if let Some(file) = given {
                    found.push((format!("{folder}/{file}"), token.is_test));
                } else {
                    let inline: String = around.iter().map(|(name, _)| format!("{name}/")).collect();
                    let name = text(1).trim_start_matches("r#");
                    found.push((format!("{own_folder}/{inline}{name}.rs"), token.is_test));
                    found.push((format!("{own_folder}/{inline}{name}/mod.rs"), token.is_test));
                }
            }
            _ => {}
        }
    }
    found.into_iter().filter_map(|(file, is_test)| Some((normalise(&file)?, is_test))).collect()
}

fn unquote(literal: &str) -> Option<&str> {
    literal.strip_prefix('"')?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![("crates/a/Cargo.toml", "")];
        all.extend(files);
        read(&Tree::of(&all)).1.into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn a_file_that_no_mod_names_is_dead() {
        let files = [("crates/a/src/lib.rs", "mod used;"), ("crates/a/src/used.rs", ""), ("crates/a/src/dead.rs", "")];
        assert_eq!(dead(&files), ["crates/a/src/dead.rs"]);
    }

    #[test]
    fn every_way_to_name_a_file_is_followed() {
        assert!(
            dead(&[
                ("crates/a/src/lib.rs", "mod b; mod c { mod d; } #[path = \"odd/e.rs\"] mod x; mod g;"),
                ("crates/a/src/b.rs", "mod inner;"),
                ("crates/a/src/b/inner.rs", "fn f() { include!(\"table.rs\"); }"),
                ("crates/a/src/b/table.rs", ""),
                ("crates/a/src/c/d.rs", ""),
                ("crates/a/src/odd/e.rs", ""),
                ("crates/a/src/g/mod.rs", "mod h;"),
                ("crates/a/src/g/h.rs", ""),
                ("crates/a/src/bin/tool.rs", ""),
                ("crates/a/tests/it/main.rs", "mod case;"),
                ("crates/a/tests/it/case.rs", ""),
                ("crates/a/benches/speed.rs", ""),
                ("crates/a/build.rs", ""),
            ])
            .is_empty()
        );
    }

    #[test]
    fn a_file_that_only_tests_name_is_test_code() {
        let tree = Tree::of(&[
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/lib.rs", "#[cfg(test)] mod twins; mod rules;"),
            ("crates/a/src/twins.rs", "mod slow;"),
            ("crates/a/src/twins/slow.rs", "fn slow() {}"),
            ("crates/a/src/rules.rs", "fn rule() {}"),
            ("crates/a/tests/it/main.rs", "fn main() {}"),
        ]);
        let (sources, findings) = read(&tree);
        assert_eq!(findings, []);
        for source in sources.iter().filter(|source| !source.path.ends_with("lib.rs")) {
            let is_test = !source.path.ends_with("rules.rs");
            assert!(source.tokens.iter().all(|token| token.is_test == is_test), "{}", source.path);
        }
    }

    #[test]
    fn a_file_that_is_no_rust_is_told() {
        assert_eq!(dead(&[("crates/a/src/lib.rs", "fn f( {")]), ["crates/a/src/lib.rs"]);
    }
}
