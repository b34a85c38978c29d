//! Who carries messages.

use std::fmt;

use nevertwice_api::BoxFuture;

use super::Delivery;

/// Why a message was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undelivered {
    /// What came of the try, for people: a status, or what the connection said.
    pub what: String,
    /// No further try can go better, for instance because the endpoint is gone for good (`410`).
    pub is_final: bool,
    /// The endpoint asks not to be tried before so many milliseconds are over.
    pub after_ms: Option<i64>,
}

impl fmt::Display for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Undelivered {}

/// Carries messages to endpoints. It answers within a time of its own, and says that a message was taken only if it was.
pub trait Courier: Send + Sync + 'static {
    /// Carries one message to one endpoint.
    fn carry(&self, endpoint: &str, delivery: Delivery) -> BoxFuture<'static, Result<(), Undelivered>>;
}
