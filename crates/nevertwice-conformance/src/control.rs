//! The wire format of the echo endpoints' unguarded side: what an endpoint is to answer, and what has happened to it.

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};

/// What an echo endpoint does when it is asked.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Plan {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// Base64.
    pub(crate) body: String,
    /// How often the body is repeated, for large ones.
    pub(crate) repeat: usize,
    pub(crate) gate: Gate,
    pub(crate) end: End,
    /// Whether the answer is sent without its length.
    pub(crate) chunked: bool,
}

/// Where it waits until the gate is opened.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Gate {
    /// Nowhere.
    None,
    /// After the effect, before the answer.
    Answer,
    /// In the middle of the answer's body.
    Half,
}

/// How it ends.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    /// With the whole answer.
    Whole,
    /// The connection breaks in the middle of the body.
    Break,
    /// The handler panics, or what the language has for it: there is no answer.
    Panic,
}

/// What has happened to an echo endpoint since it was planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct State {
    /// How often it was asked: its effect.
    pub(crate) runs: u64,
    /// Runs that wait at the gate now.
    pub(crate) waiting: u64,
    /// Bytes of the body that the last run was sent.
    pub(crate) body_bytes: u64,
}

impl Plan {
    /// Compared with this status and a short body.
    pub(crate) fn status(status: u16) -> Self {
        let (headers, gate, end) = (Vec::new(), Gate::None, End::Whole);
        let plan = Self { status, headers, body: String::new(), repeat: 1, gate, end, chunked: false };
        // These have no body by definition.
        if matches!(status, 204 | 304) { plan } else { plan.body(b"done") }
    }

    pub(crate) fn body(self, body: &[u8]) -> Self {
        Self { body: BASE64.encode(body), ..self }
    }

    /// A body of that many bytes.
    pub(crate) fn sized(self, bytes: usize) -> Self {
        Self { repeat: bytes, ..self.body(b"x") }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn gate(self, gate: Gate) -> Self {
        Self { gate, ..self }
    }

    pub(crate) fn end(self, end: End) -> Self {
        Self { end, ..self }
    }

    pub(crate) fn chunked(self) -> Self {
        Self { chunked: true, ..self }
    }
}
