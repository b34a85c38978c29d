//! How large a workload is, and how it is mixed.

use crate::limits::AT_MS_MAX;

/// How large a workload is, and how it is mixed. The default reaches every code that a small state can reach within some
/// thousands of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadOptions {
    /// How many markets. Every second one has prices, balances and orders near what an amount can be.
    pub markets: u32,
    /// How many sales. Every second one has a window that ends within the workload.
    pub sales: u32,
    /// Accounts that each market opens before its traffic begins; a few more follow.
    pub accounts: usize,
    /// Instruments that trade in each market at a time; as some are settled, others are listed.
    pub instruments: usize,
    /// Candidates that each sale loads before its traffic begins.
    pub candidates: usize,
    /// Live bookings that each sale allows in total.
    pub seats: i64,
    /// Of a thousand choices of an account, an instrument or a candidate, how many fall on the same one.
    pub hot_per_mille: u64,
    /// Of a thousand steps, how many send an earlier command again.
    pub repeat_per_mille: u64,
    /// The first instant, in milliseconds since 1970.
    pub start_ms: i64,
    /// The most milliseconds from one step to the next, but for the rare jumps past a hold or a retention. At 0 and without a
    /// wild clock the workload has no clock of its own: see [`Workload::set_now`](super::Workload::set_now).
    pub step_ms_max: i64,
    /// The retention of every shard, in milliseconds.
    pub retention_ms: i64,
    /// The hold of every sale, in milliseconds.
    pub hold_ms: i64,
    /// The window of every second sale, in milliseconds.
    pub window_ms: i64,
    /// Whether the clock also steps back, leaps forward, and shows instants that the core doesn't accept.
    pub wild_clock: bool,
}

impl Default for WorkloadOptions {
    fn default() -> Self {
        Self {
            markets: 2,
            sales: 2,
            accounts: 12,
            instruments: 6,
            candidates: 60,
            seats: 40,
            hot_per_mille: 300,
            repeat_per_mille: 180,
            start_ms: 1_780_000_000_000,
            step_ms_max: 20,
            retention_ms: 30_000,
            hold_ms: 2_000,
            window_ms: 150_000,
            wild_clock: true,
        }
    }
}

/// An instant that no shard accepts.
pub(super) const BEYOND_TIME_MS: i64 = AT_MS_MAX.saturating_add(1);
