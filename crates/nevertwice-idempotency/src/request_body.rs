//! The body of a request, as the service behind the layer gets it.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{Either, Full};
use pin_project_lite::pin_project;

pin_project! {
    /// The body of a request, as the service behind the layer gets it: of a guarded request the bytes that were read before the claim,
    /// of any other the body that came. So the layer goes around services of axum, hyper and tonic alike: they take any body, or name
    /// this one (`RequestBody<hyper::body::Incoming>`).
    ///
    /// Trailers of a guarded request are dropped when it is read.
    #[derive(Debug)]
    pub struct RequestBody<B> {
        #[pin]
        inner: Either<Full<Bytes>, B>,
    }
}

impl<B> RequestBody<B> {
    /// A body that nobody has read.
    pub(crate) const fn passed(body: B) -> Self {
        Self { inner: Either::Right(body) }
    }
}

impl<B> From<Bytes> for RequestBody<B> {
    fn from(bytes: Bytes) -> Self {
        Self { inner: Either::Left(Full::new(bytes)) }
    }
}

impl<B> Body for RequestBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.project().inner.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
