//! The body of an answer: what was read of it, and the rest that was not.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The body of an answer that passed the layer.
pub struct KeysBody<B> {
    first: VecDeque<Frame<Bytes>>,
    rest: Option<Pin<Box<B>>>,
}

impl<B> KeysBody<B> {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        let first = if bytes.is_empty() { VecDeque::new() } else { VecDeque::from([Frame::data(bytes)]) };
        Self { first, rest: None }
    }

    pub(crate) fn passed(rest: B) -> Self {
        Self { first: VecDeque::new(), rest: Some(Box::pin(rest)) }
    }

    pub(crate) fn resumed(first: VecDeque<Frame<Bytes>>, rest: Pin<Box<B>>) -> Self {
        Self { first, rest: Some(rest) }
    }
}

impl<B: Body<Data = Bytes>> Body for KeysBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if let Some(frame) = self.first.pop_front() {
            return Poll::Ready(Some(Ok(frame)));
        }
        match &mut self.rest {
            Some(rest) => rest.as_mut().poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_empty() && self.rest.as_ref().is_none_or(|rest| rest.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let first: u64 = self.first.iter().filter_map(Frame::data_ref).map(|data| data.len() as u64).sum();
        let Some(rest) = &self.rest else { return SizeHint::with_exact(first) };
        let hint = rest.size_hint();
        let mut sum = SizeHint::new();
        sum.set_lower(first.saturating_add(hint.lower()));
        if let Some(upper) = hint.upper().and_then(|upper| upper.checked_add(first)) {
            sum.set_upper(upper);
        }
        sum
    }
}
