//! Every script of this crate.

use crate::script::Script;
use crate::{key_store, shard};

/// Every script, by its name.
#[must_use]
pub fn scripts() -> Vec<&'static Script> {
    let mut scripts: Vec<&Script> = shard::ALL.iter().chain(key_store::ALL).copied().collect();
    scripts.sort_by_key(|script| script.name());
    scripts
}
