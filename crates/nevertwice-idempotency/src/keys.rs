//! What all guarded routes of a process share: the store, the secrets, the routes.

use std::fmt;
use std::hash::Hasher as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nevertwice_api::{BoxFuture, ErrorCode, KeyStore, KeyStoreFailure, Levels, PrincipalMark};
use nevertwice_core::keys::OwnerId;
use siphasher::sip::SipHasher24;
use tokio::time::Instant;

use crate::breaker::Breaker;
use crate::flights::Flights;
use crate::heartbeat::Heartbeats;
use crate::timers::Timers;
use crate::{Caller, CallerExtension, Clock, Identify, KeyObserver, MachineClock, NoKeyObserver, Routes, Secrets};

/// How patient the layer is with its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLimits {
    /// How long one operation may take before its reply counts as lost, in milliseconds.
    pub operation_ms: u64,
    /// Failures in a row after which the store is left alone.
    pub failures_max: u32,
    /// For how long it is left alone, but for one question, in milliseconds.
    pub rest_ms: u64,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self { operation_ms: 2_000, failures_max: 5, rest_ms: 5_000 }
    }
}

/// Why guards can't be set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeysError {
    /// A route's policy is nonsense.
    Policy {
        /// Its pattern.
        pattern: String,
        /// What is wrong.
        what: &'static str,
    },
    /// The store outlives the process, and the secret does not.
    SecretMissing,
    /// A route asks for a level that the store does not reach.
    LevelUnavailable {
        /// Its pattern.
        pattern: String,
    },
    /// The system gives no random numbers.
    NoRandomNumbers,
}

impl fmt::Display for KeysError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy { pattern, what } => write!(f, "the policy of {pattern} can't be used: {what}"),
            Self::SecretMissing => {
                f.write_str("the store outlives this process, so keys need a secret that does, too: give one, the same in every process")
            }
            Self::LevelUnavailable { pattern } => write!(f, "the store does not reach a level that {pattern} asks for"),
            Self::NoRandomNumbers => f.write_str("the system gives no random numbers"),
        }
    }
}

impl std::error::Error for KeysError {}

/// What all guarded routes of a process share. [`KeysLayer`](crate::KeysLayer) puts it around handlers.
#[derive(Clone)]
pub struct Keys {
    pub(crate) store: Arc<dyn KeyStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) secrets: Secrets,
    pub(crate) routes: Arc<Routes>,
    pub(crate) identity: Arc<dyn Identify>,
    pub(crate) observer: Arc<dyn KeyObserver>,
    pub(crate) breaker: Arc<Breaker>,
    operation_time: Duration,
    is_observed: bool,
    /// For operations of the store.
    store_timers: Arc<Timers>,
    /// For requests that are being read.
    pub(crate) request_timers: Arc<Timers>,
    pub(crate) flights: Flights,
    pub(crate) heartbeats: Arc<Heartbeats>,
    instance: [u8; 32],
    /// With which callers are marked.
    marks: (u64, u64),
    attempts: Arc<AtomicU64>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("store", &self.store.name()).field("routes", &self.routes).finish_non_exhaustive()
    }
}

impl Keys {
    /// Guards these routes. Without secrets one is drawn, which only a store that ends with the process allows.
    ///
    /// # Errors
    /// If a policy is nonsense, a level is not offered, or the secret is missing.
    pub fn new(store: Arc<dyn KeyStore>, secrets: Option<Secrets>, routes: Routes) -> Result<Self, KeysError> {
        check_policies(&routes, store.offers())?;
        if secrets.is_none() && store.outlives_process() {
            return Err(KeysError::SecretMissing);
        }
        let secrets = match secrets {
            Some(secrets) => secrets,
            None => Secrets::new(random()?),
        };
        let marks = secrets.principal_seed();
        Ok(Self {
            store,
            clock: Arc::new(MachineClock),
            secrets,
            routes: Arc::new(routes),
            identity: Arc::new(CallerExtension),
            observer: Arc::new(NoKeyObserver),
            breaker: Arc::new(Breaker::new(&StoreLimits::default())),
            operation_time: Duration::from_millis(StoreLimits::default().operation_ms),
            is_observed: false,
            store_timers: Arc::default(),
            request_timers: Arc::default(),
            flights: Flights::default(),
            heartbeats: Arc::default(),
            instance: random()?,
            marks,
            attempts: Arc::default(),
        })
    }

    /// Finds callers in another way than by the [`Caller`](crate::Caller) in the request's extensions.
    #[must_use]
    pub fn with_identity(self, identity: impl Identify) -> Self {
        Self { identity: Arc::new(identity), ..self }
    }

    /// Tells what happens.
    #[must_use]
    pub fn with_observer(self, observer: Arc<dyn KeyObserver>) -> Self {
        Self { observer, is_observed: true, ..self }
    }

    /// Takes the time from another clock than the machine's: it judges the age of keys that carry their time.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// Is more or less patient with the store.
    #[must_use]
    pub fn with_store_limits(self, limits: StoreLimits) -> Self {
        let operation_time = Duration::from_millis(limits.operation_ms);
        Self { breaker: Arc::new(Breaker::new(&limits)), operation_time, ..self }
    }

    /// What is allowed and yet worth a warning at start, in words.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for route in &self.routes.0 {
            let (pattern, policy) = (&route.pattern, &route.policy);
            if let Some(budget_ms) = policy.retry_budget_ms.filter(|budget_ms| policy.lease_ms > *budget_ms) {
                let lease_ms = policy.lease_ms;
                warnings.push(format!("{pattern}: the lease of {lease_ms} ms is longer than the {budget_ms} ms for which clients retry"));
            }
            if policy.kept_bytes_max() as u64 > self.store.answer_bytes_max() {
                warnings.push(format!("{pattern}: it keeps larger answers than the store; those become tombstones"));
            }
        }
        warnings
    }

    /// Against whose bound a record counts: the tenant's, where there is one, else the principal's.
    pub(crate) fn principal(&self, caller: &Caller) -> PrincipalMark {
        let mut hasher = SipHasher24::new_with_keys(self.marks.0, self.marks.1);
        if caller.tenant.is_empty() {
            hasher.write(b"principal ");
            hasher.write(caller.principal.as_bytes());
        } else {
            hasher.write(b"tenant ");
            hasher.write(caller.tenant.as_bytes());
        }
        PrincipalMark::of(hasher.finish())
    }

    /// A new attempt: the instance, which nobody else is, and its number.
    pub(crate) fn attempt(&self) -> OwnerId {
        let mut owner = self.instance;
        if let Some(number) = owner.last_chunk_mut() {
            *number = self.attempts.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        }
        OwnerId(owner)
    }

    /// One operation of the store, within its time, by the breaker's leave: a store may act as soon as it is called.
    pub(crate) async fn ask<T>(
        &self,
        operation: &'static str,
        asked: impl FnOnce() -> BoxFuture<'static, Result<T, KeyStoreFailure>>,
    ) -> Result<T, KeyStoreFailure> {
        if !self.breaker.lets_through() {
            return Err(KeyStoreFailure::Unavailable);
        }
        // What nobody hears of is not measured.
        let start = self.is_observed.then(Instant::now);
        let answer = self.store_timers.within(self.operation_time, asked()).await.unwrap_or(Err(KeyStoreFailure::OutcomeUnknown));
        let is_down = matches!(answer, Err(KeyStoreFailure::Unavailable | KeyStoreFailure::OutcomeUnknown));
        self.breaker.note(!is_down);
        if let Some(start) = start {
            self.observer.stored(operation, start.elapsed(), !is_down);
        }
        answer
    }
}

/// Whether the routes can be guarded with a store of these levels.
pub(crate) fn check_policies(routes: &Routes, offers: Levels) -> Result<(), KeysError> {
    for route in &routes.0 {
        if let Some(what) = route.policy.fault() {
            return Err(KeysError::Policy { pattern: route.pattern.clone(), what });
        }
        if !offers.contains_all(route.policy.levels) {
            return Err(KeysError::LevelUnavailable { pattern: route.pattern.clone() });
        }
    }
    Ok(())
}

fn random() -> Result<[u8; 32], KeysError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| KeysError::NoRandomNumbers)?;
    Ok(bytes)
}

/// The code of a store's failure, for a caller whose request did not run.
pub(crate) fn code_of(failure: &KeyStoreFailure) -> ErrorCode {
    match failure {
        KeyStoreFailure::Full | KeyStoreFailure::PrincipalFull => ErrorCode::KeysFull,
        _ => ErrorCode::KeyStoreUnavailable,
    }
}
