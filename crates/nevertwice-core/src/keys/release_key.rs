//! Gives a claimed key back.

use crate::keys::decision::is_instant;
use crate::keys::{KeyDecision, KeyFreedom, KeyRecord, KeyRejection, KeyState, OwnerId};

/// Gives a claimed key back, because nothing has happened. The generation stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseKey {
    /// Who claimed it.
    pub owner: OwnerId,
    /// The claim's generation.
    pub generation: u64,
}

impl ReleaseKey {
    /// Decides on a key with that record, or without one. Released twice by the same owner, it changes nothing more.
    #[must_use]
    pub fn decide(&self, record: Option<&KeyRecord>, at_ms: i64) -> KeyDecision<()> {
        if !is_instant(at_ms) {
            return KeyDecision::rejected(KeyRejection::InstantOutOfRange);
        }
        let record = match KeyRecord::owned(record, self.owner, self.generation, at_ms) {
            Ok(record) => record,
            Err(rejection) => return KeyDecision::rejected(rejection),
        };
        match &record.state {
            KeyState::Free(_) => KeyDecision::unchanged(()),
            KeyState::Completed(_) => KeyDecision::rejected(KeyRejection::KeyCompleted),
            KeyState::InProgress(_) => {
                let state = KeyState::Free(KeyFreedom { owner: self.owner });
                KeyDecision::changed((), KeyRecord { changed_at: record.now(at_ms), state, ..record.clone() })
            }
        }
    }
}
