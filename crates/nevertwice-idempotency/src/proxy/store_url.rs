//! Where keys are kept, if a server keeps them. What the address means is for whoever opens the store.

use std::fmt;

use serde::Deserialize;

/// The address of a server that keeps keys. A password may stand in it, so it is not printed.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct StoreUrl(String);

impl StoreUrl {
    /// An address of that text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// What stands before its first colon.
    #[must_use]
    pub fn scheme(&self) -> &str {
        self.0.split(':').next().unwrap_or_default()
    }

    /// Whether a password stands in it.
    #[must_use]
    pub fn has_password(&self) -> bool {
        let (_, place) = self.0.split_once("://").unwrap_or(("", &self.0));
        place.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    }

    /// The text. Whoever asks for it sees to it that it goes nowhere else.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreUrl(..)")
    }
}
