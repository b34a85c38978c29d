//! Claims a key, or tells what is known of it.

use crate::fields::words;
use crate::keys::decision::is_instant;
use crate::keys::{KeyAnswer, KeyClaim, KeyDecision, KeyRecord, KeyRejection, KeyState, OwnerId};
use crate::limits::{GENERATION_MAX, LEASE_MS_MAX, RETENTION_MS_MAX, RETENTION_MS_MIN};

words! {
    /// What happens to a key whose lease ended without an answer: its process died, or it lost the store.
    pub enum LapsePolicy {
        /// It is told that the outcome is unknown, until the retention is over.
        1 => Refuse = "refuse",
        /// The next caller takes it over and runs it again.
        2 => Rerun = "rerun",
        /// The next caller takes it over and asks what became of it before it runs anything.
        3 => Ask = "ask",
    }
}

/// Claims a key for one attempt, or tells what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterKey {
    /// What is asked.
    pub fingerprint: [u8; 32],
    /// The attempt that would work on it. The same attempt may ask again, when the reply was lost.
    pub owner: OwnerId,
    /// How long the claim is the owner's without a renewal: 0 to `LEASE_MS_MAX`, and less than the
    /// retention: the record has to be there when the lease is over.
    pub lease_ms: i64,
    /// How long the record keeps from its last change on: `RETENTION_MS_MIN` to `RETENTION_MS_MAX`.
    pub retention_ms: i64,
    /// From this instant on a key that is not known is refused.
    pub expires_at: Option<i64>,
    /// What happens if the key's lease has ended.
    pub lapse: LapsePolicy,
}

/// A claim that somebody holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The claim's generation, to be named in every later step.
    pub generation: u64,
    /// When it ends unless it is renewed.
    pub expires_at: i64,
}

/// What a registration came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registration {
    /// The key is the caller's: work may begin.
    Fresh(Lease),
    /// The key is the caller's, after somebody whose lease ended and of whose work nothing is known.
    TakenOver(Lease),
    /// The key was this very attempt's already: the earlier reply was lost.
    Resumed(Lease),
    /// There is an answer.
    Replay {
        /// The generation that answered.
        generation: u64,
        /// The answer.
        answer: KeyAnswer,
    },
}

impl RegisterKey {
    /// Decides on a key with that record, or without one.
    #[must_use]
    pub fn decide(&self, record: Option<&KeyRecord>, at_ms: i64) -> KeyDecision<Registration> {
        if let Err(rejection) = self.check(at_ms) {
            return KeyDecision::rejected(rejection);
        }
        let Some(record) = KeyRecord::remembered(record, at_ms) else {
            return self.claim_unknown(first_generation(at_ms), at_ms);
        };
        let (generation, now) = (record.generation, record.now(at_ms));
        match &record.state {
            KeyState::Free(_) => self.claim_unknown(generation.saturating_add(1), now),
            KeyState::Completed(completion) if completion.fingerprint != self.fingerprint => {
                KeyDecision::rejected(KeyRejection::FingerprintMismatch { generation })
            }
            KeyState::Completed(completion) => {
                KeyDecision::unchanged(Registration::Replay { generation, answer: completion.answer.clone() })
            }
            KeyState::InProgress(claim) if claim.fingerprint != self.fingerprint => {
                KeyDecision::rejected(KeyRejection::FingerprintMismatch { generation })
            }
            KeyState::InProgress(claim) => self.look_at(generation, claim, now),
        }
    }

    /// What is wrong whatever the record says.
    fn check(&self, at_ms: i64) -> Result<(), KeyRejection> {
        let wrong = |setting| Err(KeyRejection::SettingOutOfRange { setting });
        if !is_instant(at_ms) {
            return Err(KeyRejection::InstantOutOfRange);
        }
        if !(RETENTION_MS_MIN..=RETENTION_MS_MAX).contains(&self.retention_ms) {
            return wrong("retention_ms");
        }
        if !(0..=LEASE_MS_MAX).contains(&self.lease_ms) || self.lease_ms >= self.retention_ms {
            return wrong("lease_ms");
        }
        Ok(())
    }

    /// The same thing is asked of a key that somebody has claimed.
    fn look_at(&self, generation: u64, claim: &KeyClaim, now: i64) -> KeyDecision<Registration> {
        let lease_expires_at = claim.lease_expires_at;
        if claim.owner == self.owner {
            return KeyDecision::unchanged(Registration::Resumed(Lease { generation, expires_at: lease_expires_at }));
        }
        if now < lease_expires_at {
            return KeyDecision::rejected(KeyRejection::KeyInProgress { generation, lease_expires_at });
        }
        // Asking runs nothing, so it may come late; running again may not.
        let takes_over = match self.lapse {
            LapsePolicy::Refuse => false,
            LapsePolicy::Rerun => self.expires_at.is_none_or(|expires_at| now < expires_at),
            LapsePolicy::Ask => true,
        };
        if !takes_over {
            return KeyDecision::rejected(KeyRejection::KeyLapsed { generation, lease_expired_at: lease_expires_at });
        }
        self.claim(generation.saturating_add(1), now, Registration::TakenOver)
    }

    /// Nothing has happened with the key: only its own time can speak against it.
    fn claim_unknown(&self, generation: u64, now: i64) -> KeyDecision<Registration> {
        if let Some(expires_at) = self.expires_at {
            if expires_at <= now {
                return KeyDecision::rejected(KeyRejection::IntentExpired { expires_at });
            }
            let expires_at_max = now.saturating_add(self.retention_ms);
            if expires_at > expires_at_max {
                return KeyDecision::rejected(KeyRejection::IntentExpiryTooFar { expires_at_max });
            }
        }
        self.claim(generation, now, Registration::Fresh)
    }

    fn claim(&self, generation: u64, now: i64, reply: fn(Lease) -> Registration) -> KeyDecision<Registration> {
        if generation > GENERATION_MAX {
            return KeyDecision::rejected(KeyRejection::GenerationsExhausted);
        }
        let expires_at = now.saturating_add(self.lease_ms);
        let claim = KeyClaim { fingerprint: self.fingerprint, owner: self.owner, lease_expires_at: expires_at };
        let state = KeyState::InProgress(claim);
        let record = KeyRecord { generation, changed_at: now, retention_ms: self.retention_ms, state };
        KeyDecision::changed(reply(Lease { generation, expires_at }), record)
    }
}

/// The generation of a key of which nothing is known: the instant. An attempt that slept until its record was forgotten would
/// otherwise share its number with a later one, and whoever is fenced by it could not tell the two apart.
fn first_generation(at_ms: i64) -> u64 {
    u64::try_from(at_ms).unwrap_or(0).max(1)
}
