//! Stores on real servers, with clocks that tests set.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use nevertwice_redis::clock::Clock;

/// A clock that stands still until a test moves it.
#[derive(Debug, Default)]
pub(crate) struct SetClock(AtomicI64);

impl SetClock {
    pub(crate) fn at(now_ms: i64) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(now_ms)))
    }

    pub(crate) fn set(&self, now_ms: i64) {
        self.0.store(now_ms, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}
