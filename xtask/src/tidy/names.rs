//! Words that no name of the domain may contain.

use super::finding::{Finding, Rule};
use super::modules::Source;
use super::tree::is_within;

const VAGUE: Rule = Rule {
    name: "vague-name",
    why: "the word says that something is kept or done, not what; or it has another meaning in a database",
    instead: "the word of the domain: a hold, an entry, a steward; name a module after what it knows",
};

const BORROWED: Rule = Rule {
    name: "borrowed-name",
    why: "in a public name the reader takes it for a mutex, a log file, a credential or an SQL commit",
    instead: "claim, lease, journal, generation, acknowledge: see the words in docs/style.md",
};

/// Never part of a name.
const VAGUE_WORDS: &[&str] = &["pending", "transaction", "transactions", "manager", "managers", "helper", "helpers", "util", "utils"];

/// Never part of the name of a public type.
const BORROWED_WORDS: &[&str] = &["lock", "token", "log", "commit"];

const DEFINE: &[&str] = &["fn", "struct", "enum", "mod", "trait", "type", "const", "static"];
const DEFINE_TYPE: &[&str] = &["struct", "enum", "trait", "type"];

struct Allowed {
    within: &'static str,
    name: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "for the reader; a test demands it"))]
    reason: &'static str,
}

/// Names that say one of these words because it is the right one there.
const ALLOWED: &[Allowed] = &[];

pub(super) fn check(source: &Source) -> Vec<Finding> {
    check_with(source, ALLOWED)
}

fn check_with(source: &Source, allowed: &[Allowed]) -> Vec<Finding> {
    if !is_within(&source.path, "crates/*/src/") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, pair) in source.tokens.windows(2).enumerate() {
        let [keyword, name] = pair else { continue };
        if keyword.is_test || !DEFINE.contains(&keyword.text.as_str()) || DEFINE.contains(&name.text.as_str()) {
            continue;
        }
        if allowed.iter().any(|one| one.name == name.text && is_within(&source.path, one.within)) {
            continue;
        }
        let before = index.checked_sub(1).and_then(|before| source.tokens.get(before));
        let is_public_type = DEFINE_TYPE.contains(&keyword.text.as_str()) && before.is_some_and(|t| t.text == "pub");
        for word in words(&name.text) {
            let rule = if VAGUE_WORDS.contains(&word.as_str()) {
                VAGUE
            } else if is_public_type && BORROWED_WORDS.contains(&word.as_str()) {
                BORROWED
            } else {
                continue;
            };
            findings.push(Finding::new(&source.path, name.line, format!("`{word}` in `{}`", name.text), rule));
        }
    }
    findings
}

/// `HoldManager` and `hold_manager` as `hold`, `manager`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c != '_', words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::super::tokens;
    use super::*;

    const PATH: &str = "crates/nevertwice-local/src/sequencer.rs";

    fn rules(path: &str, text: &str) -> Vec<Rule> {
        let tokens = tokens::read(text).expect("the example is Rust");
        let source = Source { path: path.to_owned(), imports: tokens::imports(&tokens), tokens };
        check(&source).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn vague_names_are_found_in_every_definition() {
        for text in [
            "struct HoldManager;",
            "fn pending_orders() {}",
            "mod utils;",
            "mod helpers {}",
            "enum TransactionKind {}",
            "const PENDING_MAX: u8 = 1;",
            "type Util = u8;",
            "const fn helper() {}",
        ] {
            assert_eq!(rules(PATH, text), [VAGUE], "{text}");
        }
    }

    #[test]
    fn borrowed_words_are_found_in_public_types() {
        for text in ["pub struct FolderLock;", "pub enum LogLine {}", "pub trait Token {}", "pub type Commit = u8;"] {
            assert_eq!(rules(PATH, text), [BORROWED], "{text}");
        }
    }

    #[test]
    fn other_names_pass() {
        for text in [
            "struct Steward; fn utility() {} mod spending;",
            "fn lock() {} struct FolderLock; pub(crate) struct Catalogue; pub struct Block;",
            "fn f() { let pending = 1; let manager: &'static Manager = m; }",
            "#[cfg(test)] mod helpers {}",
        ] {
            assert_eq!(rules(PATH, text), [], "{text}");
        }
        assert_eq!(rules("xtask/src/x.rs", "mod utils;"), []);
    }

    #[test]
    fn an_allowed_name_passes_in_its_place_only() {
        let allowed = [Allowed { within: "crates/a/src/", name: "begin_transaction", reason: "SQL says so" }];
        let tokens = tokens::read("fn begin_transaction() {}").expect("the example is Rust");
        let mut source = Source { path: "crates/a/src/x.rs".into(), imports: Vec::new(), tokens };
        assert_eq!(check_with(&source, &allowed), []);
        source.path = "crates/b/src/x.rs".into();
        assert_eq!(check_with(&source, &allowed).len(), 1);
    }

    #[test]
    fn every_allowed_name_has_its_reason() {
        assert!(ALLOWED.iter().all(|one| one.reason.split_whitespace().count() > 2));
    }
}
