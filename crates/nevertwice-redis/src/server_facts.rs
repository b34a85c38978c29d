//! What a server says of itself, by `INFO` alone: managed services forbid `CONFIG`.

use std::collections::BTreeMap;

use nevertwice_api::Level;
use redis::Value;

use crate::{Link, LinkFailure, ServerRefusal};

/// The oldest version whose scripts have flags.
const MAJOR_MIN: u32 = 7;

/// What a server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFacts {
    fields: BTreeMap<String, String>,
}

impl ServerFacts {
    /// Asks a server.
    ///
    /// # Errors
    ///
    /// If it does not answer (outside), or refuses (inside).
    pub async fn read(link: &Link) -> Result<Result<Self, ServerRefusal>, LinkFailure> {
        let reply = link.send_one(redis::cmd("INFO")).await?;
        Ok(match reply {
            Ok(Value::BulkString(bytes)) => Ok(Self::of(&String::from_utf8_lossy(&bytes))),
            Ok(Value::VerbatimString { text, .. }) => Ok(Self::of(&text)),
            Ok(_) => Err(ServerRefusal::Failed("it answers INFO by no text".into())),
            Err(error) => Err(ServerRefusal::of(&error)),
        })
    }

    /// The facts in the text of `INFO`.
    #[must_use]
    pub fn of(info: &str) -> Self {
        let fields = info.lines().filter_map(|line| line.trim_end().split_once(':'));
        Self { fields: fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect() }
    }

    /// A field by its name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }

    /// Its version. Valkey says which Redis it is like; its own is told beside it.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.field("valkey_version").or_else(|| self.field("redis_version"))
    }

    /// How many replicas follow it.
    #[must_use]
    pub fn replicas(&self) -> u32 {
        self.field("connected_slaves").and_then(|count| count.parse().ok()).unwrap_or(0)
    }

    /// What is wrong with it, if it shall answer at that level: what it is, what was done, and what to do.
    #[must_use]
    pub fn unfit_for(&self, level: Level, replicas: u32, is_fsync_vouched: bool) -> Option<String> {
        let major = self.version().and_then(|version| version.split('.').next()?.parse::<u32>().ok());
        if major.is_none_or(|major| major < MAJOR_MIN) {
            let shown = self.version().unwrap_or("of no known version");
            return Some(format!("the server is {shown}; scripts need Redis 7 or later, or Valkey"));
        }
        let policy = self.field("maxmemory_policy").unwrap_or("not shown");
        if policy != "noeviction" {
            return Some(format!(
                "the server's maxmemory-policy is {policy}: it would throw keys away, and what was carried out would run again. Set it to noeviction"
            ));
        }
        if self.field("role") == Some("slave") {
            return Some("the server is a replica: name its primary".into());
        }
        if self.field("redis_mode") == Some("cluster") {
            return Some("the server is a node of a cluster, whose other nodes are not asked yet: name a server that stands alone".into());
        }
        match level {
            Level::Replicated if replicas == 0 => Some("`replicated` needs at least one replica to confirm".into()),
            Level::Journaled if !is_fsync_vouched => Some(
                "`journaled` needs an append-only file that is synced before each reply. INFO does not show `appendfsync`: set it to always, and vouch for it"
                    .into(),
            ),
            Level::Journaled if self.field("aof_enabled") != Some("1") => {
                Some("`journaled` needs an append-only file, and the server has none: set `appendonly yes` and `appendfsync always`".into())
            }
            Level::Ledgered => Some("keys have no ledger: `ledgered` is nothing that their store can reach".into()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_refused_by_what_it_says() {
        let good = "redis_version:7.0.15\r\nrole:master\r\nmaxmemory_policy:noeviction\r\nconnected_slaves:1\r\naof_enabled:1\r\n";
        let unfit = |info: &str, level, replicas, vouched| ServerFacts::of(info).unfit_for(level, replicas, vouched);
        for (level, replicas, vouched) in [(Level::Decided, 0, false), (Level::Replicated, 1, false), (Level::Journaled, 0, true)] {
            assert_eq!(unfit(good, level, replicas, vouched), None, "{level}");
        }
        for (info, level, replicas, vouched, told) in [
            (good.replace("7.0", "6.2"), Level::Decided, 0, false, "6.2.15"),
            (good.replace("redis_version", "x"), Level::Decided, 0, false, "no known version"),
            (good.replace("noeviction", "allkeys-lru"), Level::Decided, 0, false, "allkeys-lru"),
            (good.replace("maxmemory_policy", "x"), Level::Decided, 0, false, "not shown"),
            (good.replace("master", "slave"), Level::Decided, 0, false, "replica"),
            (format!("{good}redis_mode:cluster\r\n"), Level::Decided, 0, false, "node of a cluster"),
            (good.to_owned(), Level::Replicated, 0, false, "at least one replica"),
            (good.to_owned(), Level::Journaled, 0, false, "vouch"),
            (good.replace("aof_enabled:1", "aof_enabled:0"), Level::Journaled, 0, true, "append-only"),
            (good.to_owned(), Level::Ledgered, 1, true, "ledger"),
        ] {
            let wrong = unfit(&info, level, replicas, vouched).unwrap_or_else(|| panic!("{told}: it was taken"));
            assert!(wrong.contains(told), "{wrong}");
        }
    }
}
