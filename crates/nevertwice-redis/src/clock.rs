//! The only place of this crate that reads the clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Shows the time that a script is called with.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since 1970.
    fn now_ms(&self) -> i64;
}

/// The clock of the machine. The scripts compare it with the server's and refuse to decide if the two are too far apart.
#[derive(Clone, Copy, Debug, Default)]
pub struct MachineClock;

impl Clock for MachineClock {
    fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
}
