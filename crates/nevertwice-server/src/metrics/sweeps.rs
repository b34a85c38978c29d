//! What the steward leaves undone, and how long ago it was through.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use tokio::time::Instant;

/// What is overdue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Overdue {
    /// Holds whose time is over and that could not be ended.
    pub(crate) holds: u64,
    /// Bookings past their grace of which the gateway does not say how they end.
    pub(crate) closings: u64,
}

pub(crate) struct Sweeps {
    born: Instant,
    /// When the last sweep without a failure ended, in milliseconds of this one's life.
    complete_ms: AtomicU64,
    holds: AtomicU64,
    closings: AtomicU64,
}

impl Default for Sweeps {
    fn default() -> Self {
        Self { born: Instant::now(), complete_ms: AtomicU64::new(0), holds: AtomicU64::new(0), closings: AtomicU64::new(0) }
    }
}

impl Sweeps {
    /// A sweep has ended, and left that.
    pub(crate) fn ended(&self, overdue: Overdue, complete: bool) {
        self.holds.store(overdue.holds, Relaxed);
        self.closings.store(overdue.closings, Relaxed);
        if complete {
            self.complete_ms.store(self.age_ms(), Relaxed);
        }
    }

    fn age_ms(&self) -> u64 {
        u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> std::fmt::Result {
        for (name, help, value) in [
            ("nevertwice_holds_overdue", "Holds whose time is over and that the steward could not end", &self.holds),
            ("nevertwice_closings_overdue", "Bookings past their grace of which the gateway does not say how they end", &self.closings),
        ] {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            metric.encode_gauge(&i64::try_from(value.load(Relaxed)).unwrap_or(i64::MAX))?;
        }
        let since = Duration::from_millis(self.age_ms().saturating_sub(self.complete_ms.load(Relaxed)));
        encoder
            .encode_descriptor(
                "nevertwice_sweep_age_seconds",
                "Time since the steward's last sweep without a failure",
                None,
                MetricType::Gauge,
            )?
            .encode_gauge(&since.as_secs_f64())
    }
}
