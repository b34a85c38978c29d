//! Files that are read again when they change.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use super::Metrics;

/// A file, or a pair of files, that is read again when it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchedFile {
    /// API keys.
    Keys,
    /// The certificate of TLS and its key.
    Tls,
    /// The keys of JWTs.
    Jwt,
}

impl WatchedFile {
    const ALL: [Self; 3] = [Self::Keys, Self::Tls, Self::Jwt];

    /// The word for it in metrics and logs.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Keys => "keys",
            Self::Tls => "tls",
            Self::Jwt => "jwt",
        }
    }

    /// The setting that names it.
    pub(crate) const fn setting(self) -> &'static str {
        match self {
            Self::Keys => "keys_file",
            Self::Tls => "tls_certificate` and `tls_key",
            Self::Jwt => "jwt_jwks_file`, `jwt_key_file` and `jwt_secret_file",
        }
    }
}

/// What became of looking at one of them.
#[derive(Default)]
pub(crate) struct WatchedCounts {
    taken: AtomicU64,
    refused: AtomicU64,
    is_refused: AtomicBool,
}

impl WatchedCounts {
    pub(crate) fn took(&self) {
        self.taken.fetch_add(1, Relaxed);
        self.is_refused.store(false, Relaxed);
    }

    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Relaxed);
        self.is_refused.store(true, Relaxed);
    }
}

#[derive(Default)]
pub(super) struct WatchedMetrics([WatchedCounts; WatchedFile::ALL.len()]);

impl Metrics {
    pub(crate) fn watched(&self, file: WatchedFile) -> &WatchedCounts {
        &self.watched.0[file as usize]
    }
}

impl WatchedMetrics {
    pub(super) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> std::fmt::Result {
        let each = || WatchedFile::ALL.iter().map(|file| file.word()).zip(&self.0);
        for (name, help, count) in [
            (
                "nevertwice_reloads",
                "Times that a changed file was read again and used",
                (|counts| &counts.taken) as fn(&WatchedCounts) -> &AtomicU64,
            ),
            ("nevertwice_reload_failures", "Times that a changed file was read again and could not be used", |counts| &counts.refused),
        ] {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (word, counts) in each() {
                metric.encode_family(&[("file", word)])?.encode_counter::<NoLabelSet, _, u64>(&count(counts).load(Relaxed), None)?;
            }
        }
        let help = "1 while a file holds something that can't be used, and what was read before counts";
        let mut metric = encoder.encode_descriptor("nevertwice_reload_refused", help, None, MetricType::Gauge)?;
        for (word, counts) in each() {
            metric.encode_family(&[("file", word)])?.encode_gauge(&i64::from(counts.is_refused.load(Relaxed)))?;
        }
        Ok(())
    }
}
