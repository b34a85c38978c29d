//! Work that goes on whoever leaves, and panics that end in a value.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// Work that becomes a task of its own when whoever waits for it leaves. Until then it costs no task: most are there to the end.
pub(crate) struct Detached<F>(Option<Pin<Box<F>>>)
where
    F: Future + Send + 'static,
    F::Output: Send;

impl<F> Detached<F>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    pub(crate) fn new(work: F) -> Self {
        Self(Some(Box::pin(work)))
    }
}

impl<F> Future for Detached<F>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Some(work) = &mut self.0 else { return Poll::Pending };
        let polled = work.as_mut().poll(cx);
        if polled.is_ready() {
            self.0 = None;
        }
        polled
    }
}

impl<F> Drop for Detached<F>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn drop(&mut self) {
        if let (Some(work), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(work);
        }
    }
}

/// What a future comes to; none if it panicked.
pub(crate) async fn caught<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(polled) => polled.map(Some),
        // Nobody polls it again.
        Err(_) => Poll::Ready(None),
    })
    .await
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn work_goes_on_when_whoever_waited_has_left() {
        let (begin, begun) = oneshot::channel::<()>();
        let (done, is_done) = oneshot::channel();
        let mut work = Box::pin(Detached::new(async move {
            let _ = begun.await;
            let _ = done.send(7);
        }));
        assert!(work.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())).is_pending());
        drop(work);
        begin.send(()).expect("it waits");
        assert_eq!(is_done.await, Ok(7));
    }

    #[tokio::test]
    async fn a_panic_is_a_value() {
        assert_eq!(caught(async { 7 }).await, Some(7));
        assert_eq!(caught(async { panic!("it is planned") }).await, None::<()>);
    }
}
