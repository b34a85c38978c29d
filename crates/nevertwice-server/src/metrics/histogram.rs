//! A histogram of atomics: observing takes no lock.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use prometheus_client::encoding::{MetricEncoder, NoLabelSet};

/// Counts by bucket. Observed values are whole numbers; `scale` makes the unit of the metric of them.
pub(super) struct Histogram<const N: usize> {
    bounds: &'static [u64; N],
    scale: f64,
    buckets: [AtomicU64; N],
    beyond: AtomicU64,
    sum: AtomicU64,
}

/// Bounds for what takes time, in nanoseconds: 50 microseconds to 10 seconds.
const TIME: [u64; 17] = [
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// Bounds for what takes next to no time, in nanoseconds: 1 microsecond to 100 milliseconds.
const SHORT_TIME: [u64; 11] = [1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 10_000_000, 50_000_000, 100_000_000];

/// Bounds for sizes of groups.
const SIZE: [u64; 14] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192];

/// Bounds for bytes: 256 bytes to a mebibyte.
const BYTES: [u64; 7] = [256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576];

pub(super) type TimeHistogram = Histogram<17>;
pub(super) type ShortTimeHistogram = Histogram<11>;
pub(super) type SizeHistogram = Histogram<14>;
pub(super) type BytesHistogram = Histogram<7>;

impl Default for TimeHistogram {
    fn default() -> Self {
        Self::new(&TIME, 1e-9)
    }
}

impl Default for ShortTimeHistogram {
    fn default() -> Self {
        Self::new(&SHORT_TIME, 1e-9)
    }
}

impl Default for SizeHistogram {
    fn default() -> Self {
        Self::new(&SIZE, 1.0)
    }
}

impl Default for BytesHistogram {
    fn default() -> Self {
        Self::new(&BYTES, 1.0)
    }
}

impl<const N: usize> Histogram<N> {
    fn new(bounds: &'static [u64; N], scale: f64) -> Self {
        Self { bounds, scale, buckets: std::array::from_fn(|_| AtomicU64::new(0)), beyond: AtomicU64::new(0), sum: AtomicU64::new(0) }
    }

    pub(super) fn observe(&self, value: u64) {
        let place = self.bounds.partition_point(|bound| *bound < value);
        self.buckets.get(place).unwrap_or(&self.beyond).fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
    }

    pub(super) fn observe_time(&self, time: Duration) {
        self.observe(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Counts what another has counted as well.
    pub(super) fn add(&self, other: &Self) {
        let mine = self.buckets.iter().chain([&self.beyond, &self.sum]);
        for (mine, others) in mine.zip(other.buckets.iter().chain([&other.beyond, &other.sum])) {
            mine.fetch_add(others.load(Relaxed), Relaxed);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sum.load(Relaxed) == 0
    }

    #[expect(clippy::cast_precision_loss, reason = "bounds and sums are for display")]
    pub(super) fn encode(&self, mut encoder: MetricEncoder<'_>) -> std::fmt::Result {
        let mut count = 0;
        let mut buckets = Vec::with_capacity(N + 1);
        for (bound, bucket) in self.bounds.iter().zip(&self.buckets) {
            let here = bucket.load(Relaxed);
            count += here;
            buckets.push((*bound as f64 * self.scale, here));
        }
        let beyond = self.beyond.load(Relaxed);
        count += beyond;
        buckets.push((f64::INFINITY, beyond));
        encoder.encode_histogram::<NoLabelSet>(self.sum.load(Relaxed) as f64 * self.scale, count, &buckets, None)
    }
}
