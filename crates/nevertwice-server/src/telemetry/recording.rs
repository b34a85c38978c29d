//! A request that is recorded, while it is under way.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::StatusCode;
use nevertwice_api::ErrorCode;
use nevertwice_core::{Position, ShardId};
use tokio::time::Instant;

use super::recorder::Recorder;
use super::span::{STEPS_MAX, Span, Step};
use crate::refusal::Refusal;
use crate::reply::Outcome;
use crate::routes::Route;

tokio::task_local! {
    static CURRENT: Arc<Recording>;
}

/// A request that is recorded, while it is under way.
pub(crate) struct Recording {
    trace_id: u128,
    span_id: u64,
    parent_id: Option<u64>,
    route: &'static Route,
    shard: Option<ShardId>,
    started_at: u64,
    started: Instant,
    steps: Mutex<Vec<Step>>,
}

impl Recording {
    pub(super) fn begin(trace_id: u128, span_id: u64, parent_id: Option<u64>, route: &'static Route, shard: Option<ShardId>) -> Arc<Self> {
        // What others record of the same trace is set beside this by the time of day, to less than a millisecond: no clock of the
        // server's is that fine, and nothing is decided by it.
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let started_at = u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX);
        let (started, steps) = (Instant::now(), Mutex::default());
        Arc::new(Self { trace_id, span_id, parent_id, route, shard, started_at, started, steps })
    }

    /// Does work in which [`step`] finds this.
    pub(crate) async fn scope<T>(self: Arc<Self>, work: impl Future<Output = T>) -> T {
        CURRENT.scope(self, work).await
    }

    /// What is left of it, now that it is answered. What goes on without its caller adds no steps any more.
    pub(super) fn end(&self, status: StatusCode, outcome: Result<Outcome, ErrorCode>, position: Option<Position>) -> Span {
        let steps = std::mem::take(&mut *self.steps.lock().unwrap_or_else(PoisonError::into_inner));
        Span {
            trace_id: self.trace_id,
            span_id: self.span_id,
            parent_id: self.parent_id,
            started_at: self.started_at,
            took: self.started.elapsed(),
            route: self.route,
            status,
            outcome,
            shard: self.shard.clone(),
            position,
            steps,
        }
    }

    fn add(&self, step: Step) {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        if steps.len() < STEPS_MAX {
            steps.push(step);
        }
    }
}

/// The recording that this work belongs to, for work that is handed to another task.
pub(crate) fn current() -> Option<Arc<Recording>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// Waits for one step of a request, and keeps how long it took if the request is recorded.
pub(crate) async fn step<T>(
    recorder: Option<&Recorder>,
    name: &'static str,
    work: impl Future<Output = Result<T, Refusal>>,
) -> Result<T, Refusal> {
    let recorded = recorder.and_then(|recorder| Some((recorder, current()?)));
    let Some((recorder, recording)) = recorded else { return work.await };
    let started = Instant::now();
    let done = work.await;
    recording.add(Step {
        span_id: recorder.draw_id(),
        name,
        after: started.saturating_duration_since(recording.started),
        took: started.elapsed(),
        refused: done.as_ref().err().map(Refusal::code),
    });
    done
}
