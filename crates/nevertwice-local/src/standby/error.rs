//! Why a copy does not go on.

use std::fmt;

use crate::error::{AppendError, IoFailure, OpenError};
use crate::source::SourceError;

/// Why a copy does not go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum CopyError {
    /// The source gives nothing.
    Source(SourceError),
    /// A batch is not made durable here.
    Append(AppendError),
    /// The folder here cannot be used.
    Open(OpenError),
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CopyError::Source(error) => error.fmt(f),
            CopyError::Append(error) => error.fmt(f),
            CopyError::Open(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CopyError {}

impl<T: Into<SourceError>> From<T> for CopyError {
    fn from(error: T) -> CopyError {
        match error.into() {
            // What was read here, not there.
            SourceError::Open(error) => CopyError::Open(error),
            error => CopyError::Source(error),
        }
    }
}

impl From<AppendError> for CopyError {
    fn from(error: AppendError) -> CopyError {
        CopyError::Append(error)
    }
}

impl CopyError {
    pub(crate) fn folder(doing: &'static str, name: &str, source: std::io::Error) -> CopyError {
        CopyError::Open(IoFailure::new(doing, name, source).into())
    }
}
