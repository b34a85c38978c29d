//! The records of keys: what became of calls, how the store answers, and how full it is.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use nevertwice_api::{ErrorCode, KeyStoreFailure, KeyStoreStatus, wire};
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use super::histogram::{BytesHistogram, TimeHistogram};

macro_rules! words {
    ($(#[$meta:meta])* $name:ident, $(#[$all_meta:meta])* $visibility:vis $all:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[$doc])* $variant),* }

        $(#[$all_meta])*
        $visibility const $all: &[&str] = &[$($word),*];
    };
}

words! {
    /// What became of a call about a key's record.
    KeyOutcome,
    /// The words for what may become of a call about a key's record, as the metric `nevertwice_key_outcomes` has them.
    pub KEY_OUTCOMES {
        /// A key was claimed.
        Fresh = "fresh",
        /// A claim was taken over, after its lease had ended.
        TakenOver = "taken_over",
        /// The same attempt claimed again.
        Resumed = "resumed",
        /// An answer was repeated.
        Replay = "replay",
        /// An answer was kept.
        Kept = "kept",
        /// The same owner had answered before.
        KeptBefore = "kept_before",
        /// A key was used up without its answer being kept.
        Tombstone = "tombstone",
        /// The end of a lease was moved.
        Renewed = "renewed",
        /// A key was given back.
        Released = "released",
        /// The answer that should have been repeated was not kept.
        NotKept = "answer_not_kept",
        /// The key was used for something else.
        Mismatch = "fingerprint_mismatch",
        /// Somebody works on it.
        InProgress = "key_in_progress",
        /// Somebody did, and nobody knows what became of it.
        Lapsed = "outcome_unknown",
        /// An owner that was replaced tried to change the key.
        StaleOwner = "stale_owner",
        /// Any other no.
        Refused = "refused",
    }
}

impl From<wire::Registration> for KeyOutcome {
    fn from(registration: wire::Registration) -> Self {
        match registration {
            wire::Registration::Fresh => Self::Fresh,
            wire::Registration::TakenOver => Self::TakenOver,
            wire::Registration::Resumed => Self::Resumed,
            wire::Registration::Replay => Self::Replay,
        }
    }
}

impl From<ErrorCode> for KeyOutcome {
    fn from(code: ErrorCode) -> Self {
        match code {
            ErrorCode::AnswerNotKept => Self::NotKept,
            ErrorCode::FingerprintMismatch => Self::Mismatch,
            ErrorCode::KeyInProgress => Self::InProgress,
            ErrorCode::OutcomeUnknown => Self::Lapsed,
            ErrorCode::StaleOwner => Self::StaleOwner,
            _ => Self::Refused,
        }
    }
}

words! {
    /// What the store is asked.
    KeyOperation,
    /// The words for it.
    KEY_OPERATIONS {
        /// To claim a key.
        Register = "register",
        /// To keep an answer.
        Complete = "complete",
        /// To move the end of a lease.
        Renew = "renew",
        /// To free a key.
        Release = "release",
        /// What it keeps of a key.
        Inspect = "inspect",
        /// To free what is not remembered any more.
        Sweep = "sweep",
    }
}

pub(crate) struct KeyMetrics {
    became: [AtomicU64; KEY_OUTCOMES.len()],
    took: [TimeHistogram; KEY_OPERATIONS.len()],
    failures: AtomicU64,
    full: AtomicU64,
    principal_full: AtomicU64,
    answer_bytes: BytesHistogram,
    replayed_bytes: AtomicU64,
}

impl Default for KeyMetrics {
    fn default() -> Self {
        Self {
            became: std::array::from_fn(|_| AtomicU64::new(0)),
            took: std::array::from_fn(|_| TimeHistogram::default()),
            failures: AtomicU64::new(0),
            full: AtomicU64::new(0),
            principal_full: AtomicU64::new(0),
            answer_bytes: BytesHistogram::default(),
            replayed_bytes: AtomicU64::new(0),
        }
    }
}

impl KeyMetrics {
    /// A call about a key's record ended.
    pub(crate) fn became(&self, outcome: KeyOutcome) {
        self.became[outcome as usize].fetch_add(1, Relaxed);
    }

    /// The store answered, or not, after so long.
    pub(crate) fn asked(&self, operation: KeyOperation, took: Duration, failure: Option<&KeyStoreFailure>) {
        self.took[operation as usize].observe_time(took);
        match failure {
            None | Some(KeyStoreFailure::BytesRefused | KeyStoreFailure::LevelUnavailable) => {}
            Some(KeyStoreFailure::Full) => _ = self.full.fetch_add(1, Relaxed),
            Some(KeyStoreFailure::PrincipalFull) => _ = self.principal_full.fetch_add(1, Relaxed),
            Some(KeyStoreFailure::Unavailable | KeyStoreFailure::OutcomeUnknown | KeyStoreFailure::TooNew) => {
                self.failures.fetch_add(1, Relaxed);
            }
        }
    }

    /// An answer with so many bytes of body was kept.
    pub(crate) fn kept_bytes(&self, bytes: usize) {
        self.answer_bytes.observe(bytes as u64);
    }

    /// An answer with so many bytes of body was repeated.
    pub(crate) fn replayed_bytes(&self, bytes: usize) {
        self.replayed_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// All of them are there from the start, at zero, so that an alarm does not miss their first time.
    pub(super) fn encode(&self, encoder: &mut DescriptorEncoder<'_>, status: &KeyStoreStatus) -> std::fmt::Result {
        let mut outcomes = encoder.encode_descriptor(
            "nevertwice_key_outcomes",
            "Calls about records of keys by what became of them",
            None,
            MetricType::Counter,
        )?;
        for (word, count) in KEY_OUTCOMES.iter().zip(&self.became) {
            outcomes.encode_family(&[("outcome", *word)])?.encode_counter::<NoLabelSet, _, u64>(&count.load(Relaxed), None)?;
        }
        let mut times = encoder.encode_descriptor(
            "nevertwice_key_store_seconds",
            "Time until the store of keys has answered",
            None,
            MetricType::Histogram,
        )?;
        for (word, took) in KEY_OPERATIONS.iter().zip(&self.took) {
            took.encode(times.encode_family(&[("operation", *word)])?)?;
        }
        for (name, help, count) in [
            ("nevertwice_key_store_failures", "Times that the store of keys gave no answer", &self.failures),
            ("nevertwice_key_store_refusals", "Times that the store of keys was full", &self.full),
            (
                "nevertwice_key_principal_refusals",
                "Times that a principal held as much of the store of keys as one may",
                &self.principal_full,
            ),
            ("nevertwice_key_replayed_bytes", "Bytes of bodies that were repeated", &self.replayed_bytes),
        ] {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            metric.encode_counter::<NoLabelSet, _, u64>(&count.load(Relaxed), None)?;
        }
        let bytes =
            encoder.encode_descriptor("nevertwice_key_answer_bytes", "Bytes of bodies that were kept", None, MetricType::Histogram)?;
        self.answer_bytes.encode(bytes)?;
        for (name, help, value) in [
            ("nevertwice_key_records", "Records of keys", status.records),
            ("nevertwice_key_records_max", "How many there may be", status.records_max),
            ("nevertwice_key_answers_held_bytes", "Bytes of the answers that the store of keys holds", status.answer_bytes),
            ("nevertwice_key_answers_held_bytes_max", "How many it may hold", status.answer_bytes_max),
            (
                "nevertwice_key_claims_lapsed",
                "Claims past their lease of which nobody knows what became, as of the last sweep",
                status.lapsed,
            ),
        ] {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            metric.encode_gauge(&i64::try_from(value).unwrap_or(i64::MAX))?;
        }
        Ok(())
    }
}
