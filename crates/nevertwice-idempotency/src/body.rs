//! The body of an answer: what was read of it, and the rest that was not.

use std::collections::VecDeque;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

use crate::tee::TeeReader;

/// The body of an answer that passed the layer.
pub struct KeysBody<B> {
    first: VecDeque<Frame<Bytes>>,
    rest: Rest<B>,
}

enum Rest<B> {
    Nothing,
    Unread(Pin<Box<B>>),
    Copied(TeeReader),
}

impl<B> KeysBody<B> {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        let first = if bytes.is_empty() { VecDeque::new() } else { VecDeque::from([Frame::data(bytes)]) };
        Self { first, rest: Rest::Nothing }
    }

    /// A whole body and the trailers behind it.
    pub(crate) fn with_trailers(bytes: Bytes, trailers: Option<HeaderMap>) -> Self {
        let mut body = Self::whole(bytes);
        body.first.extend(trailers.map(Frame::trailers));
        body
    }

    pub(crate) fn passed(rest: B) -> Self {
        Self { first: VecDeque::new(), rest: Rest::Unread(Box::pin(rest)) }
    }

    pub(crate) fn resumed(first: VecDeque<Frame<Bytes>>, rest: Pin<Box<B>>) -> Self {
        Self { first, rest: Rest::Unread(rest) }
    }

    pub(crate) fn copied(reader: TeeReader) -> Self {
        Self { first: VecDeque::new(), rest: Rest::Copied(reader) }
    }
}

impl<B: Body<Data = Bytes>> Body for KeysBody<B>
where
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Some(frame) = self.first.pop_front() {
            return Poll::Ready(Some(Ok(frame)));
        }
        match &mut self.rest {
            Rest::Unread(rest) => rest.as_mut().poll_frame(cx).map_err(Into::into),
            Rest::Copied(reader) => reader.poll_frame(cx),
            Rest::Nothing => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_empty()
            && match &self.rest {
                Rest::Unread(rest) => rest.is_end_stream(),
                Rest::Copied(_) => false,
                Rest::Nothing => true,
            }
    }

    fn size_hint(&self) -> SizeHint {
        let first: u64 = self.first.iter().filter_map(Frame::data_ref).map(|data| data.len() as u64).sum();
        let hint = match &self.rest {
            Rest::Unread(rest) => rest.size_hint(),
            Rest::Copied(_) => SizeHint::default(),
            Rest::Nothing => SizeHint::with_exact(0),
        };
        let mut sum = SizeHint::new();
        sum.set_lower(first.saturating_add(hint.lower()));
        // A message whose length is told has no place for trailers in HTTP/1.1.
        if self.first.iter().any(Frame::is_trailers) {
            return sum;
        }
        if let Some(upper) = hint.upper().and_then(|upper| upper.checked_add(first)) {
            sum.set_upper(upper);
        }
        sum
    }
}
