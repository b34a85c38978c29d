//! What a run of load measured.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::Answer;

/// The longest time that is told apart; longer ones count as this.
const LATENCY_US_MAX: u64 = 120_000_000;

/// Latencies in microseconds, told apart to three digits.
#[derive(Debug, Clone)]
pub struct Latency {
    histogram: Histogram<u64>,
}

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}

impl Latency {
    /// Nothing yet.
    pub fn new() -> Self {
        // The bounds are constants that the library accepts; its error cannot happen.
        let histogram = Histogram::new_with_bounds(1, LATENCY_US_MAX, 3).expect("valid constant bounds");
        Self { histogram }
    }

    /// Takes one latency in.
    pub fn record(&mut self, latency: Duration) {
        let us = u64::try_from(latency.as_micros()).unwrap_or(LATENCY_US_MAX);
        self.histogram.saturating_record(us);
    }

    /// Takes another's latencies in.
    pub fn add(&mut self, other: &Self) {
        // Both have the same bounds, so nothing can be out of range.
        let _never_out_of_range = self.histogram.add(&other.histogram);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The latency in microseconds that `percent` per cent do not exceed.
    pub fn percentile_us(&self, percent: f64) -> u64 {
        self.histogram.value_at_percentile(percent)
    }

    /// The longest one, in microseconds.
    pub fn max_us(&self) -> u64 {
        self.histogram.max()
    }

    /// How many lie in `low..high` microseconds.
    pub fn count_between_us(&self, low: u64, high: u64) -> u64 {
        if high <= low { 0 } else { self.histogram.count_between(low, high - 1) }
    }
}

/// What a run measured.
#[derive(Debug, Clone)]
pub struct Measured {
    /// From the first request counted to the last one done.
    pub took: Duration,
    /// Latencies of all requests that got a whole reply, whatever its status.
    pub latency: Latency,
    /// Replies by status.
    pub by_status: BTreeMap<u16, u64>,
    /// Requests without a whole reply.
    pub broken: u64,
    /// Requests that were due but not begun when the run ended (open loop only): the server or the generator fell behind.
    pub unsent: u64,
}

impl Default for Measured {
    fn default() -> Self {
        Self { took: Duration::ZERO, latency: Latency::new(), by_status: BTreeMap::new(), broken: 0, unsent: 0 }
    }
}

impl Measured {
    /// Takes one request in.
    pub fn record(&mut self, answer: Answer, latency: Duration) {
        match answer {
            Answer::Status(status) => {
                self.latency.record(latency);
                *self.by_status.entry(status).or_default() += 1;
            }
            Answer::Broken => self.broken += 1,
        }
    }

    /// Takes another worker's requests in; `took` becomes the longer of both.
    pub fn add(&mut self, other: &Self) {
        self.took = self.took.max(other.took);
        self.latency.add(&other.latency);
        for (status, count) in &other.by_status {
            *self.by_status.entry(*status).or_default() += count;
        }
        self.broken += other.broken;
        self.unsent += other.unsent;
    }

    /// Replies a second.
    pub fn per_second(&self) -> f64 {
        let seconds = self.took.as_secs_f64();
        if seconds > 0.0 { self.latency.count() as f64 / seconds } else { 0.0 }
    }

    /// Replies whose status is not one of success, and requests without a reply.
    pub fn failed(&self) -> u64 {
        let refused: u64 = self.by_status.iter().filter(|(status, _)| !(200..300).contains(*status)).map(|(_, count)| count).sum();
        refused + self.broken
    }
}
