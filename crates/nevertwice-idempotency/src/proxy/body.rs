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
use tokio::time::Sleep;

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

/// The body of an answer: the upstream's, within its time, or the proxy's own.
pub(super) enum AnswerBody {
    Upstream(Incoming, Option<Pin<Box<Sleep>>>),
    Own(Bytes),
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.get_mut() {
            Self::Upstream(incoming, deadline) => {
                if let Poll::Ready(frame) = Pin::new(incoming).poll_frame(cx) {
                    return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
                }
                if let Some(deadline) = deadline {
                    ready!(deadline.as_mut().poll(cx));
                    return Poll::Ready(Some(Err("the upstream did not end its answer in time".into())));
                }
                Poll::Pending
            }
            Self::Own(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Own(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Upstream(incoming, _) => incoming.is_end_stream(),
            Self::Own(bytes) => bytes.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Upstream(incoming, _) => incoming.size_hint(),
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
