//! Whether the store is worth asking: after several failures in a row it is left alone for a while, but for one question at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::StoreLimits;

pub(crate) struct Breaker {
    failures_max: u32,
    rest: Duration,
    /// Whether the state is another than that of a store that answers: while it is not, nobody looks at it.
    is_troubled: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    failures: u32,
    rests_until: Option<Instant>,
}

impl Breaker {
    pub(crate) fn new(limits: &StoreLimits) -> Self {
        Self {
            failures_max: limits.failures_max,
            rest: Duration::from_millis(limits.rest_ms),
            is_troubled: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether to ask. At the end of a rest one caller is let through; the rest begins again for the others.
    pub(crate) fn lets_through(&self) -> bool {
        if !self.is_troubled.load(Ordering::Relaxed) {
            return true;
        }
        let mut state = self.state();
        let now = Instant::now();
        match state.rests_until {
            Some(until) if now < until => false,
            Some(_) => {
                state.rests_until = Some(now + self.rest);
                true
            }
            None => true,
        }
    }

    pub(crate) fn note(&self, is_ok: bool) {
        if is_ok && !self.is_troubled.load(Ordering::Relaxed) {
            return;
        }
        let mut state = self.state();
        self.is_troubled.store(!is_ok, Ordering::Relaxed);
        if is_ok {
            *state = State::default();
            return;
        }
        state.failures = state.failures.saturating_add(1);
        if state.failures >= self.failures_max {
            state.rests_until = Some(Instant::now() + self.rest);
        }
    }
}
