//! Time and chance, as far as the client needs them. Tests put others in their place, so none of them waits.

use std::future::Future;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What tells the time, and waits.
pub trait Clock: Send {
    /// Milliseconds since 1970. An intent's expiry is compared with it.
    fn now_ms(&self) -> u64;
    /// Milliseconds since some instant, never turned back. Deadlines are measured by it.
    fn elapsed_ms(&self) -> u64;
    /// Waits.
    fn sleep(&mut self, wait_ms: u64) -> impl Future<Output = ()> + Send;
}

/// The clock of this machine.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    since: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { since: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    async fn sleep(&mut self, wait_ms: u64) {
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
    }
}

/// Fills a slice with random bytes; false if there are none.
pub type Chance = Box<dyn FnMut(&mut [u8]) -> bool + Send>;

/// The random bytes of the operating system.
#[must_use]
pub fn system_chance() -> Chance {
    Box::new(|bytes| getrandom::fill(bytes).is_ok())
}
