//! What happened, for metrics.

use std::time::Duration;

/// What became of one request at a guarded route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The handler ran, and its answer is kept.
    Fresh,
    /// The handler ran after somebody whose lease had ended.
    Rerun,
    /// The handler ran, its answer is too large or not storable, and the key stays used.
    Tombstone,
    /// The handler ran, and the key is free again.
    Freed,
    /// The handler ran, and nobody knows what it did.
    Unknown,
    /// An answer was repeated.
    Replay,
    /// The answer was not kept, so it could not be repeated.
    ReplayOfTombstone,
    /// The key was used for something else.
    Mismatch,
    /// Somebody works on it.
    InProgress,
    /// Somebody worked on it, and nobody knows what became of it.
    Lapsed,
    /// The request was refused before a key was looked at, or by its key's own time.
    Refused,
    /// The store holds as much as it may, and the request was refused.
    StoreFull,
    /// The caller holds as much of the store as one may, and the request was refused.
    PrincipalFull,
    /// The store could not be used, and the request was refused.
    StoreDownClosed,
    /// The store could not be used, and the handler ran unguarded.
    StoreDownOpen,
    /// The route is guarded and the request had no key.
    WithoutKey,
}

impl Outcome {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Fresh,
        Self::Rerun,
        Self::Tombstone,
        Self::Freed,
        Self::Unknown,
        Self::Replay,
        Self::ReplayOfTombstone,
        Self::Mismatch,
        Self::InProgress,
        Self::Lapsed,
        Self::Refused,
        Self::StoreFull,
        Self::PrincipalFull,
        Self::StoreDownClosed,
        Self::StoreDownOpen,
        Self::WithoutKey,
    ];

    /// The word for it in metrics. What has a code is called by it, and what the server's calls about keys know as well is called as
    /// there: docs/keys.md has the whole list.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Rerun => "taken_over",
            Self::Tombstone => "tombstone",
            Self::Freed => "released",
            Self::Unknown => "left_unknown",
            Self::Replay => "replay",
            Self::ReplayOfTombstone => "answer_not_kept",
            Self::Mismatch => "fingerprint_mismatch",
            Self::InProgress => "key_in_progress",
            Self::Lapsed => "outcome_unknown",
            Self::Refused => "refused",
            Self::StoreFull => "keys_full",
            Self::PrincipalFull => "principal_full",
            Self::StoreDownClosed => "key_store_unavailable",
            Self::StoreDownOpen => "unguarded",
            Self::WithoutKey => "without_key",
        }
    }
}

/// Hears of what happens; for metrics. Called in the way of requests: it must be quick.
pub trait KeyObserver: Send + Sync + 'static {
    /// A request at a guarded route ended.
    fn ended(&self, _route: &str, _outcome: Outcome) {}
    /// A handler ran for so long and answered with so many bytes, as far as they were read.
    fn handled(&self, _route: &str, _time: Duration, _body_bytes: u64) {}
    /// The store answered, or not, after so long.
    fn stored(&self, _operation: &'static str, _time: Duration, _is_ok: bool) {}
    /// An owner that was replaced tried to change the key, and could not.
    fn stale_owner_refused(&self, _route: &str) {}
}

/// Nobody listens.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKeyObserver;

impl KeyObserver for NoKeyObserver {}
