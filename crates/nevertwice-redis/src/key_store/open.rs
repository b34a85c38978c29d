//! Opens a store of keys: what must be so is looked at before the first call.

use std::fmt;
use std::sync::Arc;

use nevertwice_api::{Level, Levels};
use redis::Value;
use tokio::sync::Mutex;

use super::RedisKeyOptions;
use super::gauges::Gauges;
use super::mark::Mark;
use super::replicas::Replicas;
use super::sweep::Round;
use crate::clock::Clock;
use crate::server_facts::ServerFacts;
use crate::{Address, Link, LinkFailure, Runner, ServerRefusal};

/// How much longer than a record's retention a suite keeps its memory: the server's clock goes on while the suite's stands still.
#[cfg(feature = "given-time")]
const GIVEN_TIME_KEEP_MS: i64 = 60 * 60 * 1_000;

/// A store of keys on a Redis server.
pub struct RedisKeyStore {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) runner: Runner,
    pub(super) options: RedisKeyOptions,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) timing: Timing,
    pub(super) gauges: Gauges,
    pub(super) mark: Mark,
    pub(super) round: Mutex<Round>,
    pub(super) replicas: Replicas,
}

/// The bounds on time that the scripts are called with, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// How far the clock may be from the server's; below zero, no look at it.
    pub(super) skew_ms_max: i64,
    /// How much longer than its retention the server keeps a record's memory.
    pub(super) keep_ms: i64,
    /// How much later than its retention's end a sweep frees it.
    pub(super) sweep_keep_ms: i64,
}

impl RedisKeyStore {
    /// Looks at the server and at what it holds, and leaves the store's mark where there is none.
    ///
    /// # Errors
    ///
    /// If the server can't be reached, or is not as the options need it.
    pub async fn open(address: Address, options: RedisKeyOptions, clock: Arc<dyn Clock>) -> Result<Self, KeyStoreOpenError> {
        // Two clocks may differ from the server's in opposite directions.
        let keep_ms = options.clock_skew_ms_max.saturating_mul(2);
        let timing = Timing { skew_ms_max: options.clock_skew_ms_max, keep_ms, sweep_keep_ms: keep_ms };
        Self::open_timed(address, options, clock, timing).await
    }

    /// A store to whose clock the server's is not compared: a suite's, which goes where it wants.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    #[cfg(feature = "given-time")]
    pub async fn open_with_given_time(
        address: Address,
        options: RedisKeyOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, KeyStoreOpenError> {
        let timing = Timing { skew_ms_max: -1, keep_ms: GIVEN_TIME_KEEP_MS, sweep_keep_ms: 0 };
        Self::open_timed(address, options, clock, timing).await
    }

    async fn open_timed(
        address: Address,
        options: RedisKeyOptions,
        clock: Arc<dyn Clock>,
        timing: Timing,
    ) -> Result<Self, KeyStoreOpenError> {
        if options.clock_skew_ms_max <= 0 || options.clock_skew_ms_max > SKEW_MS_MAX {
            return Err(KeyStoreOpenError::Unfit("the clock's distance from the server's must be between 1 ms and one hour".into()));
        }
        let link = Link::new(address, options.link);
        let facts = ServerFacts::read(&link).await.map_err(KeyStoreOpenError::Link)?.map_err(KeyStoreOpenError::Refused)?;
        if let Some(wrong) = facts.unfit_for(options.level, options.replicas, options.is_fsync_vouched) {
            return Err(KeyStoreOpenError::Unfit(wrong));
        }
        let mark = marked(&link).await?;
        let gauges = Gauges::default();
        let (runner, round, replicas) = (Runner::new(link), Mutex::default(), Replicas::default());
        Ok(Self { inner: Arc::new(Inner { runner, options, clock, timing, gauges, mark, round, replicas }) })
    }

    /// Whether the server was found without what it held. From then on every key is refused.
    #[must_use]
    pub fn is_forgotten(&self) -> bool {
        self.inner.gauges.is_forgotten()
    }

    /// What calls scripts for it, with its counts.
    #[must_use]
    pub fn runner(&self) -> &Runner {
        &self.inner.runner
    }
}

const SKEW_MS_MAX: i64 = 60 * 60 * 1_000;

impl Inner {
    pub(super) fn offers(&self) -> Levels {
        let mut offers = Levels::reached(Level::Decided);
        if self.options.replicas > 0 {
            offers = offers.and(Levels::reached(Level::Replicated));
        }
        if self.options.is_fsync_vouched {
            offers = offers.and(Levels::reached(Level::Journaled));
        }
        offers
    }
}

/// The mark that is there, or a new one.
async fn marked(link: &Link) -> Result<Mark, KeyStoreOpenError> {
    let mut chance = [0; 16];
    getrandom::fill(&mut chance).map_err(|error| KeyStoreOpenError::Unfit(format!("the system gives no random numbers: {error}")))?;
    let replies = link.send(&[Mark::new(chance).put(), Mark::look()]).await.map_err(KeyStoreOpenError::Link)?;
    if let Some(Err(error)) = replies.first() {
        return Err(KeyStoreOpenError::Refused(ServerRefusal::of(error)));
    }
    if matches!(replies.first(), Some(Ok(Value::Okay))) {
        tracing::info!(address = %link.address(), "the server holds no keys yet, or has lost those that it held");
    }
    replies.last().and_then(Mark::found).ok_or_else(|| KeyStoreOpenError::Unfit("the mark of the store could not be read".into()))
}

/// Why a store can't be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyStoreOpenError {
    /// The server does not answer.
    Link(LinkFailure),
    /// It refuses what is asked at the start.
    Refused(ServerRefusal),
    /// It, or a setting, is not as it must be.
    Unfit(String),
}

impl fmt::Display for KeyStoreOpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(failure) => failure.fmt(f),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Unfit(wrong) => f.write_str(wrong),
        }
    }
}

impl std::error::Error for KeyStoreOpenError {}
