//! One answer.

use std::fmt;

use bytes::Bytes;

/// How much of a body is shown.
const SHOWN_BYTES_MAX: usize = 160;

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The lines in their order, with names in lower case.
    pub(crate) lines: Vec<(String, Vec<u8>)>,
    pub(crate) body: Bytes,
}

impl Answer {
    /// All values of a header, in their order.
    pub(crate) fn values(&self, name: &str) -> Vec<&[u8]> {
        self.lines.iter().filter(|(line, _)| line == name).map(|(_, value)| value.as_slice()).collect()
    }

    /// The value of a header that stands there once, as text.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        match self.values(name).as_slice() {
            [value] => std::str::from_utf8(value).ok(),
            _ => None,
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}", self.status)?;
        if !self.body.is_empty() {
            let shown = self.body.get(..SHOWN_BYTES_MAX).unwrap_or(&self.body);
            let more = if self.body.len() > shown.len() { "…" } else { "" };
            write!(f, ", {} bytes \"{}{more}\"", self.body.len(), shown.escape_ascii())?;
        }
        Ok(())
    }
}
