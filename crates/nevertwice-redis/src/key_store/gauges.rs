//! How full the store is, as far as this process knows: what it counted in its last round of sweeps, and what it did since.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nevertwice_api::KeyStoreStatus;

use super::RedisKeyOptions;

/// What is counted.
#[derive(Debug, Default)]
pub(super) struct Gauges {
    records: AtomicU64,
    answer_bytes: AtomicU64,
    lapsed: AtomicU64,
    is_forgotten: AtomicBool,
}

/// What a round of sweeps has counted so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub(super) records: u64,
    pub(super) answer_bytes: u64,
    pub(super) lapsed: u64,
}

impl Gauges {
    /// Takes room for one record, if there is some.
    pub(super) fn take_record(&self, options: &RedisKeyOptions) -> bool {
        let has_bytes = self.answer_bytes.load(Ordering::Relaxed) < options.bodies_bytes_max;
        let more = |records| (records < options.records_max).then_some(records + 1);
        has_bytes && self.records.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Takes room for so many bytes, if there is some.
    pub(super) fn take_bytes(&self, length: u64, options: &RedisKeyOptions) -> bool {
        let more = |held: u64| held.checked_add(length).filter(|held| *held <= options.bodies_bytes_max);
        self.answer_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    pub(super) fn free_records(&self, count: u64) {
        subtract(&self.records, count);
    }

    pub(super) fn free_bytes(&self, length: u64) {
        subtract(&self.answer_bytes, length);
    }

    /// A round has seen everything.
    pub(super) fn set(&self, counted: Counted) {
        self.records.store(counted.records, Ordering::Relaxed);
        self.answer_bytes.store(counted.answer_bytes, Ordering::Relaxed);
        self.lapsed.store(counted.lapsed, Ordering::Relaxed);
    }

    /// The server has lost what it held. Whether this is news.
    pub(super) fn set_forgotten(&self) -> bool {
        !self.is_forgotten.swap(true, Ordering::Relaxed)
    }

    pub(super) fn is_forgotten(&self) -> bool {
        self.is_forgotten.load(Ordering::Relaxed)
    }

    pub(super) fn status(&self, options: &RedisKeyOptions) -> KeyStoreStatus {
        KeyStoreStatus {
            records: self.records.load(Ordering::Relaxed),
            records_max: options.records_max,
            answer_bytes: self.answer_bytes.load(Ordering::Relaxed),
            answer_bytes_max: options.bodies_bytes_max,
            lapsed: self.lapsed.load(Ordering::Relaxed),
        }
    }
}

/// Another process may have counted what this one frees: there is nothing below nothing.
fn subtract(gauge: &AtomicU64, count: u64) {
    let less = |held: u64| Some(held.saturating_sub(count));
    gauge.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).expect("the closure always gives a value");
}
