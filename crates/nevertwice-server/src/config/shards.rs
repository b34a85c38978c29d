//! Shards, as they are written in a setting.

use std::str::FromStr;

use nevertwice_core::ShardId;
use serde::Deserialize;

use crate::access::{SHARDS_MAX, Scope, shard_of};

/// Shards, separated by commas: `market/wc, sale/final`. None: all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Shards(Vec<ShardId>);

impl Shards {
    /// Whether all shards are meant.
    #[must_use]
    pub const fn are_all(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn scope(&self) -> Scope {
        if self.are_all() { Scope::default() } else { Scope::only(&self.0) }
    }
}

impl FromStr for Shards {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let shard = |name: &str| shard_of(name).ok_or_else(|| format!("`{}` is not written market/NAME or sale/NAME", name.escape_debug()));
        let shards: Vec<ShardId> = names.map(shard).collect::<Result<_, _>>()?;
        // What was written means something: commas alone are a slip, and must not open everything.
        if shards.is_empty() && !text.is_empty() {
            return Err("shards are written market/NAME or sale/NAME, separated by commas; leave the setting out for all".to_owned());
        }
        if shards.len() > SHARDS_MAX {
            return Err(format!("{} shards are more than {SHARDS_MAX}", shards.len()));
        }
        Ok(Self(shards))
    }
}

impl TryFrom<String> for Shards {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}
