//! Work that goes on whoever leaves, and panics that end in a value.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// Whether work has come to the point from which on it goes on, whoever leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Begun(Arc<AtomicBool>);

impl Begun {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Work that becomes a task of its own when whoever waits for it leaves, if it has begun by then; otherwise it ends. Until then it costs
/// no task: most are there to the end.
pub(crate) struct Detached<T: Send + 'static> {
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    begun: Begun,
}

impl<T: Send + 'static> Detached<T> {
    /// The work is given what it tells that it has begun.
    pub(crate) fn new<F: Future<Output = T> + Send + 'static>(work: impl FnOnce(Begun) -> F) -> Self {
        let begun = Begun::default();
        Self { work: Some(Box::pin(work(begun.clone()))), begun }
    }
}

impl<T: Send + 'static> Future for Detached<T> {
    /// None if the work panicked after it had begun; a panic before that goes on.
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let Some(work) = &mut self.work else { return Poll::Pending };
        let polled = match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Some),
            Err(panic) if !self.begun.is_set() => resume_unwind(panic),
            // Nobody polls it again.
            Err(_) => Poll::Ready(None),
        };
        if polled.is_ready() {
            self.work = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for Detached<T> {
    fn drop(&mut self) {
        if self.begun.is_set()
            && let (Some(work), Ok(runtime)) = (self.work.take(), Handle::try_current())
        {
            runtime.spawn(work);
        }
    }
}

/// What a future comes to; none if it panicked. It is pinned where it is made: a future that is moved into another takes its room twice.
pub(crate) async fn caught<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(polled) => polled.map(Some),
        // Nobody polls it again.
        Err(_) => Poll::Ready(None),
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use tokio::sync::oneshot;

    use super::*;

    fn is_pending<T: Send + 'static>(work: &mut Pin<Box<Detached<T>>>) -> bool {
        work.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())).is_pending()
    }

    #[tokio::test]
    async fn work_that_has_begun_goes_on_when_whoever_waited_has_left() {
        for begins in [true, false] {
            let (go, may_go) = oneshot::channel::<()>();
            let (done, is_done) = oneshot::channel();
            let mut work = Box::pin(Detached::new(|begun| async move {
                if begins {
                    begun.set();
                }
                let _ = may_go.await;
                let _ = done.send(7);
            }));
            assert!(is_pending(&mut work));
            drop(work);
            assert_eq!(go.send(()).is_ok(), begins, "it waits");
            assert_eq!(is_done.await.ok(), begins.then_some(7));
        }
    }

    #[tokio::test]
    async fn a_panic_is_a_value() {
        assert_eq!(caught(pin!(async { 7 })).await, Some(7));
        assert_eq!(caught(pin!(async { panic!("it is planned") })).await, None::<()>);
        let panics = Detached::<()>::new(|begun| async move {
            begun.set();
            panic!("it is planned")
        });
        assert_eq!(panics.await, None);
    }

    #[tokio::test]
    #[should_panic(expected = "it is planned")]
    async fn a_panic_before_it_has_begun_is_none_of_its_business() {
        Detached::<()>::new(|_| async { panic!("it is planned") }).await;
    }
}
