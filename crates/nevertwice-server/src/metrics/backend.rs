//! What the backend tells of its work.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use nevertwice_api::{GroupReport, Observer};
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use super::Metrics;
use super::histogram::{ShortTimeHistogram, SizeHistogram, TimeHistogram};

#[derive(Default)]
pub(super) struct BackendMetrics {
    group_size: SizeHistogram,
    decide: ShortTimeHistogram,
    sync: TimeHistogram,
    entries: AtomicU64,
    bytes: AtomicU64,
    snapshots: AtomicU64,
    snapshot: TimeHistogram,
    poisonings: AtomicU64,
    audit_failures: AtomicU64,
    confirmed: TimeHistogram,
    fell_short: AtomicU64,
    clock_behind_ms: AtomicI64,
    clock_steps_back: AtomicU64,
}

impl Observer for Metrics {
    fn group(&self, report: GroupReport) {
        let GroupReport { items, entries, bytes, decide, sync } = report;
        self.backend.group_size.observe(items as u64);
        self.backend.decide.observe_time(decide);
        if entries > 0 {
            self.backend.sync.observe_time(sync);
            self.backend.entries.fetch_add(entries as u64, Relaxed);
            self.backend.bytes.fetch_add(bytes as u64, Relaxed);
        }
    }

    fn snapshot(&self, _records: u64, took: Duration) {
        self.backend.snapshots.fetch_add(1, Relaxed);
        self.backend.snapshot.observe_time(took);
    }

    fn poisoned(&self) {
        self.backend.poisonings.fetch_add(1, Relaxed);
    }

    fn audit_failed(&self) {
        self.backend.audit_failures.fetch_add(1, Relaxed);
    }

    fn confirmed(&self, after: Duration) {
        self.backend.confirmed.observe_time(after);
    }

    fn fell_short(&self, answers: usize) {
        self.backend.fell_short.fetch_add(answers as u64, Relaxed);
    }

    fn clock_behind(&self, by_ms: i64) {
        if by_ms > self.backend.clock_behind_ms.swap(by_ms, Relaxed) {
            self.backend.clock_steps_back.fetch_add(1, Relaxed);
        }
    }
}

impl BackendMetrics {
    pub(super) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> std::fmt::Result {
        let histogram = MetricType::Histogram;
        self.group_size.encode(encoder.encode_descriptor(
            "nevertwice_group_size",
            "Commands and reads decided together",
            None,
            histogram,
        )?)?;
        let histogram = MetricType::Histogram;
        self.decide.encode(encoder.encode_descriptor(
            "nevertwice_decide_seconds",
            "Time that deciding one group took",
            None,
            histogram,
        )?)?;
        let histogram = MetricType::Histogram;
        self.sync.encode(encoder.encode_descriptor(
            "nevertwice_sync_seconds",
            "Time that writing and syncing one group took",
            None,
            histogram,
        )?)?;
        let histogram = MetricType::Histogram;
        self.snapshot.encode(encoder.encode_descriptor(
            "nevertwice_snapshot_seconds",
            "Time that one snapshot took",
            None,
            histogram,
        )?)?;
        let histogram = MetricType::Histogram;
        self.confirmed.encode(encoder.encode_descriptor(
            "nevertwice_replica_lag_seconds",
            "Time from when a batch was durable here until replicas had confirmed it",
            None,
            histogram,
        )?)?;
        for (name, help, counter) in [
            ("nevertwice_entries", "Entries made", &self.entries),
            ("nevertwice_journal_written_bytes", "Bytes written to the journal", &self.bytes),
            ("nevertwice_snapshots", "Snapshots written and verified", &self.snapshots),
            ("nevertwice_poisonings", "Failures of the journal, after which nothing is decided", &self.poisonings),
            (
                "nevertwice_audit_failures",
                "Failures of the audit's files, after which the journal keeps everything until a restart",
                &self.audit_failures,
            ),
            (
                "nevertwice_replicas_fell_short",
                "Answers that too few replicas confirmed in time: their outcome was told to be unknown",
                &self.fell_short,
            ),
            ("nevertwice_clock_steps_back", "Times that the clock was found behind an instant that had been", &self.clock_steps_back),
        ] {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            metric.encode_counter::<NoLabelSet, _, u64>(&counter.load(Relaxed), None)?;
        }
        let behind = Duration::from_millis(self.clock_behind_ms.load(Relaxed).try_into().unwrap_or(0));
        encoder
            .encode_descriptor(
                "nevertwice_clock_behind_seconds",
                "How far the clock is behind the latest instant that it had shown, or that is recorded",
                None,
                MetricType::Gauge,
            )?
            .encode_gauge(&behind.as_secs_f64())
    }
}
