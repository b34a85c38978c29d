//! What was seen in the place of what was expected.

use std::fmt::Display;
use std::pin::Pin;

use crate::http::NoAnswer;

/// A rule that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) seen: String,
    pub(crate) expected: String,
}

/// The way in which a rule is checked.
pub(crate) type Checked<'a> = Pin<Box<dyn Future<Output = Result<(), Failed>> + Send + 'a>>;

impl Failed {
    pub(crate) fn new(seen: impl Display, expected: impl Display) -> Self {
        Self { seen: seen.to_string(), expected: expected.to_string() }
    }

    /// Names the case among several.
    pub(crate) fn of(self, case: impl Display) -> Self {
        Self { seen: format!("{case}: {}", self.seen), ..self }
    }
}

impl From<NoAnswer> for Failed {
    fn from(none: NoAnswer) -> Self {
        Self::new(none, "an answer")
    }
}
