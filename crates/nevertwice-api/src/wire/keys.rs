//! Keys on the wire: the store of keys, for those who write a guard of their own.
//!
//! Bytes are true: `body_text` is the text's own UTF-8, `body_base64` is whatever it stands for, and a replay repeats the bytes that came.

use nevertwice_core::keys as core;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Level;

/// Reads a member that may be absent but not null: a null that somebody's code made of a lost owner or bound must not stand for none.
fn said<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// What happens to a key whose lease ended without an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LapsePolicy {
    /// It is told that the outcome is unknown, until the retention is over.
    #[default]
    Refuse,
    /// This attempt takes it over and runs it again.
    Rerun,
    /// This attempt takes it over, and asks what became of it before it runs anything.
    Ask,
}

impl From<LapsePolicy> for core::LapsePolicy {
    fn from(policy: LapsePolicy) -> Self {
        match policy {
            LapsePolicy::Refuse => Self::Refuse,
            LapsePolicy::Rerun => Self::Rerun,
            LapsePolicy::Ask => Self::Ask,
        }
    }
}

/// `POST /v1/keys/register`: claims a key for an attempt, or tells what is known of it. Exactly one of `fingerprint` and `request` is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterKey {
    /// The idempotency key of the request that is guarded.
    pub key: String,
    /// Where the key counts: the same key in another scope is another key.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub scope: Option<String>,
    /// The attempt: 32 random bytes in hexadecimal digits, drawn anew for each attempt, and the same when this call is repeated.
    pub owner: String,
    /// A digest of what is asked: 32 bytes in hexadecimal digits.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub fingerprint: Option<String>,
    /// The JSON text of what is asked, as it came; the server takes the digest of its canonical form. Empty: nothing is asked beside key and scope.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub request: Option<String>,
    /// How long the claim is this attempt's without a renewal, in milliseconds; the server's default if absent.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub lease_ms: Option<i64>,
    /// From this instant on, in milliseconds since 1970, a key that is not known is refused; the same in every retry.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub expires_at: Option<i64>,
    /// What happens if an earlier attempt's lease has ended.
    #[serde(default)]
    pub lapse: LapsePolicy,
}

/// What a registration came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Registration {
    /// The key is the caller's: work may begin.
    Fresh,
    /// The key is the caller's, after somebody whose lease ended and of whose work nothing is known.
    TakenOver,
    /// The key was this very attempt's already: the earlier reply was lost.
    Resumed,
    /// There is an answer: nothing is to be run.
    Replay,
}

/// What was decided about a registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyRegistered {
    /// What it came to.
    pub registration: Registration,
    /// The attempt that has the key; absent in a replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The number of the claim, or of the one that answered. It only rises: what is called by the work can refuse an earlier one.
    pub generation: u64,
    /// When the lease ends unless it is renewed, in milliseconds since 1970; absent in a replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_expires_at: Option<i64>,
    /// Whether an earlier attempt may have begun the work, so that the claim counts as taken over: true with `taken_over`, and with
    /// `resumed` where `rerun` or `ask` was asked for, for the reply that was lost may have said `taken_over`; absent in a replay, which
    /// runs nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_over: Option<bool>,
    /// The answer; in a replay alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<KeptAnswer>,
    /// When it was decided, by the store's clock, in milliseconds since 1970.
    pub at_ms: i64,
    /// The levels that the record has reached.
    pub levels: Vec<Level>,
}

/// One header line of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HeaderLine {
    /// Its name, in small letters when it is repeated.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// An answer. Of `body_text`, `body_base64` and `tombstone_bytes` at most one is there; without any the body is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeptAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The header lines in their order, repeated ones kept; none where the answer is not kept.
    #[serde(default)]
    pub headers: Vec<HeaderLine>,
    /// The body, where it is UTF-8.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub body_text: Option<String>,
    /// The body in base 64 (RFC 4648, section 4, with padding).
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub body_base64: Option<String>,
    /// The answer is not kept, and had so many bytes, 0 if that is not known: the key stays used, and a retry hears `answer_not_kept`.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tombstone_bytes: Option<u64>,
}

/// `POST /v1/keys/complete`: answers a claimed key, for as long as it is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CompleteKey {
    /// The idempotency key.
    pub key: String,
    /// Its scope.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub scope: Option<String>,
    /// The attempt that claimed it.
    pub owner: String,
    /// The claim's generation.
    pub generation: u64,
    /// The answer.
    pub answer: KeptAnswer,
}

/// A key has its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyCompleted {
    /// Whether this owner had answered before: then that answer stands, and this one was not looked at.
    pub kept_before: bool,
    /// The attempt that answered.
    pub owner: String,
    /// The generation that answered.
    pub generation: u64,
    /// When it was decided, by the store's clock, in milliseconds since 1970.
    pub at_ms: i64,
    /// The levels that the record has reached.
    pub levels: Vec<Level>,
}

/// `POST /v1/keys/renew`: moves the end of a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RenewLease {
    /// The idempotency key.
    pub key: String,
    /// Its scope.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub scope: Option<String>,
    /// The attempt that claimed it. An operator need not name it.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub owner: Option<String>,
    /// The claim's generation.
    pub generation: u64,
    /// How long the lease is from now on, in milliseconds; 0 ends it now. The server's default if absent.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub lease_ms: Option<i64>,
}

/// The end of a lease was moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseRenewed {
    /// The attempt that has the key.
    pub owner: String,
    /// The claim's generation.
    pub generation: u64,
    /// When the lease ends unless it is renewed, in milliseconds since 1970.
    pub lease_expires_at: i64,
    /// When it was decided, by the store's clock, in milliseconds since 1970.
    pub at_ms: i64,
    /// The levels that the record has reached.
    pub levels: Vec<Level>,
}

/// `POST /v1/keys/release`: gives a claimed key back, because nothing has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseKey {
    /// The idempotency key.
    pub key: String,
    /// Its scope.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub scope: Option<String>,
    /// The attempt that claimed it. An operator need not name it.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub owner: Option<String>,
    /// The claim's generation.
    pub generation: u64,
}

/// A key is free again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyReleased {
    /// The attempt that had it.
    pub owner: String,
    /// The generation, which stays: the next claim has a higher one.
    pub generation: u64,
    /// When it was decided, by the store's clock, in milliseconds since 1970.
    pub at_ms: i64,
    /// The levels that the record has reached.
    pub levels: Vec<Level>,
}

/// The state of a key that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyState {
    /// Whoever claimed it gave it back: nothing has happened.
    Free,
    /// Somebody works on it, or did when its process ended.
    InProgress,
    /// There is an answer, and it stands.
    Completed,
}

impl KeyState {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

/// `GET /v1/keys/inspect`: what the store keeps of a key. The answer's bytes are only in a replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyRecord {
    /// Whose key it is.
    pub principal: String,
    /// Its scope; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The idempotency key.
    pub key: String,
    /// Its state.
    pub state: KeyState,
    /// Whether somebody's lease is over and nobody has answered, given back or taken over.
    pub is_lapsed: bool,
    /// The attempt that has it, or had it last.
    pub owner: String,
    /// The generation in force.
    pub generation: u64,
    /// When the record was last changed, in milliseconds since 1970.
    pub changed_at: i64,
    /// From when on nothing is known of it, in milliseconds since 1970.
    pub forgotten_at: i64,
    /// When the lease ends or ended, in milliseconds since 1970; where it is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_expires_at: Option<i64>,
    /// The status of the answer; where it is completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How many bytes the answer's body has or had, as far as that is known; where it is completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<u64>,
    /// Whether a replay repeats the answer; where it is completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_kept: Option<bool>,
    /// As of when this is said, in milliseconds since 1970.
    pub at_ms: i64,
}
