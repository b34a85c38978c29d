//! What an error looks like: problem details, RFC 9457.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ErrorCode;

/// Problem details (RFC 9457). `type` leads to a page about the code; clients act on `code` and `retryable`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// The page about the code, relative to the server: `/errors/{code}`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What is wrong, in one line; the same for every occurrence of the code.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The stable code.
    pub code: String,
    /// Whether the same request with the same key may well get another answer soon.
    pub retryable: bool,
    /// What was wrong this time, what was done, and what to do.
    pub detail: String,
    /// The figures of this time, by name: a fresh quote, what remains, the booking that exists.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    #[schema(value_type = Object)]
    pub figures: serde_json::Map<String, serde_json::Value>,
    /// The shard's position as of which this is said; absent where no shard was asked, or there is no such shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
}

impl Problem {
    /// A problem without figures.
    #[must_use]
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("/errors/{code}"),
            title: code.title().to_owned(),
            status: code.status(),
            code: code.code().to_owned(),
            retryable: code.retryable(),
            detail: detail.into(),
            figures: serde_json::Map::new(),
            position: None,
        }
    }
}
