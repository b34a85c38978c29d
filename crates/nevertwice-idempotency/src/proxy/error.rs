//! Why a proxy does not start.

use std::fmt;

use nevertwice_api::ErrorCode;

/// The most characters of what is wrong that are told.
const SHOWN_MAX: usize = 2_000;

/// Why a proxy does not start: a code of the catalogue, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyError {
    /// The code.
    pub code: ErrorCode,
    /// What is wrong this time, and what to do.
    pub detail: String,
}

impl ProxyError {
    /// Settings that can't be used. `wrong` is a sentence without its full stop; what it repeats of a file is shown on one line, and cut.
    #[must_use]
    pub fn configuration(wrong: impl fmt::Display) -> Self {
        let mut detail = String::new();
        for character in wrong.to_string().chars().take(SHOWN_MAX) {
            if character.is_control() {
                detail.extend(character.escape_debug());
            } else {
                detail.push(character);
            }
        }
        detail.push_str(". Nothing was started. See docs/proxy.md for the settings.");
        Self { code: ErrorCode::ConfigurationInvalid, detail }
    }
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}). {}", self.code.title(), self.code, self.detail)
    }
}

impl std::error::Error for ProxyError {}
