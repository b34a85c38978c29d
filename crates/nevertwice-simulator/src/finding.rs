//! What a seed has found.

use std::fmt;

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong.
    pub what: String,
    /// Words by which lines of the trace are found that have to do with it: a key, a position.
    pub about: Vec<String>,
}

impl Finding {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), about: Vec::new() }
    }

    pub(crate) fn about(mut self, word: impl fmt::Display) -> Self {
        self.about.push(word.to_string());
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Finding {}
