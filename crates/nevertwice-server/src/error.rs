//! Why a server does not start.

use std::fmt;

use nevertwice_api::ErrorCode;

/// Why a server does not start: a code of the catalogue, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartError {
    /// The code.
    pub code: ErrorCode,
    /// What is wrong this time, and what to do.
    pub detail: String,
}

impl StartError {
    pub(crate) fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into() }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}). {}", self.code.title(), self.code, self.detail)
    }
}

impl std::error::Error for StartError {}
