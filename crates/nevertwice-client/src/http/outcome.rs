//! What is known after a request.

use bytes::Bytes;

/// What is known after a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The server answered.
    Reply(Reply),
    /// The request may have been seen, and the connection broke before a whole reply was read.
    Lost,
    /// Nobody listens there: the request was not seen.
    Refused,
    /// No whole reply in time: the request may have been seen.
    TimedOut,
    /// The path or a header line cannot be put on the wire: nothing was asked.
    Unsendable,
}

/// A whole reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// The header lines in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Reply {
    /// The first header line of a name (in lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(line, _)| line == name).map(|(_, value)| value.as_str())
    }

    /// Whether the status is one of success.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Reads the body as JSON.
    pub fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }
}
