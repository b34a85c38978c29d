//! How a backend is.

/// Whether a backend can work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It decides.
    Ready,
    /// Its journal failed: reads and replays go on up to what is safe, nothing is decided until a restart.
    Poisoned,
    /// The disk is full: reads and replays go on, nothing is decided until there is space.
    Full,
    /// It is stopping.
    Stopping,
    /// It is a standby: it follows another server, and decides nothing.
    Following,
}

/// How a backend is, for readiness and metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendStatus {
    /// Whether it can work.
    pub health: Health,
    /// Commands and reads that wait to be decided.
    pub queue_depth: usize,
    /// How many may wait.
    pub queue_max: usize,
    /// Bytes of journal since the last snapshot; 0 where there is no journal.
    pub journal_bytes: u64,
}
