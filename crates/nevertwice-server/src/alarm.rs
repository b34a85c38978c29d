//! One timer for all deadlines of a connection's requests.
//!
//! Nearly every request ends long before its deadlines. Were a timer set for each of them and taken back again, the threads would
//! spend more on that than on some of the work that it guards. So a connection keeps its timer, and leaves it set when a request
//! ends; it is moved only when it goes off and the deadline has become a later one, or when it is set too late.

use std::ops::Deref;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time;

use tokio::time::{Duration, Instant, Sleep, sleep_until};

/// Where a connection's timer lies while nobody needs it. Whoever finds none there gets one of its own.
#[derive(Debug, Default)]
pub(crate) struct Rest(Mutex<Option<Pin<Box<Sleep>>>>);

impl Rest {
    /// Waits for something until an instant; `None` if it has not come by then.
    pub(crate) async fn until<T>(&self, deadline: Instant, work: impl Future<Output = T>) -> Option<T> {
        let (mut work, mut alarm) = (pin!(work), Alarm { rest: self, sleep: None });
        std::future::poll_fn(|cx| match work.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending => alarm.poll(deadline, cx).map(|()| None),
        })
        .await
    }

    fn put(&self, sleep: Option<Pin<Box<Sleep>>>) -> Option<Pin<Box<Sleep>>> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), sleep)
    }
}

/// A connection's timer in use, once it is needed.
struct Alarm<R: Deref<Target = Rest>> {
    rest: R,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<R: Deref<Target = Rest>> Alarm<R> {
    /// Ready at the deadline.
    fn poll(&mut self, deadline: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let Self { rest, sleep } = self;
        let sleep = sleep.get_or_insert_with(|| rest.put(None).unwrap_or_else(|| Box::pin(sleep_until(deadline))));
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

impl<R: Deref<Target = Rest>> Drop for Alarm<R> {
    fn drop(&mut self) {
        if let Some(sleep) = self.sleep.take() {
            drop(self.rest.put(Some(sleep)));
        }
    }
}

/// The same timer, for hyper.
#[derive(Clone, Debug)]
pub(crate) struct HeadTimer(pub(crate) Arc<Rest>);

impl hyper::rt::Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn hyper::rt::Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: time::Instant) -> Pin<Box<dyn hyper::rt::Sleep>> {
        Box::pin(HeadSleep { alarm: Alarm { rest: Arc::clone(&self.0), sleep: None }, deadline: deadline.into() })
    }

    fn now(&self) -> time::Instant {
        Instant::now().into_std()
    }
}

/// The wait for a request's head.
struct HeadSleep {
    alarm: Alarm<Arc<Rest>>,
    deadline: Instant,
}

impl Future for HeadSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { alarm, deadline } = &mut *self;
        alarm.poll(*deadline, cx)
    }
}

impl hyper::rt::Sleep for HeadSleep {}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use hyper::rt::Timer as _;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_deadline_ends_the_wait_at_its_instant_whatever_was_waited_for_before() {
        let rest = Rest::default();
        // Each starts one second after the one before: later deadlines, earlier ones, one that has passed.
        for wait in [3, 10, 2, 1, 30, 0, 5] {
            let started = Instant::now();
            assert_eq!(rest.until(started + wait * SECOND, pending::<()>()).await, None);
            assert_eq!(started.elapsed().as_secs(), u64::from(wait));
            assert_eq!(rest.until(Instant::now() + 20 * SECOND, tokio::time::sleep(SECOND)).await, Some(()));
            assert_eq!(started.elapsed().as_secs(), u64::from(wait) + 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn two_who_wait_at_once_each_have_their_deadline() {
        let rest = Arc::new(Rest::default());
        let started = Instant::now();
        let wait = |seconds: u32| {
            let rest = Arc::clone(&rest);
            tokio::spawn(async move {
                rest.until(started + seconds * SECOND, pending::<()>()).await;
                started.elapsed().as_secs()
            })
        };
        let (late, early) = (wait(9), wait(4));
        assert_eq!((late.await.expect("it ends"), early.await.expect("it ends")), (9, 4));
    }

    #[tokio::test(start_paused = true)]
    async fn hyper_has_the_same_timer_and_gives_it_back() {
        let rest = Arc::new(Rest::default());
        let timer = HeadTimer(Arc::clone(&rest));
        let started = Instant::now();
        timer.sleep(2 * SECOND).await;
        assert_eq!(started.elapsed(), 2 * SECOND);
        assert!(rest.put(None).is_some());
        let mut sleep = timer.sleep(SECOND);
        timer.reset(&mut sleep, timer.now() + 7 * SECOND);
        sleep.await;
        assert_eq!(started.elapsed(), 9 * SECOND);
    }
}
