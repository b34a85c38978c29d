//! Answers a claimed key, for as long as it is remembered.

use crate::keys::decision::is_instant;
use crate::keys::{KeyAnswer, KeyCompletion, KeyDecision, KeyRecord, KeyRejection, KeyState, OwnerId};
use crate::limits::{KEY_BODY_BYTES_MAX, KEY_HEAD_BYTES_MAX};

/// Answers a claimed key. An owner whom nobody replaced may do so after its lease has ended, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompleteKey {
    /// Who claimed it.
    pub owner: OwnerId,
    /// The claim's generation.
    pub generation: u64,
    /// The answer.
    pub answer: KeyAnswer,
}

/// What a completion came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// The answer is kept.
    Kept,
    /// This owner had answered before; that answer stands, and this one is not looked at.
    KeptBefore,
}

impl CompleteKey {
    /// Decides on a key with that record, or without one.
    #[must_use]
    pub fn decide(&self, record: Option<&KeyRecord>, at_ms: i64) -> KeyDecision<Completion> {
        if let Err(rejection) = self.check(at_ms) {
            return KeyDecision::rejected(rejection);
        }
        let record = match KeyRecord::owned(record, self.owner, self.generation, at_ms) {
            Ok(record) => record,
            Err(rejection) => return KeyDecision::rejected(rejection),
        };
        match &record.state {
            KeyState::Free(_) => KeyDecision::rejected(KeyRejection::KeyReleased),
            KeyState::Completed(_) => KeyDecision::unchanged(Completion::KeptBefore),
            KeyState::InProgress(claim) => {
                let completion = KeyCompletion { fingerprint: claim.fingerprint, owner: self.owner, answer: self.answer.clone() };
                let changed = KeyRecord { changed_at: record.now(at_ms), state: KeyState::Completed(completion), ..record.clone() };
                KeyDecision::changed(Completion::Kept, changed)
            }
        }
    }

    fn check(&self, at_ms: i64) -> Result<(), KeyRejection> {
        if !is_instant(at_ms) {
            return Err(KeyRejection::InstantOutOfRange);
        }
        let wrong = |setting| Err(KeyRejection::SettingOutOfRange { setting });
        if !(100..=599).contains(&self.answer.status) {
            return wrong("status");
        }
        if self.answer.head_bytes > KEY_HEAD_BYTES_MAX {
            return wrong("head_bytes");
        }
        if self.answer.body_bytes > KEY_BODY_BYTES_MAX {
            return wrong("body_bytes");
        }
        Ok(())
    }
}

impl KeyRecord {
    /// The record, if it is that owner's in that generation, whatever its state.
    pub(super) fn owned(record: Option<&Self>, owner: OwnerId, generation: u64, at_ms: i64) -> Result<&Self, KeyRejection> {
        let record = Self::remembered(record, at_ms).ok_or(KeyRejection::UnknownKey)?;
        let its_owner = match &record.state {
            KeyState::Free(freedom) => freedom.owner,
            KeyState::InProgress(claim) => claim.owner,
            KeyState::Completed(completion) => completion.owner,
        };
        if its_owner == owner && record.generation == generation {
            Ok(record)
        } else {
            Err(KeyRejection::StaleOwner { generation: record.generation })
        }
    }
}
