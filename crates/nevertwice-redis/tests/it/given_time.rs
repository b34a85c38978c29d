//! A clock that a test sets, and a backend that believes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use nevertwice_redis::clock::Clock;
use nevertwice_redis::{Link, LinkOptions, RedisBackend, RedisOptions};

#[derive(Default)]
pub(crate) struct GivenTime(AtomicI64);

impl GivenTime {
    pub(crate) fn set(&self, at_ms: i64) {
        self.0.store(at_ms, Ordering::Relaxed);
    }
}

impl Clock for GivenTime {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A backend on that server which takes whatever time it is given. Intents stay for an hour longer than they are remembered, so that
/// only the given time says which are.
pub(crate) async fn backend(url: &str, clock: &Arc<GivenTime>) -> RedisBackend {
    let address = url.parse().expect("a server's address");
    let options = RedisOptions { clock_skew_ms_max: i64::MAX, slack_ms: 3_600_000, ..RedisOptions::default() };
    let clock: Arc<dyn Clock> = Arc::<GivenTime>::clone(clock);
    RedisBackend::open(Link::new(address, LinkOptions::default()), clock, options).await.expect("the server can be used")
}
