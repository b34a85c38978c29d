//! The keys that a running server knows, by their ids.

use std::collections::HashMap;
use std::sync::Arc;

use subtle::ConstantTimeEq as _;

use super::file::KeyRecord;
use super::text::{digest, id_of};
use crate::access::Role;
use crate::access::scope::Scope;

/// All keys of the file.
#[derive(Debug, Default)]
pub(crate) struct Keys(HashMap<Arc<str>, Known>);

/// One of them.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) id: Arc<str>,
    pub(crate) role: Role,
    pub(crate) scope: Scope,
    digest: [u8; 32],
    expires_at: Option<i64>,
    revoked_at: Option<i64>,
}

/// What a presented text is.
#[derive(Debug)]
pub(crate) enum Presented<'a> {
    /// It does not look like a key.
    Other,
    /// It looks like a key, and is none that is known.
    Unknown,
    /// It is this key, whose time is over.
    Expired(&'a Known),
    /// It is this key, which was revoked.
    Revoked(&'a Known),
    /// It is this key.
    Valid(&'a Known),
}

impl Keys {
    pub(crate) fn of(records: Vec<KeyRecord>) -> Self {
        let known = records.into_iter().map(|record| {
            let id = record.id.shared();
            let known = Known {
                id: Arc::clone(&id),
                role: record.role.role(),
                scope: record.shards.as_deref().map_or_else(Scope::default, Scope::only),
                digest: record.digest,
                expires_at: record.expires_at,
                revoked_at: record.revoked_at,
            };
            (id, known)
        });
        Self(known.collect())
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// What was presented, as of an instant. Only the id is looked up; the rest is compared by digests, in constant time.
    pub(crate) fn find(&self, presented: &[u8], now_ms: i64) -> Presented<'_> {
        let Some(id) = id_of(presented) else { return Presented::Other };
        let Some(known) = self.0.get(id) else { return Presented::Unknown };
        if !bool::from(digest(presented).ct_eq(&known.digest)) {
            return Presented::Unknown;
        }
        // A revocation counts from when it is written down: an instant in the future is a slip of a clock, not a plan.
        if known.revoked_at.is_some() {
            return Presented::Revoked(known);
        }
        if known.expires_at.is_some_and(|expires_at| now_ms >= expires_at) {
            return Presented::Expired(known);
        }
        Presented::Valid(known)
    }
}
