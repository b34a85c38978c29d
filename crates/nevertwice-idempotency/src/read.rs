//! Reads the body of an answer, as far as it is kept.

use std::error::Error;
use std::pin::Pin;

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http::response::Parts;
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;

use crate::joined::Joined;
use crate::tee::TeeWriter;
use crate::{Policy, Trailers, grpc};

/// A body, as far as it was read.
pub(crate) enum Read<RB> {
    /// With the trailers behind it, where they are kept.
    Whole(Bytes, Option<HeaderMap>),
    /// Too large, a stream of events, or with trailers that are not kept: what was read of it, the frame at which it was cut, and the
    /// rest.
    Cut(Bytes, Option<Frame<Bytes>>, Pin<Box<RB>>),
    /// It broke off.
    Broken,
    /// Nothing of it was read: it goes to the client as it comes.
    Unread(Pin<Box<RB>>),
}

/// A body that went to the client while it was copied, as far as it was copied.
pub(crate) enum Copied<RB> {
    /// With the trailers behind it, where they are kept.
    Whole(Bytes, Option<HeaderMap>),
    /// The first frame that is beyond the copy, and the rest.
    Cut(Frame<Bytes>, Pin<Box<RB>>),
    Broken(Box<dyn Error + Send + Sync>),
}

/// Reads what the policy wants read before the client sees anything.
pub(crate) async fn read_answer<RB: Body<Data = Bytes>>(head: &Parts, body: RB, policy: &Policy) -> Read<RB> {
    let is_events = head.headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"));
    if is_events || head.status.is_informational() {
        return Read::Cut(Bytes::new(), None, Box::pin(body));
    }
    // What is known to be small is better read whole: if it breaks off, the client hears so instead of half an answer.
    let is_small = body.size_hint().upper().is_some_and(|most| most <= policy.kept_bytes_max() as u64);
    // How a call of gRPC ended is known at its end, and what becomes of its key with it.
    let is_call = policy.trailers == Trailers::Keep && grpc::is_grpc(&head.headers);
    if policy.streams && !is_small && !is_call && !body.is_end_stream() {
        return Read::Unread(Box::pin(body));
    }
    read(body, policy).await
}

/// Reads a body to its end, or until it has more than is kept, or trailers that are not.
async fn read<RB: Body<Data = Bytes>>(body: RB, policy: &Policy) -> Read<RB> {
    let bytes_max = policy.kept_bytes_max();
    let (mut body, mut joined) = (Box::pin(body), Joined::default());
    loop {
        match body.frame().await {
            None => return Read::Whole(joined.whole(), None),
            Some(Err(_)) => return Read::Broken,
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) if data.len() <= bytes_max.saturating_sub(joined.len()) => joined.push(data),
                Ok(data) => return Read::Cut(joined.whole(), Some(Frame::data(data)), body),
                Err(trailers) if policy.trailers == Trailers::Keep => return Read::Whole(joined.whole(), trailers.into_trailers().ok()),
                Err(trailers) => return Read::Cut(joined.whole(), Some(trailers), body),
            },
        }
    }
}

/// Copies a body and shows it to the client meanwhile, as far as it is kept. The last piece of a body whose length is known is held.
pub(crate) async fn copy<RB>(mut body: Pin<Box<RB>>, writer: TeeWriter, policy: &Policy) -> (Copied<RB>, TeeWriter)
where
    RB: Body<Data = Bytes>,
    RB::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let bytes_max = policy.kept_bytes_max();
    loop {
        let frame = match body.frame().await {
            None => return (Copied::Whole(writer.whole(), None), writer),
            Some(Err(error)) => return (Copied::Broken(error.into()), writer),
            Some(Ok(frame)) => frame,
        };
        match frame.into_data() {
            Ok(data) if writer.copied().saturating_add(data.len()) <= bytes_max => writer.copy(&data, body.is_end_stream()),
            Ok(data) => return (Copied::Cut(Frame::data(data), body), writer),
            Err(frame) if policy.trailers == Trailers::Keep => {
                return (Copied::Whole(writer.whole(), frame.into_trailers().ok()), writer);
            }
            Err(frame) => return (Copied::Cut(frame, body), writer),
        }
    }
}

/// Passes the rest of a body on, and reads it to its end whether or not anybody listens.
pub(crate) async fn pass_rest<RB>(first: Frame<Bytes>, mut body: Pin<Box<RB>>, writer: TeeWriter)
where
    RB: Body<Data = Bytes>,
    RB::Error: Into<Box<dyn Error + Send + Sync>>,
{
    writer.pass(first).await;
    loop {
        match body.frame().await {
            None => return writer.finish(None),
            Some(Err(error)) => return writer.fail(error.into()),
            Some(Ok(frame)) => writer.pass(frame).await,
        }
    }
}
