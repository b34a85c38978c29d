//! Looks at a server before anything is decided on it.

use std::fmt;
use std::sync::Arc;

use nevertwice_api::Failure;

use super::info::Info;
use super::place::{self, Place};
use super::{RedisBackend, RedisOptions};
use crate::clock::Clock;
use crate::{Link, Runner};

/// The oldest version of Redis, and of those that count as it does, whose scripts can declare what they touch.
const VERSION_MIN: u32 = 7;

/// Why a server can't be decided on. Nothing was changed on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// It can't be reached or does not answer.
    Unusable(Failure),
    /// It is too old.
    TooOld {
        /// Its version.
        version: String,
    },
    /// It is a replica.
    Replica,
    /// It evicts what is remembered when its memory is full.
    Evicts {
        /// Its `maxmemory-policy`.
        policy: String,
    },
    /// It does not tell which timeline it is on.
    NoTimeline,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable(failure) => write!(f, "the Redis server can't be used: {failure}"),
            Self::TooOld { version } => {
                write!(f, "the Redis server has version {version}; {VERSION_MIN}.0 or newer, or Valkey, is needed")
            }
            Self::Replica => f.write_str("the Redis server is a replica; name its primary"),
            Self::Evicts { policy } => write!(
                f,
                "the Redis server's maxmemory-policy is {policy}, under which it forgets keys that must be remembered; set it to noeviction"
            ),
            Self::NoTimeline => f.write_str("the Redis server's INFO has no master_replid, without which a failover would not be seen"),
        }
    }
}

impl std::error::Error for OpenError {}

impl RedisBackend {
    /// Looks at the server, adopts it, and works until the last handle is dropped. It is called within a Tokio runtime.
    ///
    /// # Errors
    /// If the server can't be decided on; the error says what to change.
    pub async fn open(link: Arc<Link>, clock: Arc<dyn Clock>, options: RedisOptions) -> Result<Self, OpenError> {
        let runner = Runner::new(link);
        let info = place::info(&runner, None).await.map_err(OpenError::Unusable)?;
        check(&info)?;
        let timeline = info.timeline().ok_or(OpenError::NoTimeline)?;
        let (place, raised) = place::adopt(&runner, timeline).await.map_err(OpenError::Unusable)?;
        say(&place, raised);
        Ok(Self::start(runner, clock, options, place))
    }
}

fn check(info: &Info) -> Result<(), OpenError> {
    let version = info.get("valkey_version").or_else(|| info.get("redis_version")).unwrap_or("unknown");
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok()).unwrap_or(0);
    if major < VERSION_MIN {
        return Err(OpenError::TooOld { version: version.to_owned() });
    }
    if !info.is_primary() {
        return Err(OpenError::Replica);
    }
    // Without a limit nothing is evicted, whatever the policy.
    let is_limited = info.get("maxmemory").is_some_and(|bytes| bytes != "0");
    match info.get("maxmemory_policy") {
        Some(policy) if is_limited && policy != "noeviction" => Err(OpenError::Evicts { policy: policy.to_owned() }),
        _ => Ok(()),
    }
}

fn say(place: &Place, raised: bool) {
    if raised {
        tracing::warn!(
            epoch = place.epoch,
            "the Redis server is on a timeline that it was not on before: a new epoch begins. Without a ledger nobody can tell whether \
             entries that were acknowledged are missing"
        );
    } else {
        tracing::info!(epoch = place.epoch, "the Redis server is adopted");
    }
}
