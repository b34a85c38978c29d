//! What all clients of a run share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::Options;
use crate::http::{Client, Target};

/// How long an intent may live: the same in every retry, and within any retention.
const INTENT_LIFE_MS: u64 = 600_000;

pub(super) struct Shared {
    pub(super) target: Target,
    pub(super) authorization: Option<String>,
    pub(super) time_limit: Duration,
    pub(super) patience: Duration,
    pub(super) began: Instant,
    pub(super) expires_at: u64,
    /// Orders and arrivals that are over.
    pub(super) done: AtomicU64,
    /// Orders that are over.
    pub(super) orders_done: AtomicU64,
    /// Candidates whose visit is over.
    pub(super) arrivals_done: AtomicU64,
    /// Requests that are sent and not answered.
    pub(super) under_way: AtomicU64,
    /// When any reply came last, in microseconds since the run began.
    pub(super) replied_at_us: AtomicU64,
    /// Nobody goes on: the run has failed.
    pub(super) given_up: AtomicBool,
}

impl Shared {
    pub(super) fn new(options: &Options, target: Target) -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_ms = u64::try_from(since_1970.as_millis()).unwrap_or(0);
        Self {
            target,
            authorization: options.authorization.clone(),
            time_limit: options.time_limit,
            patience: options.patience,
            began: Instant::now(),
            expires_at: now_ms + INTENT_LIFE_MS,
            done: AtomicU64::new(0),
            orders_done: AtomicU64::new(0),
            arrivals_done: AtomicU64::new(0),
            under_way: AtomicU64::new(0),
            replied_at_us: AtomicU64::new(0),
            given_up: AtomicBool::new(false),
        }
    }

    pub(super) fn client(&self) -> Client {
        Client::new(self.target.clone(), self.time_limit)
    }

    /// Microseconds since the run began.
    pub(super) fn now_us(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Whether nobody has got any reply for as long as the run is patient.
    pub(super) fn is_silent(&self) -> bool {
        let since_us = self.now_us().saturating_sub(self.replied_at_us.load(Ordering::Relaxed));
        u128::from(since_us) > self.patience.as_micros()
    }

    pub(super) fn order_is_over(&self) {
        self.orders_done.fetch_add(1, Ordering::Relaxed);
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn visit_is_over(&self) {
        self.arrivals_done.fetch_add(1, Ordering::Relaxed);
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}
