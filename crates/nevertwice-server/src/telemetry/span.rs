//! What is left of a request that was recorded.

use axum::http::StatusCode;
use nevertwice_api::ErrorCode;
use nevertwice_core::{Position, ShardId};
use tokio::time::Duration;

use crate::reply::Outcome;
use crate::routes::Route;

/// The most steps of one request that are kept.
pub(super) const STEPS_MAX: usize = 32;

/// A request, and the steps that it took.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) trace_id: u128,
    pub(super) span_id: u64,
    /// The caller's step, if it named one.
    pub(super) parent_id: Option<u64>,
    /// In nanoseconds since 1970.
    pub(super) started_at: u64,
    pub(super) took: Duration,
    pub(super) route: &'static Route,
    pub(super) status: StatusCode,
    pub(super) outcome: Result<Outcome, ErrorCode>,
    pub(super) shard: Option<ShardId>,
    pub(super) position: Option<Position>,
    pub(super) steps: Vec<Step>,
}

/// A step of a request: what it waited for.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) span_id: u64,
    pub(super) name: &'static str,
    /// How long after the request's beginning.
    pub(super) after: Duration,
    pub(super) took: Duration,
    pub(super) refused: Option<ErrorCode>,
}
