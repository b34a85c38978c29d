//! How a backend works.

/// The default of [`RedisOptions::clock_skew_ms_max`].
const CLOCK_SKEW_MS_MAX: i64 = 5_000;

/// How a backend works. Every bound has a default.
#[derive(Clone, Debug)]
pub struct RedisOptions {
    /// How far this machine's clock may be from the server's, in milliseconds. What comes with a clock that is further off is refused.
    pub clock_skew_ms_max: i64,
    /// How many commands may wait to be sent.
    pub queue_max: usize,
    /// How many commands one pipeline takes.
    pub group_max: usize,
    /// About how many entries a shard's stream keeps.
    pub entries_max: i64,
    /// How much longer than the retention an intent's memory stays, in milliseconds, beyond what clocks may differ by: it is no part
    /// of any decision.
    #[cfg(feature = "given-time")]
    pub slack_ms: i64,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            clock_skew_ms_max: CLOCK_SKEW_MS_MAX,
            queue_max: 16_384,
            group_max: 256,
            entries_max: 1_000_000,
            #[cfg(feature = "given-time")]
            slack_ms: 0,
        }
    }
}

impl RedisOptions {
    /// How much longer than the retention an intent's memory stays. Whether it is remembered is decided with callers' clocks, which
    /// may differ from the server's either way.
    pub(super) const fn slack_ms(&self) -> i64 {
        let slack_ms = self.clock_skew_ms_max.saturating_mul(2);
        #[cfg(feature = "given-time")]
        if self.slack_ms > 0 {
            return self.slack_ms;
        }
        slack_ms
    }
}
