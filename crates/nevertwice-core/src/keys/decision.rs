//! What a command on a key comes to.

use crate::keys::{KeyRecord, KeyRejection};
use crate::limits::AT_MS_MAX;

/// What a command on a key comes to. The store keeps the change, if there is one, and then replies; it decides nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDecision<R> {
    /// What to reply.
    pub reply: Result<R, KeyRejection>,
    /// The record that replaces the one that was looked at; none where nothing changes.
    pub change: Option<KeyRecord>,
}

impl<R> KeyDecision<R> {
    pub(super) const fn changed(reply: R, record: KeyRecord) -> Self {
        Self { reply: Ok(reply), change: Some(record) }
    }

    pub(super) const fn unchanged(reply: R) -> Self {
        Self { reply: Ok(reply), change: None }
    }

    pub(super) const fn rejected(rejection: KeyRejection) -> Self {
        Self { reply: Err(rejection), change: None }
    }
}

/// Whether the core accepts the instant.
pub(super) const fn is_instant(at_ms: i64) -> bool {
    0 <= at_ms && at_ms <= AT_MS_MAX
}
