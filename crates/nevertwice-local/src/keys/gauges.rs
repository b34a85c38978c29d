//! What others may know of the writer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What others may know of the writer.
#[derive(Default)]
pub(super) struct Gauges {
    records: AtomicU64,
    answer_bytes: AtomicU64,
    lapsed: AtomicU64,
    reserve: AtomicU64,
    is_poisoned: AtomicBool,
}

impl Gauges {
    pub(super) fn set(&self, records: u64, answer_bytes: u64) {
        self.records.store(records, Ordering::Relaxed);
        self.answer_bytes.store(answer_bytes, Ordering::Relaxed);
    }

    pub(super) fn set_lapsed(&self, lapsed: u64) {
        self.lapsed.store(lapsed, Ordering::Relaxed);
    }

    /// What is kept free on a full disk, in bytes.
    pub(super) fn set_reserve(&self, bytes: u64) {
        self.reserve.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn poison(&self) {
        self.is_poisoned.store(true, Ordering::Release);
    }

    pub(super) fn records(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
    }

    pub(super) fn answer_bytes(&self) -> u64 {
        self.answer_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn lapsed(&self) -> u64 {
        self.lapsed.load(Ordering::Relaxed)
    }

    pub(super) fn reserve(&self) -> u64 {
        self.reserve.load(Ordering::Relaxed)
    }

    /// Whether the journal or a file of answers failed.
    pub(super) fn is_poisoned(&self) -> bool {
        self.is_poisoned.load(Ordering::Acquire)
    }
}
