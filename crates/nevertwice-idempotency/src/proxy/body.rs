//! Bodies on their way to the upstream, and back.

use std::convert::Infallible;
use std::error::Error;
use std::fs::File;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, Sleep, sleep_until};

use super::budget::Share;
use super::gathered::{Gathered, Spilled, next_piece};

type BoxError = Box<dyn Error + Send + Sync>;

/// Bytes that are read from a file at once.
const PIECE_BYTES: usize = 32 << 10;

/// The body of a request.
pub(super) enum RequestBody {
    /// As it comes from the client.
    Passed(Incoming),
    /// Read whole, in memory.
    Memory { bytes: Bytes, _share: Share },
    /// Read whole, in a file.
    File(FileBody),
}

/// The rest of a file.
pub(super) struct FileBody {
    spilled: Spilled,
    left: u64,
    reading: Option<JoinHandle<std::io::Result<Bytes>>>,
}

impl RequestBody {
    /// Whether it was read whole before anything was claimed: the route is guarded.
    pub(super) const fn is_gathered(&self) -> bool {
        !matches!(self, Self::Passed(_))
    }
}

impl From<Gathered> for RequestBody {
    fn from(gathered: Gathered) -> Self {
        match gathered {
            Gathered::Memory(bytes, share) => Self::Memory { bytes, _share: share },
            Gathered::Spilled(spilled) => Self::File(FileBody { left: spilled.length, spilled, reading: None }),
        }
    }
}

impl FileBody {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let file: &Arc<File> = &self.spilled.file;
        let reading = self.reading.get_or_insert_with(|| {
            let file = Arc::clone(file);
            spawn_blocking(move || next_piece(&file, PIECE_BYTES))
        });
        let read = ready!(Pin::new(reading).poll(cx));
        self.reading = None;
        let piece = match read {
            Ok(Ok(piece)) => piece,
            Ok(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
            Err(error) => return Poll::Ready(Some(Err(error.into()))),
        };
        if piece.is_empty() || piece.len() as u64 > self.left {
            return Poll::Ready(Some(Err("the file of a body is not as long as it was written".into())));
        }
        self.left -= piece.len() as u64;
        Poll::Ready(Some(Ok(piece)))
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.get_mut() {
            Self::Passed(incoming) => Pin::new(incoming).poll_frame(cx).map_err(Into::into),
            Self::Memory { bytes, .. } if bytes.is_empty() => Poll::Ready(None),
            Self::Memory { bytes, .. } => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::File(file) => file.poll_piece(cx).map(|piece| piece.map(|piece| piece.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Passed(incoming) => incoming.is_end_stream(),
            Self::Memory { bytes, .. } => bytes.is_empty(),
            Self::File(file) => file.left == 0,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Passed(incoming) => incoming.size_hint(),
            Self::Memory { bytes, .. } => SizeHint::with_exact(bytes.len() as u64),
            Self::File(file) => SizeHint::with_exact(file.left),
        }
    }
}

/// A request's body, and somebody who wants to know when it was sent.
pub(super) struct SentBody {
    body: RequestBody,
    /// Dropped with the body.
    _sent: oneshot::Sender<Infallible>,
}

impl SentBody {
    /// The receiver ends when the body was sent, or is not going to be.
    pub(super) fn new(body: RequestBody) -> (Self, oneshot::Receiver<Infallible>) {
        let (sent, was_sent) = oneshot::channel();
        (Self { body, _sent: sent }, was_sent)
    }
}

impl Body for SentBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body that has to end by an instant, whether or not it has more until then.
pub(super) struct InTime<B> {
    body: B,
    until: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl<B: Body> InTime<B> {
    /// No instant: however long it takes.
    pub(super) fn new(body: B, until: Option<Instant>) -> Self {
        let until = until.filter(|_| !body.is_end_stream()).map(|until| (until, Box::pin(sleep_until(until))));
        Self { body, until }
    }
}

impl<B> Body for InTime<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let late = || Poll::Ready(Some(Err("the upstream did not end its answer in time".into())));
        // Before the body is asked: one that always has more would never let the time be looked at.
        if self.until.as_ref().is_some_and(|(until, _)| *until <= Instant::now()) && !self.body.is_end_stream() {
            return late();
        }
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let Some((_, sleep)) = &mut self.until else { return Poll::Pending };
        ready!(sleep.as_mut().poll(cx));
        late()
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer: the upstream's, within its time, or the proxy's own.
pub(super) enum AnswerBody {
    Upstream(InTime<Incoming>),
    Own(Bytes),
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.get_mut() {
            Self::Upstream(body) => Pin::new(body).poll_frame(cx),
            Self::Own(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Own(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Upstream(body) => body.is_end_stream(),
            Self::Own(bytes) => bytes.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Upstream(body) => body.size_hint(),
            Self::Own(bytes) => SizeHint::with_exact(bytes.len() as u64),
        }
    }
}

/// A body that holds something until it is dropped.
pub(super) struct Holding<B, H> {
    pub(super) body: B,
    pub(super) _held: H,
}

impl<B: Body + Unpin, H: Unpin> Body for Holding<B, H> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http_body_util::BodyExt as _;

    use super::*;

    /// A body that has a piece whenever it is asked, and counts them.
    struct AlwaysMore(usize);

    impl Body for AlwaysMore {
        type Data = Bytes;
        type Error = BoxError;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
            self.0 += 1;
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"more")))))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_always_has_more_is_too_late_as_well() {
        let mut body = InTime::new(AlwaysMore(0), Some(Instant::now() + Duration::from_millis(10)));
        for _ in 0..10 {
            assert!(body.frame().await.expect("there is more").is_ok());
        }
        tokio::time::advance(Duration::from_millis(10)).await;
        assert!(body.frame().await.expect("it is told").is_err());
        assert_eq!(body.body.0, 10, "it was not asked again");
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_instant_a_body_takes_as_long_as_it_takes() {
        let mut body = InTime::new(AlwaysMore(0), None);
        tokio::time::advance(Duration::from_secs(1_000_000)).await;
        assert!(body.frame().await.expect("there is more").is_ok());
    }
}
