//! A clock that shows what a test says.

use std::sync::atomic::{AtomicI64, Ordering};

use nevertwice_local::clock::Clock;

/// A clock that stands still until a test moves it.
#[derive(Debug, Default)]
pub struct ManualClock {
    now_ms: AtomicI64,
}

impl ManualClock {
    /// A clock that shows that instant.
    #[must_use]
    pub const fn new(now_ms: i64) -> Self {
        Self { now_ms: AtomicI64::new(now_ms) }
    }

    /// Sets it, forwards or backwards.
    pub fn set(&self, now_ms: i64) {
        self.now_ms.store(now_ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::SeqCst)
    }
}
