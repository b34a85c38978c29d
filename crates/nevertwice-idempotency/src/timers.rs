//! Work that has a time, and the timers for it.
//!
//! Nearly everything ends long before its time. Were a timer set for each and taken back again, the threads would spend more on that
//! than on some of the work: so timers are kept, stay set when the work ends, and are moved only when they go off too early.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::runtime::{Handle, Id};
use tokio::time::{Instant, Sleep, sleep_until};

/// Timers that nobody needs now: as many as were ever needed at once.
#[derive(Default)]
pub(crate) struct Timers(Mutex<Vec<Kept>>);

/// A timer, and the runtime that it belongs to: it must not be used in another, which may outlive it.
struct Kept {
    runtime: Id,
    sleep: Pin<Box<Sleep>>,
}

impl Timers {
    /// What the work comes to; none if it is not done within its time. Work that is done when it is first looked at costs no timer.
    pub(crate) async fn within<F: Future + Unpin>(&self, time: Duration, mut work: F) -> Option<F::Output> {
        let mut alarm = Alarm { timers: self, deadline: None, kept: None };
        poll_fn(|cx| match Pin::new(&mut work).poll(cx) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending => alarm.poll(time, cx).map(|()| None),
        })
        .await
    }

    fn take(&self, deadline: Instant) -> Kept {
        let runtime = Handle::current().id();
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match kept.filter(|kept| kept.runtime == runtime) {
            Some(kept) => kept,
            None => Kept { runtime, sleep: Box::pin(sleep_until(deadline)) },
        }
    }
}

/// A timer in use, once it is needed.
struct Alarm<'a> {
    timers: &'a Timers,
    deadline: Option<Instant>,
    kept: Option<Kept>,
}

impl Alarm<'_> {
    /// Ready when the time is over; it runs from the first look on.
    fn poll(&mut self, time: Duration, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = *self.deadline.get_or_insert_with(|| Instant::now() + time);
        let Kept { sleep, .. } = self.kept.get_or_insert_with(|| self.timers.take(deadline));
        if sleep.deadline() > deadline {
            sleep.as_mut().reset(deadline);
        }
        loop {
            ready!(sleep.as_mut().poll(cx));
            if sleep.deadline() >= deadline {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(deadline);
        }
    }
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if let Some(kept) = self.kept.take() {
            self.timers.0.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::task::yield_now;
    use tokio::time::sleep;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn kept(timers: &Timers) -> usize {
        timers.0.lock().expect("nobody panics with it").len()
    }

    #[tokio::test(start_paused = true)]
    async fn each_has_its_own_time_by_a_timer_that_is_kept() {
        let timers = Timers::default();
        assert_eq!(timers.within(MS, Box::pin(async { 7 })).await, Some(7));
        assert_eq!(kept(&timers), 0, "it was done at once");
        for (time_ms, work_ms) in [(50, 10), (70, 60), (20, 30), (1_000, 5), (10, 11), (5, 4)] {
            let start = Instant::now();
            let done = timers.within(MS * time_ms, Box::pin(sleep(MS * work_ms))).await;
            assert_eq!(done.is_some(), work_ms < time_ms);
            assert_eq!(start.elapsed(), MS * time_ms.min(work_ms), "{time_ms} {work_ms}");
            assert_eq!(kept(&timers), 1);
        }
        let start = Instant::now();
        let both = (timers.within(MS * 3, Box::pin(pending::<()>())), timers.within(MS * 2, Box::pin(pending::<()>())));
        assert_eq!(tokio::join!(both.0, both.1), (None, None));
        assert_eq!((start.elapsed(), kept(&timers)), (MS * 3, 2));
    }

    #[test]
    fn a_timer_is_not_used_when_its_runtime_is_gone() {
        let timers = Timers::default();
        for _ in 0..2 {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("it starts");
            assert!(runtime.block_on(timers.within(MS * 60_000, Box::pin(yield_now()))).is_some());
            assert_eq!(kept(&timers), 1);
        }
    }
}
