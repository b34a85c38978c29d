//! What a rule found.

use std::fmt;

/// The reason of a rule and what to write instead: every message carries both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) why: &'static str,
    pub(super) instead: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) what: String,
    pub(super) rule: Rule,
}

impl Finding {
    pub(super) fn new(path: &str, line: usize, what: impl Into<String>, rule: Rule) -> Self {
        Self { path: path.to_owned(), line, what: what.into(), rule }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rule { name, why, instead } = self.rule;
        write!(f, "{}:{}: {} [{name}]\n    why: {why}\n    instead: {instead}", self.path, self.line, self.what)
    }
}
