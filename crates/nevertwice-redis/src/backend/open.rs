//! Looks at a server before anything is decided on it.

use std::fmt;
use std::sync::Arc;

use nevertwice_api::{Failure, Level};

use super::place::{self, Place};
use super::{RedisBackend, RedisOptions};
use crate::clock::Clock;
use crate::server_facts::ServerFacts;
use crate::shard;
use crate::{Link, LinkFailure, Runner, ServerRefusal};

/// Why nothing can be decided on a server. Nothing was changed on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendOpenError {
    /// It does not answer.
    Silent(LinkFailure),
    /// It refuses what is asked of it.
    Refused(ServerRefusal),
    /// It is not as it must be; what is wrong, and what to do.
    Unfit(String),
    /// It could not be adopted.
    NotAdopted(Failure),
}

impl fmt::Display for BackendOpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent(failure) => write!(f, "the Redis server can't be used: {failure}"),
            Self::Refused(refusal) => write!(f, "the Redis server can't be used: {refusal}"),
            Self::Unfit(what) => f.write_str(what),
            Self::NotAdopted(failure) => write!(f, "the Redis server could not be adopted: {failure}"),
        }
    }
}

impl std::error::Error for BackendOpenError {}

impl RedisBackend {
    /// Looks at the server, adopts it, and works until the last handle is dropped. It is called within a Tokio runtime.
    ///
    /// # Errors
    /// If nothing can be decided on the server; the error says what to change.
    pub async fn open(link: Arc<Link>, clock: Arc<dyn Clock>, options: RedisOptions) -> Result<Self, BackendOpenError> {
        let facts = ServerFacts::read(&link).await.map_err(BackendOpenError::Silent)?.map_err(BackendOpenError::Refused)?;
        if let Some(what) = facts.unfit_for(Level::Decided, 0, false) {
            return Err(BackendOpenError::Unfit(what));
        }
        let no_timeline = "INFO of the server does not show master_replid, without which a failover would not be seen";
        let timeline = place::timeline(&facts).ok_or_else(|| BackendOpenError::Unfit(no_timeline.into()))?;
        let runner = Runner::new(link);
        let loaded = runner.load(shard::ALL).await.map_err(BackendOpenError::Silent)?;
        loaded.map_err(|error| BackendOpenError::Refused(ServerRefusal::of(&error)))?;
        let (place, raised) = place::adopt(&runner, timeline).await.map_err(BackendOpenError::NotAdopted)?;
        say(&place, raised);
        Ok(Self::start(runner, clock, options, place))
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
