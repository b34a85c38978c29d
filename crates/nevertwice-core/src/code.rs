//! The code by which a candidate is known to whoever runs a sale.

use alloc::string::String;
use core::fmt;

/// A candidate's code as everything looks at it: ASCII, 1 to 64 visible characters, trimmed and upper-cased.
///
/// It never enters a state or an entry: those hold a keyed digest of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Code(String);

/// Why a code is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeError {
    /// Nothing remains after trimming.
    Empty,
    /// More than [`Code::BYTES_MAX`] remain after trimming.
    TooLong,
    /// A character that is not visible ASCII.
    Character,
}

impl fmt::Display for CodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the code is empty"),
            Self::TooLong => write!(f, "the code is longer than {} characters", Code::BYTES_MAX),
            Self::Character => f.write_str("the code has a character that is not visible ASCII"),
        }
    }
}

impl core::error::Error for CodeError {}

impl Code {
    /// The most characters of a code.
    pub const BYTES_MAX: usize = 64;

    /// Trims ASCII white space, upper-cases and checks.
    ///
    /// # Errors
    /// If nothing remains, too much does, or a character is not visible ASCII.
    pub fn new(text: &str) -> Result<Self, CodeError> {
        let trimmed = text.trim_matches(|c: char| c.is_ascii_whitespace());
        if trimmed.is_empty() {
            return Err(CodeError::Empty);
        }
        if trimmed.len() > Self::BYTES_MAX {
            return Err(CodeError::TooLong);
        }
        if !trimmed.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(CodeError::Character);
        }
        Ok(Self(trimmed.to_ascii_uppercase()))
    }

    /// The normalised code.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

// A code is a person's: it is not printed by accident.
impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(..)")
    }
}
