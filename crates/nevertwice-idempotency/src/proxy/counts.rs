//! What a proxy counts beside the outcomes of keys.

use std::sync::atomic::{AtomicU64, Ordering};

/// Figures of a running proxy, for metrics.
#[derive(Debug, Default)]
pub struct ProxyCounts {
    /// Requests that passed unguarded.
    pub passed: Count,
    /// Requests that could not be sent: nothing of them was.
    pub unreachable: Count,
    /// Requests that the upstream did not answer in time.
    pub timeouts: Count,
    /// Requests whose connection to the upstream was lost.
    pub lost: Count,
    /// Requests that were refused because as many as may were worked on, or as many connections as may had changed their protocol.
    pub refused: Count,
    /// Connections whose handshake of TLS failed.
    pub handshake_failures: Count,
    /// Connections that changed to another protocol.
    pub switched: Count,
    /// Records of keys that were freed because their retention was over.
    pub swept: Count,
}

/// Something that is counted.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// How many there were.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }
}
