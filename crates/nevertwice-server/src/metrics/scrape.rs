//! What is read when somebody scrapes, and the text that they get.

use std::fmt;
use std::sync::Arc;

use nevertwice_api::{BackendStatus, ErrorCode, Health, KeyStoreStatus, LedgerStatus};
use nevertwice_core::Position;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::Metrics;
use super::copies::Copies;
use super::ledger;
use super::machine;
use crate::machine::Readings;
use crate::reply::Outcome;

/// What was read for one scrape.
#[derive(Debug)]
pub(crate) struct Scraped {
    pub(crate) status: BackendStatus,
    pub(crate) machine: Readings,
    pub(crate) under_way: u32,
    pub(crate) waiting: u32,
    pub(crate) shards: Vec<ShardAt>,
    pub(crate) live: Vec<LiveOn>,
    pub(crate) copies: Copies,
    /// How the ledger follows; none if there is none.
    pub(crate) ledger: Option<LedgerStatus>,
    pub(crate) keys: KeyStoreStatus,
}

/// How far a shard is.
#[derive(Debug)]
pub(crate) struct ShardAt {
    pub(crate) shard: String,
    pub(crate) position: Position,
}

/// Live bookings on a level of a sale.
#[derive(Debug)]
pub(crate) struct LiveOn {
    pub(crate) sale: String,
    pub(crate) level: String,
    pub(crate) live: i64,
}

#[derive(Debug)]
struct Scrape {
    metrics: Arc<Metrics>,
    scraped: Scraped,
}

impl Metrics {
    /// The text for Prometheus.
    pub(crate) fn text(self: &Arc<Self>, scraped: Scraped) -> Result<String, fmt::Error> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Scrape { metrics: Arc::clone(self), scraped }));
        let mut text = String::new();
        encode(&mut text, &registry)?;
        Ok(text)
    }
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let metrics = &self.metrics;
        metrics.requests.encode(&mut encoder)?;
        metrics.backend.encode(&mut encoder)?;
        metrics.watched.encode(&mut encoder)?;
        let requests = &metrics.requests;
        // Each of these is there from the start, at zero: a rate over something that appears only when it happens misses its first time.
        for (name, help, count) in [
            ("nevertwice_accepted", "Commands that were accepted", requests.fine(Outcome::Accepted)),
            ("nevertwice_replayed", "Commands that came again after they had been accepted", requests.fine(Outcome::Replayed)),
            ("nevertwice_unknown_outcomes", "Answers that did not come in time", requests.refused_with(ErrorCode::OutcomeUnknown)),
            ("nevertwice_overloaded", "Requests refused because too many were waiting", requests.refused_with(ErrorCode::Overloaded)),
        ] {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            metric.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
        }
        for (name, help, counter) in [
            (
                "nevertwice_connections_refused",
                "Connections closed because their address had as many as it may",
                &metrics.connections_refused,
            ),
            ("nevertwice_tls_failures", "Connections that ended before they had agreed on a key", &metrics.handshake_failures),
            ("nevertwice_honeypot_hits", "Bookings with the field filled in that people don't see", &metrics.honeypot),
            ("nevertwice_late_payments", "Payments that came after their seat had been given back: to be refunded", &metrics.late_payments),
            ("nevertwice_holds_ended", "Holds that the steward ended", &metrics.holds_released),
            ("nevertwice_closings_released", "Bookings released because their payment was not made", &metrics.payments_released),
            ("nevertwice_closings_confirmed", "Bookings that the steward found paid at the gateway", &metrics.payments_confirmed),
            ("nevertwice_holders_paid", "Holders that the steward paid", &metrics.holders_paid),
            ("nevertwice_steward_failures", "Steps of the steward that failed and will be tried again", &metrics.steward_failures),
            ("nevertwice_spans_exported", "Recorded requests that the collector of traces took", &metrics.spans_exported),
            (
                "nevertwice_spans_dropped",
                "Recorded requests that the collector of traces did not take, or for which there was no room",
                &metrics.spans_dropped,
            ),
        ] {
            counter.encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)?;
        }
        metrics.sweeps.encode(&mut encoder)?;
        metrics.keys.encode(&mut encoder, &self.scraped.keys)?;
        machine::encode(&self.scraped.machine, &mut encoder)?;
        self.encode_gauges(&mut encoder)
    }
}

impl Scrape {
    fn encode_gauges(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Scraped { status, under_way, waiting, shards, live, copies, .. } = &self.scraped;
        for (name, help, value) in [
            ("nevertwice_queue_depth", "Commands and reads that wait to be decided", status.queue_depth as u64),
            ("nevertwice_queue_depth_max", "How many may wait", status.queue_max as u64),
            ("nevertwice_journal_bytes", "Bytes of journal since the last snapshot", status.journal_bytes),
            ("nevertwice_ready", "1 while the backend decides", u64::from(status.health == Health::Ready)),
            (
                "nevertwice_poisoned",
                "1 once the journal has failed: nothing is decided until a restart",
                u64::from(status.health == Health::Poisoned),
            ),
            ("nevertwice_storage_full", "1 while there is no room for the journal", u64::from(status.health == Health::Full)),
            ("nevertwice_requests_under_way", "Requests under way", u64::from(*under_way)),
            ("nevertwice_requests_waiting", "Requests that wait for their turn", u64::from(*waiting)),
        ] {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            metric.encode_gauge(&i64::try_from(value).unwrap_or(i64::MAX))?;
        }
        let mut seqs = encoder.encode_descriptor("nevertwice_position_seq", "The seq of a shard's last entry", None, MetricType::Gauge)?;
        for ShardAt { shard, position } in shards {
            seqs.encode_family(&[("shard", shard.as_str())])?.encode_gauge(&i64::try_from(position.seq).unwrap_or(i64::MAX))?;
        }
        let mut epochs =
            encoder.encode_descriptor("nevertwice_position_epoch", "The epoch of a shard's last entry", None, MetricType::Gauge)?;
        for ShardAt { shard, position } in shards {
            epochs.encode_family(&[("shard", shard.as_str())])?.encode_gauge(&i64::from(position.epoch))?;
        }
        let mut bookings = encoder.encode_descriptor("nevertwice_live_bookings", "Live bookings by level", None, MetricType::Gauge)?;
        for LiveOn { sale, level, live } in live {
            bookings.encode_family(&[("sale", sale.as_str()), ("level", level.as_str())])?.encode_gauge(live)?;
        }
        copies.encode(encoder)?;
        ledger::encode(self.scraped.ledger.as_ref(), encoder)
    }
}
