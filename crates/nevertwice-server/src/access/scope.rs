//! Which shards a credential is for.

use std::sync::Arc;

use nevertwice_core::{Name, ShardId};

/// The most shards that one key names.
pub(crate) const SHARDS_MAX: usize = 1_000;

/// All shards, or some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scope(Option<Arc<[ShardId]>>);

impl Scope {
    /// Only these; sorted, so that looking one up stays cheap.
    pub(crate) fn only(shards: &[ShardId]) -> Self {
        let mut shards = shards.to_vec();
        shards.sort_unstable();
        Self(Some(shards.into()))
    }

    /// Whether it is for that shard. A route that names none is about all of them.
    pub(crate) fn has(&self, shard: Option<&ShardId>) -> bool {
        match (&self.0, shard) {
            (None, _) => true,
            (Some(shards), Some(shard)) => shards.binary_search(shard).is_ok(),
            (Some(_), None) => false,
        }
    }
}

/// The shard that is written `market/NAME` or `sale/NAME`.
#[must_use]
pub fn shard_of(text: &str) -> Option<ShardId> {
    let (kind, name) = text.split_once('/')?;
    let name = Name::new(name).ok()?;
    match kind {
        "market" => Some(ShardId::market(name)),
        "sale" => Some(ShardId::sale(name)),
        _ => None,
    }
}
