//! What every store of keys promises.

use std::fmt;

use bytes::Bytes;
use nevertwice_core::keys::{
    BodyKept, CompleteKey, Completion, KeyAnswer, KeyId, KeyRecord, KeyRejection, Lease, OwnerId, RegisterKey, Registration, ReleaseKey,
    RenewLease,
};
use sha2::{Digest as _, Sha256};

use crate::{BoxFuture, ErrorCode, Levels, PrincipalMark};

/// The bytes of an answer: what a store keeps beside the record. Of a tombstone both are empty.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AnswerBytes {
    /// The header lines, as [`encode_lines`](crate::encoding::encode_lines) writes them.
    pub head: Bytes,
    /// The body.
    pub body: Bytes,
}

impl AnswerBytes {
    /// What the core knows of an answer with these bytes, kept whole.
    #[must_use]
    pub fn describe(&self, status: u16) -> KeyAnswer {
        KeyAnswer {
            status: status.into(),
            head_bytes: u32::try_from(self.head.len()).unwrap_or(u32::MAX),
            head_digest: Sha256::digest(&self.head).into(),
            body_bytes: self.body.len() as u64,
            body_digest: Sha256::digest(&self.body).into(),
            body: BodyKept::Whole,
        }
    }

    /// What the core knows of an answer whose bytes are not kept.
    #[must_use]
    pub fn tombstone(status: u16, body_bytes: u64) -> KeyAnswer {
        KeyAnswer {
            status: status.into(),
            head_bytes: 0,
            head_digest: [0; 32],
            body_bytes,
            body_digest: [0; 32],
            body: BodyKept::Tombstone,
        }
    }

    /// Whether there are as many bytes as the answer says. Of what a store replays that is enough: it has held the bytes to their digests
    /// when it took them, and again when it read them from outside its memory.
    #[must_use]
    pub fn are_as_long_as(&self, answer: &KeyAnswer) -> bool {
        let (head, body) = (self.head.len() as u64, self.body.len() as u64);
        match answer.body {
            BodyKept::Tombstone => head == 0 && body == 0,
            BodyKept::Whole => head == u64::from(answer.head_bytes) && body == answer.body_bytes,
        }
    }

    /// Whether these are the bytes of that answer: as many as it says, with its digests; none, of a tombstone.
    #[must_use]
    pub fn fit(&self, answer: &KeyAnswer) -> bool {
        match answer.body {
            BodyKept::Tombstone => self.head.is_empty() && self.body.is_empty(),
            BodyKept::Whole => {
                let status = u16::try_from(answer.status).unwrap_or(0);
                self.describe(status) == *answer
            }
        }
    }
}

/// A claim that an attempt holds: what it names in every later step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldKey {
    /// The record.
    pub id: KeyId,
    /// The attempt.
    pub owner: OwnerId,
    /// The claim's generation.
    pub generation: u64,
}

/// What a store says to a command, once it is safe to say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyReply<R> {
    /// What the core decided.
    pub reply: Result<R, KeyRejection>,
    /// The instant at which it was decided, by the store's clock: what is left of a lease is counted from it.
    pub at_ms: i64,
    /// Which levels the record that was looked at, or made, has reached.
    pub levels: Levels,
}

/// What a registration came to, with the bytes of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// What the core decided.
    pub registration: Registration,
    /// The bytes of the answer that is replayed; empty otherwise, and of a tombstone.
    pub bytes: AnswerBytes,
}

/// Why a store has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyStoreFailure {
    /// It can't be reached, or can't write. Nothing was done by this attempt.
    Unavailable,
    /// The reply was lost or came too late: the same command by the same owner tells.
    OutcomeUnknown,
    /// It holds as many records or bytes as it may, and frees none that are still remembered. Nothing was done.
    Full,
    /// The principal holds as many records or bytes as one may. Nothing was done.
    PrincipalFull,
    /// The answer has more bytes than it keeps, or others than the command says. Nothing was done.
    BytesRefused,
    /// It does not offer one of the levels. Nothing was done.
    LevelUnavailable,
    /// A newer version wrote the record. Nothing was done.
    TooNew,
}

impl KeyStoreFailure {
    /// The code that the API shows.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Unavailable | Self::TooNew => ErrorCode::KeyStoreUnavailable,
            Self::OutcomeUnknown => ErrorCode::OutcomeUnknown,
            Self::Full | Self::PrincipalFull => ErrorCode::KeysFull,
            Self::BytesRefused => ErrorCode::AnswerNotKept,
            Self::LevelUnavailable => ErrorCode::LevelUnavailable,
        }
    }
}

impl fmt::Display for KeyStoreFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooNew => "a newer version wrote the record of the key",
            Self::PrincipalFull => "the principal holds as many keys as one may",
            other => other.code().title(),
        })
    }
}

impl std::error::Error for KeyStoreFailure {}

/// How full a store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct KeyStoreStatus {
    /// Records that it holds, those that count as absent and are not yet purged included.
    pub records: u64,
    /// The most that it holds.
    pub records_max: u64,
    /// Bytes of answers that it holds.
    pub answer_bytes: u64,
    /// The most that it holds.
    pub answer_bytes_max: u64,
    /// Claims whose lease is over, as of the last sweep.
    pub lapsed: u64,
}

/// What a sweep found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Swept {
    /// Records that it looked at.
    pub seen: usize,
    /// Records that it freed, because their retention was over.
    pub freed: usize,
}

/// A place that keeps keys: one atomic step a command, decided by the core's transition functions and by nothing else.
///
/// A command stands when its reply comes, and dropping the future loses the reply and changes nothing else: what was asked for may
/// have happened. Every command may be sent again by the same owner. Whether a record is remembered or a lease lapsed is decided by
/// comparing instants, with the store's own clock; sweeping only frees memory. A store sees a [`KeyId`], never a key.
pub trait KeyStore: Send + Sync + 'static {
    /// What it is, for people and metrics: `memory`, `local`, `redis`.
    fn name(&self) -> &'static str;

    /// The levels that it can reach: of `decided`, `replicated` and `journaled`.
    fn offers(&self) -> Levels;

    /// Whether records outlive the process. If so, the secret under which keys are named must outlive it as well.
    fn outlives_process(&self) -> bool;

    /// The most bytes of one answer, head and body together, that it keeps.
    fn answer_bytes_max(&self) -> u64;

    /// Claims a key for an attempt, or tells what is known of it. The bytes of a replay are those that were kept: a store that reads
    /// them from outside its memory holds them to their digests.
    fn register(
        &self,
        id: KeyId,
        command: RegisterKey,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Registered>, KeyStoreFailure>>;

    /// Claims a key as [`register`](Self::register) does, and counts a record that is made for it against the bound of that principal. A
    /// store that bounds none takes it as any other claim.
    fn register_for(
        &self,
        _principal: PrincipalMark,
        id: KeyId,
        command: RegisterKey,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Registered>, KeyStoreFailure>> {
        self.register(id, command, levels)
    }

    /// Answers a claimed key and keeps the bytes, which must fit the answer.
    fn complete(
        &self,
        id: KeyId,
        command: CompleteKey,
        bytes: AnswerBytes,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Completion>, KeyStoreFailure>>;

    /// Moves the end of a lease.
    fn renew(&self, id: KeyId, command: RenewLease) -> BoxFuture<'static, Result<KeyReply<Lease>, KeyStoreFailure>>;

    /// Gives a claimed key back.
    fn release(&self, id: KeyId, command: ReleaseKey, levels: Levels) -> BoxFuture<'static, Result<KeyReply<()>, KeyStoreFailure>>;

    /// The record of a key, if it is remembered.
    fn inspect(&self, id: KeyId) -> BoxFuture<'static, Result<Option<KeyRecord>, KeyStoreFailure>>;

    /// Looks at no more than `records_max` records, goes on where the last sweep ended, and frees those whose retention is over.
    fn sweep(&self, records_max: usize) -> BoxFuture<'static, Result<Swept, KeyStoreFailure>>;

    /// How full it is.
    fn status(&self) -> KeyStoreStatus;
}
