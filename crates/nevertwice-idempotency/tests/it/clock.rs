//! A clock that shows what a test says.

use std::sync::atomic::{AtomicI64, Ordering};

use nevertwice_idempotency::Clock;

/// When every test begins.
pub(crate) const T0: i64 = 1_790_000_000_000;

/// A clock that goes with tokio's, which a test can pause.
pub(crate) struct PausedClock(tokio::time::Instant);

impl PausedClock {
    pub(crate) fn new() -> Self {
        Self(tokio::time::Instant::now())
    }
}

impl Clock for PausedClock {
    fn now_ms(&self) -> i64 {
        T0 + i64::try_from(self.0.elapsed().as_millis()).expect("tests are short")
    }
}

/// A clock that stands still until a test moves it.
#[derive(Default)]
pub(crate) struct SetClock(AtomicI64);

impl SetClock {
    pub(crate) fn set(&self, now_ms: i64) {
        self.0.store(now_ms, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}
