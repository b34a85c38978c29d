//! The clock of the limits: it goes on evenly whatever is done to the system's.

use std::time::Instant;

use nevertwice_local::clock::Clock;

/// Milliseconds since it was made.
#[derive(Clone, Copy, Debug)]
pub struct SteadyClock(Instant);

impl Default for SteadyClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SteadyClock {
    fn now_ms(&self) -> i64 {
        i64::try_from(self.0.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}
