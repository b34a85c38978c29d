//! What the proxy counts, for Prometheus.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use nevertwice_api::KeyStore;
use nevertwice_idempotency::proxy::ProxyCounts;
use nevertwice_idempotency::{KeyObserver, Outcome};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric as _};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Bounds of what takes time, in seconds.
const TIME: [f64; 14] = [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OutcomeOf {
    route: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteOnly {
    route: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OperationOf {
    operation: &'static str,
    answered: &'static str,
}

type Times<L> = Family<L, Histogram, fn() -> Histogram>;

/// The metrics of one proxy. Routes are those of the configuration, so there are never more of them.
pub(super) struct ProxyMetrics {
    registry: Registry,
    outcomes: Family<OutcomeOf, Counter>,
    handled: Times<RouteOnly>,
    body_bytes: Family<RouteOnly, Counter>,
    stored: Times<OperationOf>,
    stale: Family<RouteOnly, Counter>,
    watched: Arc<OnceLock<Watched>>,
}

struct Watched {
    counts: Arc<ProxyCounts>,
    bodies: Box<dyn Fn() -> (u64, u64) + Send + Sync>,
}

fn times() -> Histogram {
    Histogram::new(TIME)
}

impl ProxyMetrics {
    /// The figures of these routes are there from the start, as zeros: an alarm that looks at a rise would miss the first one of a figure
    /// that appears with it.
    pub(super) fn new(store: Arc<dyn KeyStore>, routes: &[String]) -> Self {
        let mut registry = Registry::with_prefix("nevertwice_proxy");
        let outcomes = Family::<OutcomeOf, Counter>::default();
        registry.register("key_outcomes", "What became of requests at guarded routes", outcomes.clone());
        let handled: Times<RouteOnly> = Family::new_with_constructor(times);
        registry.register_with_unit(
            "upstream_time",
            "How long the upstream took for guarded requests, to the end of what is kept of its answers",
            Unit::Seconds,
            handled.clone(),
        );
        let body_bytes = Family::<RouteOnly, Counter>::default();
        registry.register("answer_bytes", "Bytes of answers to guarded requests, as far as they were copied", body_bytes.clone());
        let stored: Times<OperationOf> = Family::new_with_constructor(times);
        registry.register_with_unit("store_time", "How long the store of keys took", Unit::Seconds, stored.clone());
        let stale = Family::<RouteOnly, Counter>::default();
        registry.register("stale_owners_refused", "Attempts that were replaced and could not change their key", stale.clone());
        let watched = Arc::new(OnceLock::new());
        registry.register_collector(Box::new(Scraped { watched: Arc::clone(&watched), store }));
        for route in routes {
            for outcome in Outcome::ALL {
                drop(outcomes.get_or_create(&OutcomeOf { route: route.clone(), outcome: outcome.word() }));
            }
            let route = RouteOnly { route: route.clone() };
            drop((handled.get_or_create(&route), body_bytes.get_or_create(&route), stale.get_or_create(&route)));
        }
        for operation in OPERATIONS {
            for answered in ["true", "false"] {
                drop(stored.get_or_create(&OperationOf { operation, answered }));
            }
        }
        Self { registry, outcomes, handled, body_bytes, stored, stale, watched }
    }

    /// Shows the figures of a proxy from now on.
    pub(super) fn watch(&self, counts: Arc<ProxyCounts>, bodies: Box<dyn Fn() -> (u64, u64) + Send + Sync>) {
        let _ = self.watched.set(Watched { counts, bodies });
    }

    /// The text for Prometheus.
    pub(super) fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// What the layer asks a store for.
const OPERATIONS: [&str; 5] = ["register", "complete", "renew", "release", "inspect"];

impl KeyObserver for ProxyMetrics {
    fn ended(&self, route: &str, outcome: Outcome) {
        self.outcomes.get_or_create(&OutcomeOf { route: route.to_owned(), outcome: outcome.word() }).inc();
    }

    fn handled(&self, route: &str, time: Duration, body_bytes: u64) {
        let route = RouteOnly { route: route.to_owned() };
        self.handled.get_or_create(&route).observe(time.as_secs_f64());
        self.body_bytes.get_or_create(&route).inc_by(body_bytes);
    }

    fn stored(&self, operation: &'static str, time: Duration, is_ok: bool) {
        let answered = if is_ok { "true" } else { "false" };
        self.stored.get_or_create(&OperationOf { operation, answered }).observe(time.as_secs_f64());
    }

    fn stale_owner_refused(&self, route: &str) {
        self.stale.get_or_create(&RouteOnly { route: route.to_owned() }).inc();
    }
}

/// What is read when somebody scrapes.
struct Scraped {
    watched: Arc<OnceLock<Watched>>,
    store: Arc<dyn KeyStore>,
}

impl fmt::Debug for Scraped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scraped").finish_non_exhaustive()
    }
}

impl Collector for Scraped {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let store = self.store.status();
        let (memory, disk) = self.watched.get().map_or((0, 0), |watched| (watched.bodies)());
        for (name, help, value) in [
            ("store_records", "Records that the store of keys holds", store.records),
            ("store_records_max", "The most records that it holds", store.records_max),
            ("store_answer_bytes", "Bytes of answers that it holds", store.answer_bytes),
            ("store_answer_bytes_max", "The most bytes of answers that it holds", store.answer_bytes_max),
            ("store_lapsed", "Claims whose lease is over, as of the last sweep", store.lapsed),
            ("request_memory_bytes", "Bytes of bodies of guarded requests in memory", memory),
            ("request_disk_bytes", "Bytes of bodies of guarded requests in files", disk),
        ] {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        let Some(Watched { counts, .. }) = self.watched.get() else { return Ok(()) };
        for (name, help, count) in [
            ("passed", "Requests that passed unguarded", &counts.passed),
            ("upstream_unreachable", "Requests that could not be sent to the upstream", &counts.unreachable),
            ("upstream_timeouts", "Requests that the upstream did not answer in time", &counts.timeouts),
            ("upstream_lost", "Requests whose connection to the upstream was lost", &counts.lost),
            ("requests_refused", "Requests that were refused because as many as may were worked on", &counts.refused),
            ("handshake_failures", "Connections of clients whose handshake of TLS failed", &counts.handshake_failures),
            ("switched", "Connections that changed to another protocol", &counts.switched),
            ("store_swept", "Records of keys that were freed because their retention was over", &counts.swept),
        ] {
            let counter = ConstCounter::new(count.get());
            counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)?;
        }
        Ok(())
    }
}
