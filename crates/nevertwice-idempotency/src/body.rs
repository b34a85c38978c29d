//! The body of an answer: what was read of it, and the rest that was not.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

use crate::tee::TeeReader;

/// The body of an answer that passed the layer.
pub struct KeysBody<B> {
    first: Bytes,
    rest: Rest<B>,
}

enum Rest<B> {
    Nothing,
    Unread(Pin<Box<B>>),
    /// The next frame was read, and it was too much, or has trailers.
    Cut(Box<Frame<Bytes>>, Pin<Box<B>>),
    /// Everything was read, and these are behind it.
    Trailers(Box<HeaderMap>),
    Copied(TeeReader),
}

impl<B> KeysBody<B> {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self { first: bytes, rest: Rest::Nothing }
    }

    /// A whole body and the trailers behind it.
    pub(crate) fn with_trailers(bytes: Bytes, trailers: Option<HeaderMap>) -> Self {
        let rest = trailers.map_or(Rest::Nothing, |trailers| Rest::Trailers(Box::new(trailers)));
        Self { first: bytes, rest }
    }

    pub(crate) fn passed(rest: B) -> Self {
        Self { first: Bytes::new(), rest: Rest::Unread(Box::pin(rest)) }
    }

    pub(crate) fn resumed(first: Bytes, next: Option<Frame<Bytes>>, rest: Pin<Box<B>>) -> Self {
        let rest = match next {
            Some(next) => Rest::Cut(Box::new(next), rest),
            None => Rest::Unread(rest),
        };
        Self { first, rest }
    }

    pub(crate) fn copied(reader: TeeReader) -> Self {
        Self { first: Bytes::new(), rest: Rest::Copied(reader) }
    }
}

impl<B: Body<Data = Bytes>> Body for KeysBody<B>
where
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if !self.first.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.first)))));
        }
        if matches!(self.rest, Rest::Cut(..))
            && let Rest::Cut(next, rest) = std::mem::replace(&mut self.rest, Rest::Nothing)
        {
            self.rest = Rest::Unread(rest);
            return Poll::Ready(Some(Ok(*next)));
        }
        if matches!(self.rest, Rest::Trailers(_))
            && let Rest::Trailers(trailers) = std::mem::replace(&mut self.rest, Rest::Nothing)
        {
            return Poll::Ready(Some(Ok(Frame::trailers(*trailers))));
        }
        match &mut self.rest {
            Rest::Unread(rest) => rest.as_mut().poll_frame(cx).map_err(Into::into),
            Rest::Copied(reader) => reader.poll_frame(cx),
            Rest::Nothing | Rest::Cut(..) | Rest::Trailers(_) => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_empty()
            && match &self.rest {
                Rest::Unread(rest) => rest.is_end_stream(),
                Rest::Copied(_) | Rest::Cut(..) | Rest::Trailers(_) => false,
                Rest::Nothing => true,
            }
    }

    fn size_hint(&self) -> SizeHint {
        let next = if let Rest::Cut(next, _) = &self.rest { next.data_ref().map_or(0, Bytes::len) } else { 0 };
        let first = (self.first.len() as u64).saturating_add(next as u64);
        let hint = match &self.rest {
            Rest::Unread(rest) | Rest::Cut(_, rest) => rest.size_hint(),
            // A message whose length is told has no place for trailers in HTTP/1.1.
            Rest::Copied(_) | Rest::Trailers(_) => SizeHint::default(),
            Rest::Nothing => SizeHint::with_exact(0),
        };
        let mut sum = SizeHint::new();
        sum.set_lower(first.saturating_add(hint.lower()));
        if let Some(upper) = hint.upper().and_then(|upper| upper.checked_add(first)) {
            sum.set_upper(upper);
        }
        sum
    }
}
