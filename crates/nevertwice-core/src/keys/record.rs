//! What a store keeps of a key.

use crate::fields::{fields, tagged, words};
use crate::keys::OwnerId;

fields! {
    /// What a store keeps of a key, whatever its state.
    pub struct KeyRecord {
        /// The number of the claim, which fences off earlier ones. The first is the instant of the claim in milliseconds since
        /// 1970, each further one is one more; a release keeps it. So it rises even over a time in which the key was forgotten.
        pub generation: u64,
        /// When the record was last changed, in milliseconds since 1970.
        pub changed_at: i64,
        /// How long it keeps from then on, in milliseconds.
        pub retention_ms: i64,
        /// Its state.
        pub state: KeyState,
    }
}

tagged! {
    /// The state of a key that is known.
    pub enum KeyState {
        /// Whoever claimed it gave it back: nothing has happened.
        1 => Free(KeyFreedom),
        /// Somebody works on it, or did when the process died.
        2 => InProgress(KeyClaim),
        /// There is an answer, and it stands.
        3 => Completed(KeyCompletion),
    }
}

fields! {
    /// A key that was given back.
    pub struct KeyFreedom {
        /// Who gave it back: the same release again is no mistake.
        pub owner: OwnerId,
    }
}

fields! {
    /// A key that somebody works on.
    pub struct KeyClaim {
        /// What was asked.
        pub fingerprint: [u8; 32],
        /// Who works on it.
        pub owner: OwnerId,
        /// From this instant on another may be allowed to take it over; nothing else ends with it.
        pub lease_expires_at: i64,
    }
}

fields! {
    /// A key with an answer.
    pub struct KeyCompletion {
        /// What was asked.
        pub fingerprint: [u8; 32],
        /// Who answered: the same completion again is no mistake.
        pub owner: OwnerId,
        /// The answer.
        pub answer: KeyAnswer,
    }
}

fields! {
    /// An answer, as the core knows it. The store keeps the bytes and holds them to these lengths and digests.
    pub struct KeyAnswer {
        /// The HTTP status, 100 to 599.
        pub status: u32,
        /// Bytes of the header lines in their encoding.
        pub head_bytes: u32,
        /// SHA-256 of these.
        pub head_digest: [u8; 32],
        /// Bytes of the body; of a tombstone, as far as they are known.
        pub body_bytes: u64,
        /// SHA-256 of these; of a tombstone, zeros.
        pub body_digest: [u8; 32],
        /// Whether the bytes are kept.
        pub body: BodyKept,
    }
}

words! {
    /// Whether an answer's bytes are kept.
    pub enum BodyKept {
        /// A replay repeats them.
        1 => Whole = "whole",
        /// They were too many, streamed or not storable. The key stays used: it never runs again for that.
        2 => Tombstone = "tombstone",
    }
}

impl KeyRecord {
    /// From this instant on the record counts as absent, and a store may free its memory.
    #[must_use]
    pub const fn forgotten_at(&self) -> i64 {
        self.changed_at.saturating_add(self.retention_ms)
    }

    /// The record as of an instant: none once its retention is over.
    #[must_use]
    pub fn remembered(record: Option<&Self>, at_ms: i64) -> Option<&Self> {
        record.filter(|record| at_ms < record.forgotten_at())
    }

    /// Whether somebody's lease is over and nobody has answered, given back or taken over.
    #[must_use]
    pub const fn is_lapsed(&self, at_ms: i64) -> bool {
        matches!(&self.state, KeyState::InProgress(claim) if claim.lease_expires_at <= at_ms)
    }

    /// The instant at which a command is decided: a record's time does not run backwards, whoever's clock does.
    pub(super) fn now(&self, at_ms: i64) -> i64 {
        at_ms.max(self.changed_at)
    }
}
