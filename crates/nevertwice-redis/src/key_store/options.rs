//! How a store of keys is set up.

use nevertwice_api::Level;

use crate::LinkOptions;

/// How a store of keys is set up.
#[derive(Clone, Copy, Debug)]
pub struct RedisKeyOptions {
    /// Records. At the bound new claims are refused. It is held by what this process has counted, so several processes may pass it
    /// together by what came since their last count.
    pub records_max: u64,
    /// Bytes of all answers together, likewise.
    pub bodies_bytes_max: u64,
    /// Bytes of one answer.
    pub answer_bytes_max: u64,
    /// What every answer has reached: `decided`, `replicated` or `journaled`.
    pub level: Level,
    /// How many replicas confirm what is `replicated`; 0 where it is not offered.
    pub replicas: u32,
    /// How long one waits for them, in milliseconds.
    pub wait_ms: u64,
    /// Whether the operator vouches that the server syncs its append-only file before each reply (`appendfsync always`). What `INFO`
    /// shows is checked as well; that one setting it does not show.
    pub is_fsync_vouched: bool,
    /// How far this machine's clock may be from the server's before nothing is decided, in milliseconds.
    pub clock_skew_ms_max: i64,
    /// How patient the connection is.
    pub link: LinkOptions,
}

impl Default for RedisKeyOptions {
    fn default() -> Self {
        Self {
            records_max: 1_000_000,
            bodies_bytes_max: 256 << 20,
            answer_bytes_max: 1 << 20,
            level: Level::Decided,
            replicas: 0,
            wait_ms: 200,
            is_fsync_vouched: false,
            clock_skew_ms_max: 5_000,
            link: LinkOptions::default(),
        }
    }
}
