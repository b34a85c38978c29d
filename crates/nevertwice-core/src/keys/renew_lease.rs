//! Moves the end of a lease.

use crate::keys::decision::is_instant;
use crate::keys::{KeyClaim, KeyDecision, KeyRecord, KeyRejection, KeyState, Lease, OwnerId};
use crate::limits::LEASE_MS_MAX;

/// Moves the end of a lease: on, while its owner works; or to now, when its owner does not know what became of the work. An owner
/// whom nobody replaced may renew after the lease has ended, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenewLease {
    /// Who claimed it.
    pub owner: OwnerId,
    /// The claim's generation.
    pub generation: u64,
    /// How long the lease is from now on: 0 to `LEASE_MS_MAX`, and less than the record's retention.
    pub lease_ms: i64,
}

impl RenewLease {
    /// Decides on a key with that record, or without one.
    #[must_use]
    pub fn decide(&self, record: Option<&KeyRecord>, at_ms: i64) -> KeyDecision<Lease> {
        if !is_instant(at_ms) {
            return KeyDecision::rejected(KeyRejection::InstantOutOfRange);
        }
        if !(0..=LEASE_MS_MAX).contains(&self.lease_ms) {
            return KeyDecision::rejected(KeyRejection::SettingOutOfRange { setting: "lease_ms" });
        }
        let record = match KeyRecord::owned(record, self.owner, self.generation, at_ms) {
            Ok(record) => record,
            Err(rejection) => return KeyDecision::rejected(rejection),
        };
        match &record.state {
            KeyState::Free(_) => KeyDecision::rejected(KeyRejection::KeyReleased),
            KeyState::Completed(_) => KeyDecision::rejected(KeyRejection::KeyCompleted),
            KeyState::InProgress(claim) => {
                let now = record.now(at_ms);
                // Cut, not refused: who claimed the key knew how long it is remembered.
                let expires_at = now.saturating_add(self.lease_ms.min(record.retention_ms.saturating_sub(1)));
                let state = KeyState::InProgress(KeyClaim { lease_expires_at: expires_at, ..claim.clone() });
                let changed = KeyRecord { changed_at: now, state, ..record.clone() };
                KeyDecision::changed(Lease { generation: record.generation, expires_at }, changed)
            }
        }
    }
}
