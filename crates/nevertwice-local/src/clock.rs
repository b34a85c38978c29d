//! The only place of this crate that reads the clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Where the time of a decision comes from.
///
/// A clock may step backwards (an operator, a virtual machine that was suspended): who uses it keeps the largest
/// instant seen, since a shard's time never runs backwards.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    fn now_ms(&self) -> i64;
}

/// The clock of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            // Before 1970: not a time that any decision is made at.
            Err(_) => 0,
        }
    }
}

/// Measures how long something takes, for reports only: no decision depends on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    pub(crate) fn took(self) -> Duration {
        self.0.elapsed()
    }
}
