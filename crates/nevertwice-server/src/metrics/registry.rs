//! All of them together.

use std::fmt;
use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;

use super::backend::BackendMetrics;
use super::keys::KeyMetrics;
use super::requests::Requests;
use super::sweeps::Sweeps;
use super::watched::WatchedMetrics;

type Count = Counter<u64, AtomicU64>;

/// The server's metrics, and those of its backend, of which they are the observer.
#[derive(Default)]
pub struct Metrics {
    pub(crate) requests: Requests,
    pub(crate) connections_refused: Count,
    pub(crate) handshake_failures: Count,
    pub(crate) honeypot: Count,
    pub(crate) late_payments: Count,
    pub(crate) holds_released: Count,
    pub(crate) payments_released: Count,
    pub(crate) payments_confirmed: Count,
    pub(crate) holders_paid: Count,
    pub(crate) steward_failures: Count,
    pub(crate) spans_exported: Count,
    pub(crate) spans_dropped: Count,
    pub(crate) sweeps: Sweeps,
    pub(crate) keys: KeyMetrics,
    pub(super) backend: BackendMetrics,
    pub(super) watched: WatchedMetrics,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Metrics that have counted nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}
