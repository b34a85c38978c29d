//! The spans that wait to be sent. It has a bound, and whoever adds one never waits.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::span::Span;

/// The most spans that are sent together.
const BATCH_MAX: usize = 512;

/// The spans that wait.
pub(super) struct Queue {
    spans: Mutex<VecDeque<Span>>,
    max: usize,
    batch: usize,
    /// Told once a whole batch waits: waking somebody for each span would cost more than adding it.
    is_worth_sending: Notify,
}

impl Queue {
    pub(super) fn new(max: usize) -> Self {
        Self { spans: Mutex::default(), max, batch: BATCH_MAX.min(max), is_worth_sending: Notify::new() }
    }

    /// Adds a span. `false`: there was no room, and it is gone.
    pub(super) fn add(&self, span: Span) -> bool {
        let mut spans = self.spans();
        if spans.len() >= self.max {
            return false;
        }
        spans.push_back(span);
        let is_worth_sending = spans.len() == self.batch;
        drop(spans);
        if is_worth_sending {
            self.is_worth_sending.notify_one();
        }
        true
    }

    /// The oldest ones, as many as are sent together.
    pub(super) fn take(&self) -> Vec<Span> {
        let mut spans = self.spans();
        let count = spans.len().min(self.batch);
        spans.drain(..count).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.spans().len()
    }

    /// Ready once a whole batch waits.
    pub(super) async fn whole_batch(&self) {
        while self.len() < self.batch {
            self.is_worth_sending.notified().await;
        }
    }

    fn spans(&self) -> MutexGuard<'_, VecDeque<Span>> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
