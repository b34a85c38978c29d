//! `lib.rs` and `mod.rs` are tables of contents.

use super::finding::{Finding, Rule};
use super::modules::Source;
use super::tokens::Token;
use super::tree::is_within;

const CONTENTS_ONLY: Rule = Rule {
    name: "contents-only",
    why: "whoever opens lib.rs or mod.rs looks for the guide and the exports; code there is found last",
    instead: "move it to a file that is named after it, and export it here",
};

const CODE: &[&str] = &["fn", "impl"];
const PLACES: &[&str] = &["crates/*/src/", "xtask/src/"];

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let file = source.path.rsplit('/').next().unwrap_or_default();
    if !matches!(file, "lib.rs" | "mod.rs") || !PLACES.iter().any(|place| is_within(&source.path, place)) {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let mut rest = source.tokens.as_slice();
    while let Some((token, after)) = rest.split_first() {
        if token.text == "macro_rules" {
            rest = after_braces(after);
            continue;
        }
        if CODE.contains(&token.text.as_str()) {
            lines.push(token.line);
        }
        rest = after;
    }
    // One finding a file: what must go is all of it.
    let what = format!("{} times `fn` or `impl` in {file}, here the first", lines.len());
    lines.first().map(|line| Finding::new(&source.path, *line, what, CONTENTS_ONLY)).into_iter().collect()
}

/// What follows the next pair of braces.
fn after_braces(tokens: &[Token]) -> &[Token] {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" if depth <= 1 => return &tokens[index + 1..],
            "}" => depth -= 1,
            _ => {}
        }
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::super::tokens;
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let tokens = tokens::read(text).expect("the example is Rust");
        let source = Source { path: path.to_owned(), imports: Vec::new(), tokens };
        check(&source).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn code_is_found() {
        assert_eq!(lines("crates/a/src/lib.rs", "mod a;\npub fn f() {}\nimpl A {}"), [2]);
        assert_eq!(lines("crates/a/src/b/mod.rs", "macro_rules! m { () => { fn g() {} } }\nfn f() {}"), [2]);
    }

    #[test]
    fn contents_pass() {
        let contents = "//! fn\n#![no_std]\nextern crate alloc;\nmod a;\npub use a::A;\nmacro_rules! m { () => { impl A {} } }";
        assert!(lines("crates/a/src/lib.rs", contents).is_empty());
        assert!(lines("crates/a/src/main.rs", "fn main() {}").is_empty());
        assert!(lines("crates/a/tests/it/mod.rs", "fn f() {}").is_empty());
    }
}
