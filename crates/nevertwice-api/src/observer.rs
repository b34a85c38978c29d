//! What a backend tells of its work, for metrics.

use std::time::Duration;

/// One group of commands that was decided and made durable together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct GroupReport {
    /// Commands and reads in it.
    pub items: usize,
    /// Entries that it made.
    pub entries: usize,
    /// Bytes that were written for it.
    pub bytes: usize,
    /// How long deciding took, for all of it.
    pub decide: Duration,
    /// How long writing and syncing took; zero for a group without entries.
    pub sync: Duration,
}

/// Hears of a backend's work. It is called on the backend's own threads: it must not wait.
pub trait Observer: Send + Sync + 'static {
    /// A group was decided and is durable.
    fn group(&self, report: GroupReport);
    /// A snapshot was written and verified.
    fn snapshot(&self, records: u64, took: Duration);
    /// The journal failed, and nothing is decided any more.
    fn poisoned(&self);
    /// What operators did is not copied out of the journal any more, until a restart; the journal keeps it, and grows.
    fn audit_failed(&self) {}
    /// A batch was confirmed by as many replicas as have to, this long after it was durable here.
    fn confirmed(&self, _after: Duration) {}
    /// So many answers waited for replicas in vain, and were told that their outcome is unknown.
    fn fell_short(&self, _answers: usize) {}
    /// The clock was found `by_ms` milliseconds behind the latest instant that it had shown, or that is recorded; 0: it no longer
    /// is. Told whenever the figure changes. A shard's time does not run backwards: until the clock has caught up, holds do not
    /// end and intents are not given up.
    fn clock_behind(&self, _by_ms: i64) {}
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn group(&self, _report: GroupReport) {}
    fn snapshot(&self, _records: u64, _took: Duration) {}
    fn poisoned(&self) {}
}
