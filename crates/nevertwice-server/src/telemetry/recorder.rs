//! Which requests are recorded, and where what is left of them goes.

use std::sync::Arc;

use axum::http::StatusCode;
use nevertwice_api::ErrorCode;
use nevertwice_core::{Position, ShardId};

use super::queue::Queue;
use super::recording::Recording;
use crate::metrics::Metrics;
use crate::reply::Outcome;
use crate::routes::Route;
use crate::trace::{Steps, Traced};

/// The flag of a `traceparent` that says that the caller records the trace.
const SAMPLED: u8 = 0b01;

/// Which requests are recorded, and where what is left of them goes.
pub(crate) struct Recorder {
    queue: Arc<Queue>,
    metrics: Arc<Metrics>,
    steps: Steps,
    /// A request that belongs to no trace is recorded if 63 bits of its own are below that.
    below: u64,
}

impl Recorder {
    pub(super) fn new(queue: Arc<Queue>, metrics: Arc<Metrics>, ratio: f64) -> Self {
        // Out of range is cut to it: `Config::check` has refused that long before.
        Self { queue, metrics, steps: Steps::new(), below: (ratio * (1_u64 << 63) as f64) as u64 }
    }

    /// Begins to record a request, if it is one that is recorded: as its caller says, or by chance if it belongs to no trace. Those
    /// that only ask how the server is are recorded for no reason of ours: they come every few seconds.
    pub(crate) fn begin(
        &self,
        traced: Option<&Traced>,
        route: &'static Route,
        shard: impl FnOnce() -> Option<ShardId>,
    ) -> Option<Arc<Recording>> {
        let (trace_id, span_id, parent_id) = match traced {
            Some(traced) if traced.caller.flags() & SAMPLED != 0 => {
                (traced.caller.trace_id(), traced.step_id(), Some(traced.caller.parent_id()))
            }
            Some(_) => return None,
            None if route.is_at_once => return None,
            None => {
                let drawn = self.draw_id();
                if drawn >> 1 >= self.below {
                    return None;
                }
                (u128::from(self.draw_id()) << 64 | u128::from(drawn), self.draw_id(), None)
            }
        };
        Some(Recording::begin(trace_id, span_id, parent_id, route, shard()))
    }

    /// Puts what is left of a request that was answered among what is sent. It never waits.
    pub(crate) fn end(&self, recording: &Recording, status: StatusCode, outcome: Result<Outcome, ErrorCode>, position: Option<Position>) {
        if !self.queue.add(recording.end(status, outcome, position)) {
            self.metrics.spans_dropped.inc();
        }
    }

    /// An id that no other step of this process has.
    pub(super) fn draw_id(&self) -> u64 {
        self.steps.draw_id()
    }
}
