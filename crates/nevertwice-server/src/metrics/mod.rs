//! What the server tells of its work, for Prometheus.
//!
//! Everything that a request touches is an atomic that stood there before the request came; names and labels are put together
//! when somebody scrapes.

mod backend;
mod histogram;
mod requests;
mod scrape;

use std::fmt;
use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;

pub(crate) use requests::RouteNumber;
pub(crate) use scrape::{LiveOn, Scraped, ShardAt};

use backend::BackendMetrics;
use requests::Requests;

type Count = Counter<u64, AtomicU64>;

/// The server's metrics, and those of its backend, of which they are the observer.
#[derive(Default)]
pub struct Metrics {
    pub(crate) requests: Requests,
    pub(crate) unknown_outcomes: Count,
    pub(crate) honeypot: Count,
    pub(crate) late_payments: Count,
    pub(crate) holds_released: Count,
    pub(crate) payments_released: Count,
    pub(crate) payments_confirmed: Count,
    pub(crate) holders_paid: Count,
    pub(crate) steward_failures: Count,
    backend: BackendMetrics,
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
