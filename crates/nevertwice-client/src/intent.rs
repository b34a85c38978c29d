//! What one person meant once: a key, a request, and the instant from which it is given up.

use crate::http::Request;
use crate::{IntentState, Record};

/// Made by [`Client::intent`](crate::Client::intent). It can be sent any number of times, and is the same intent each time.
#[derive(Debug, Clone)]
pub struct Intent {
    pub(crate) name: Option<String>,
    pub(crate) request: Request,
    pub(crate) record: Record,
}

impl Intent {
    /// Its name, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The idempotency key, the same in every attempt.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.record.key
    }

    /// Milliseconds since 1970. From then on it is not sent any more, and a server that knows nothing of it refuses it.
    #[must_use]
    pub fn expires_at(&self) -> u64 {
        self.record.expires_at
    }

    /// What is the same in every retry: SHA-256 over method, path, principal and body, in hex.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.record.digest
    }

    /// What is known of it.
    #[must_use]
    pub fn state(&self) -> IntentState {
        self.record.state
    }
}

/// What an intent may be told beside its request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IntentOptions {
    /// What is meant ("cart-81"), not which button was pressed. Without a name each intent is one of its own.
    pub name: Option<String>,
    /// A key of the caller's own.
    pub key: Option<String>,
    /// Milliseconds since 1970; in 10 minutes unless the client says otherwise.
    pub expires_at: Option<u64>,
}

impl IntentOptions {
    /// An intent with a name.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..Self::default() }
    }
}
