//! Why a proxy does not start.

use std::fmt;

use nevertwice_api::ErrorCode;

/// Why a proxy does not start: a code of the catalogue, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyError {
    /// The code.
    pub code: ErrorCode,
    /// What is wrong this time, and what to do.
    pub detail: String,
}

impl ProxyError {
    /// Settings that can't be used. `wrong` is a sentence without its full stop.
    #[must_use]
    pub fn configuration(wrong: impl fmt::Display) -> Self {
        let detail = format!("{wrong}. Nothing was started. See docs/proxy.md for the settings.");
        Self { code: ErrorCode::ConfigurationInvalid, detail }
    }
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}). {}", self.code.title(), self.code, self.detail)
    }
}

impl std::error::Error for ProxyError {}
