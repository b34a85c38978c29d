//! An answer that goes to its client while it is copied.
//!
//! Up to a bound the writer runs ahead of the reader: what it reads is in the copy anyway, so a slow reader costs no memory beside it,
//! and does not hold the key. What comes after the bound goes frame by frame, as fast as the reader takes it; when the reader has left,
//! it is dropped.

use std::error::Error;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::Frame;

type BoxError = Box<dyn Error + Send + Sync>;

#[derive(Default)]
struct State {
    copy: BytesMut,
    /// How much of the copy the reader may see.
    shown: usize,
    /// How much of it the reader has.
    taken: usize,
    /// A frame that is not copied.
    beside: Option<Frame<Bytes>>,
    end: Option<Result<(), BoxError>>,
    reader_left: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl State {
    fn wake_reader(&mut self) {
        if let Some(waker) = self.reader.take() {
            waker.wake();
        }
    }

    fn wake_writer(&mut self) {
        if let Some(waker) = self.writer.take() {
            waker.wake();
        }
    }
}

/// Both ends of one answer. It holds the copy, and one frame beside it.
pub(crate) fn tee() -> (TeeWriter, TeeReader) {
    let shared = Arc::new(Mutex::new(State::default()));
    (TeeWriter(shared.clone()), TeeReader(shared))
}

fn lock(shared: &Mutex<State>) -> MutexGuard<'_, State> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The end of whoever reads the answer where it comes from.
pub(crate) struct TeeWriter(Arc<Mutex<State>>);

impl TeeWriter {
    /// Copies a piece, and shows it to the reader unless it is held: until [`finish`](Self::finish), so that nobody has a whole answer
    /// before the key has it.
    pub(crate) fn copy(&self, piece: &[u8], is_held: bool) {
        let mut state = lock(&self.0);
        state.copy.extend_from_slice(piece);
        if !is_held {
            state.shown = state.copy.len();
            state.wake_reader();
        }
    }

    /// How much was copied.
    pub(crate) fn copied(&self) -> usize {
        lock(&self.0).copy.len()
    }

    /// The whole copy.
    pub(crate) fn whole(&self) -> Bytes {
        Bytes::copy_from_slice(&lock(&self.0).copy)
    }

    /// Passes a frame on that is not copied, once the reader has everything before it; or drops it, if there is no reader any more.
    pub(crate) async fn pass(&self, frame: Frame<Bytes>) {
        let mut frame = Some(frame);
        poll_fn(|cx| {
            let mut state = lock(&self.0);
            if state.reader_left {
                return Poll::Ready(());
            }
            state.shown = state.copy.len();
            if state.beside.is_none() && state.taken == state.shown {
                state.beside = frame.take();
                // Nobody needs the copy any more.
                (state.copy, state.shown, state.taken) = (BytesMut::new(), 0, 0);
                state.wake_reader();
                return Poll::Ready(());
            }
            state.writer = Some(cx.waker().clone());
            state.wake_reader();
            Poll::Pending
        })
        .await;
    }

    /// Ends the answer, with everything that was held, and trailers behind it.
    pub(crate) fn finish(self, trailers: Option<HeaderMap>) {
        if let Some(trailers) = trailers {
            lock(&self.0).beside = Some(Frame::trailers(trailers));
        }
        self.end(Ok(()));
    }

    /// Ends it as broken; what was held is not shown.
    pub(crate) fn fail(self, error: BoxError) {
        self.end(Err(error));
    }

    fn end(&self, end: Result<(), BoxError>) {
        let mut state = lock(&self.0);
        if state.end.is_none() {
            if end.is_ok() {
                state.shown = state.copy.len();
            }
            state.end = Some(end);
            state.wake_reader();
        }
    }
}

impl Drop for TeeWriter {
    fn drop(&mut self) {
        // Only whoever finished has written everything.
        self.end(Err("the answer was not read to its end".into()));
    }
}

/// The end of the client.
pub(crate) struct TeeReader(Arc<Mutex<State>>);

impl TeeReader {
    pub(crate) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let mut state = lock(&self.0);
        if state.taken < state.shown {
            let piece = Bytes::copy_from_slice(state.copy.get(state.taken..state.shown).unwrap_or_default());
            state.taken = state.shown;
            state.wake_writer();
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        if let Some(frame) = state.beside.take() {
            state.wake_writer();
            return Poll::Ready(Some(Ok(frame)));
        }
        match &mut state.end {
            Some(end) => Poll::Ready(std::mem::replace(end, Ok(())).err().map(Err)),
            None => {
                state.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for TeeReader {
    fn drop(&mut self) {
        let mut state = lock(&self.0);
        state.reader_left = true;
        state.wake_writer();
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn poll(reader: &mut TeeReader) -> Poll<Option<Result<Bytes, String>>> {
        let polled = reader.poll_frame(&mut Context::from_waker(Waker::noop()));
        polled.map(|frame| frame.map(|frame| frame.map(|frame| frame.into_data().expect("it is data")).map_err(|error| error.to_string())))
    }

    fn data(bytes: &'static [u8]) -> Poll<Option<Result<Bytes, String>>> {
        Poll::Ready(Some(Ok(Bytes::from_static(bytes))))
    }

    #[test]
    fn what_is_held_is_shown_only_when_the_answer_is_finished() {
        let (writer, mut reader) = tee();
        writer.copy(b"one ", false);
        writer.copy(b"two ", false);
        assert_eq!(poll(&mut reader), data(b"one two "));
        writer.copy(b"three", true);
        assert_eq!(poll(&mut reader), Poll::Pending);
        assert_eq!((writer.copied(), writer.whole()), (13, Bytes::from_static(b"one two three")));
        writer.finish(None);
        assert_eq!(poll(&mut reader), data(b"three"));
        assert_eq!(poll(&mut reader), Poll::Ready(None));
        assert_eq!(poll(&mut reader), Poll::Ready(None));
    }

    #[test]
    fn a_writer_that_is_lost_breaks_the_answer() {
        for is_told in [false, true] {
            let (writer, mut reader) = tee();
            writer.copy(b"half", false);
            writer.copy(b"held", true);
            if is_told {
                writer.fail("it broke off".into());
            } else {
                drop(writer);
            }
            assert_eq!(poll(&mut reader), data(b"half"));
            assert!(matches!(poll(&mut reader), Poll::Ready(Some(Err(_)))));
        }
    }

    #[tokio::test]
    async fn beyond_the_copy_one_frame_waits_for_the_reader_and_none_for_one_that_left() {
        let (writer, mut reader) = tee();
        writer.copy(b"copied", false);
        let mut passing = Box::pin(writer.pass(Frame::data(Bytes::from_static(b"beside"))));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(passing.as_mut().poll(&mut cx).is_pending(), "the reader has not taken the copy");
        assert_eq!(poll(&mut reader), data(b"copied"));
        assert!(passing.as_mut().poll(&mut cx).is_ready());
        drop(passing);
        assert_eq!(writer.copied(), 0, "the copy is gone");
        let mut next = Box::pin(writer.pass(Frame::data(Bytes::from_static(b"next"))));
        assert!(next.as_mut().poll(&mut cx).is_pending(), "one frame at a time");
        assert_eq!(poll(&mut reader), data(b"beside"));
        next.await;
        drop(reader);
        writer.pass(Frame::data(Bytes::from_static(b"for nobody"))).await;
    }
}
