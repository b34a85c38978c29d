//! What is kept of an intent.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is known of an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentState {
    /// Nothing has happened: never sent, or every attempt was refused.
    New,
    /// It was sent, and may have happened.
    Sent,
    /// It has happened.
    Done,
}

/// What has to outlive a retry. The body is not in it, for it may hold what should not lie about: only its digest is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The idempotency key.
    pub key: String,
    /// Milliseconds since 1970.
    pub expires_at: u64,
    /// SHA-256 over method, path, principal and body, in hex.
    pub digest: String,
    /// What is known of it.
    pub state: IntentState,
}

/// Records by the name of their intent.
pub trait IntentStore: Send + Sync {
    /// The record, if there is one.
    ///
    /// # Errors
    ///
    /// Whatever keeps the store from being read, a record that can't be understood included.
    fn get(&self, name: &str) -> Result<Option<Record>, StoreError>;

    /// Keeps `new` in the place of `old`, in one step; none stands for no record. Durable when it returns, if the store is.
    ///
    /// False, and nothing is changed, if what is kept is not `old`: somebody else was faster.
    ///
    /// # Errors
    ///
    /// Whatever keeps the store from being read or written.
    fn swap(&self, name: &str, old: Option<&Record>, new: Option<&Record>) -> Result<bool, StoreError>;
}

/// Why a store can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreError {
    /// The reason, in words.
    pub why: String,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for StoreError {}
