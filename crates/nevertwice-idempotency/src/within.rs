//! Work that has a time.

use std::future::{Future, poll_fn};
use std::task::Poll;
use std::time::Duration;

use tokio::time::timeout;

/// What the work comes to, within its time. Unlike with [`timeout`], work that is done when it is first looked at costs no timer.
pub(crate) async fn within<F: Future + Unpin>(time: Duration, mut work: F) -> Option<F::Output> {
    match poll_fn(|cx| Poll::Ready(std::pin::Pin::new(&mut work).poll(cx))).await {
        Poll::Ready(done) => Some(done),
        Poll::Pending => Box::pin(timeout(time, work)).await.ok(),
    }
}
