//! Runs the handler under its claims: the heartbeat beside it, and what becomes of the key when it has answered.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use nevertwice_api::AnswerBytes;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tower_service::Service;

use crate::answer::kept_head;
use crate::body::KeysBody;
use crate::claim::{Changed, Claims};
use crate::effect::{Effect, of_answer};
use crate::guard::{Answered, unknown};
use crate::policy::{Policy, Route};
use crate::{Keys, Outcome};

/// The number of the claim under which a handler runs, in the request's extensions. Pass it on to what the handler calls: whoever
/// remembers the highest one that it has seen can refuse an attempt that was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation(pub u64);

/// A body, as far as it was read.
enum Read<RB> {
    Whole(Bytes),
    /// Too large, streamed, or with trailers: what was read of it, and the rest.
    Cut(VecDeque<Frame<Bytes>>, Pin<Box<RB>>),
    /// It broke off.
    Broken,
}

pub(crate) async fn run<S, B, RB>(
    keys: &Keys,
    route: &Arc<Route>,
    claims: Claims,
    taken_over: bool,
    mut parts: Parts,
    body: Bytes,
    mut service: S,
) -> Answered<RB, S::Error>
where
    S: Service<Request<B>, Response = Response<RB>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    B: From<Bytes> + Send + 'static,
    RB: Body<Data = Bytes> + Send + 'static,
    RB::Error: Send,
{
    let policy = route.policy.clone();
    parts.extensions.insert(Generation(claims.generation()));
    let start = Instant::now();
    let bytes_max = policy.kept_bytes_max();
    // A task of its own: the heartbeat goes on while the handler computes, and a panic ends here.
    let handler = tokio::spawn(async move {
        let response = service.call(Request::from_parts(parts, B::from(body))).await?;
        let (head, body) = response.into_parts();
        let is_stream = head.headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"));
        let is_switch = head.status.is_informational();
        let read = if is_stream || is_switch { Read::Cut(VecDeque::new(), Box::pin(body)) } else { read(body, bytes_max).await };
        Ok((head, read))
    });
    let answered = with_heartbeat(keys, route, &claims, handler).await;
    let ended = |outcome| keys.observer.ended(&route.pattern, outcome);
    let (mut head, read) = match answered {
        Some(Ok(answered)) => answered,
        Some(Err(error)) => {
            lapse(keys, route, &claims).await;
            ended(Outcome::Unknown);
            return Err(error);
        }
        None => {
            lapse(keys, route, &claims).await;
            ended(Outcome::Unknown);
            return Ok(unknown(&policy).render());
        }
    };
    let length = match &read {
        Read::Whole(bytes) => bytes.len() as u64,
        Read::Cut(frames, _) => frames.iter().filter_map(Frame::data_ref).map(|data| data.len() as u64).sum(),
        Read::Broken => 0,
    };
    keys.observer.handled(&route.pattern, start.elapsed(), length);
    let effect = of_answer(head.status, &mut head.headers, &policy);
    let (whole, is_broken) = match &read {
        Read::Whole(bytes) => (Some(bytes.clone()), false),
        Read::Cut(..) => (None, false),
        Read::Broken => (None, true),
    };
    let outcome = match (effect, is_broken) {
        (Effect::Nothing, _) => match note(keys, route, claims.release().await) {
            Changed::Done => Outcome::Freed,
            // Nothing has happened, and the key can't be told so: it ends as a lapsed lease.
            _ => Outcome::Unknown,
        },
        (Effect::Unknown, _) | (Effect::Kept, true) => {
            lapse(keys, route, &claims).await;
            Outcome::Unknown
        }
        (Effect::Kept, false) => keep(keys, route, &claims, &head, whole, length, taken_over).await,
    };
    ended(outcome);
    match read {
        Read::Whole(bytes) => Ok(Response::from_parts(head, KeysBody::whole(bytes))),
        Read::Cut(frames, rest) => Ok(Response::from_parts(head, KeysBody::resumed(frames, rest))),
        Read::Broken => Ok(unknown(&policy).render()),
    }
}

/// Waits for the handler and renews the leases meanwhile. None if it panicked.
async fn with_heartbeat<T>(keys: &Keys, route: &Route, claims: &Claims, mut handler: JoinHandle<T>) -> Option<T> {
    let policy: &Policy = &route.policy;
    let beat = Duration::from_millis(u64::try_from(policy.lease_ms / 3).unwrap_or(1).max(1));
    let last = Instant::now() + Duration::from_millis(policy.heartbeat_ms_max);
    loop {
        tokio::select! {
            answered = &mut handler => return answered.ok(),
            () = sleep(beat) => {
                // Once replaced, or after its time, it only waits: a late answer is kept if nobody has taken over.
                if Instant::now() >= last || note(keys, route, claims.renew(policy.lease_ms).await) == Changed::Stale {
                    return handler.await.ok();
                }
            }
        }
    }
}

/// Ends the lease: what became of the work is not known.
async fn lapse(keys: &Keys, route: &Route, claims: &Claims) {
    note(keys, route, claims.renew(0).await);
}

fn note(keys: &Keys, route: &Route, changed: Changed) -> Changed {
    if changed == Changed::Stale {
        keys.observer.stale_owner_refused(&route.pattern);
    }
    changed
}

/// Brings the answer to the store, or a tombstone where it can't be kept. The key is never freed for that.
async fn keep(
    keys: &Keys,
    route: &Route,
    claims: &Claims,
    head: &http::response::Parts,
    whole: Option<Bytes>,
    length: u64,
    taken_over: bool,
) -> Outcome {
    let status = head.status.as_u16();
    if let (Some(body), Some(lines)) = (whole, kept_head(&head.headers, &route.policy)) {
        let bytes = AnswerBytes { head: lines, body };
        let changed = note(keys, route, claims.complete(&bytes.describe(status), &bytes).await);
        match changed {
            Changed::Done if taken_over => return Outcome::Rerun,
            Changed::Done => return Outcome::Fresh,
            Changed::BytesRefused => {}
            Changed::Stale | Changed::Failed => return Outcome::Unknown,
        }
    }
    let tombstone = AnswerBytes::tombstone(status, length);
    match note(keys, route, claims.complete(&tombstone, &AnswerBytes::default()).await) {
        Changed::Done => Outcome::Tombstone,
        _ => Outcome::Unknown,
    }
}

/// Reads a body to its end, or until it has more than `bytes_max` or trailers.
async fn read<RB: Body<Data = Bytes>>(body: RB, bytes_max: usize) -> Read<RB> {
    let mut body = Box::pin(body);
    let mut frames: VecDeque<Frame<Bytes>> = VecDeque::new();
    let mut length = 0_usize;
    loop {
        match body.frame().await {
            None => break,
            Some(Err(_)) => return Read::Broken,
            Some(Ok(frame)) => {
                let is_data = frame.is_data();
                length = length.saturating_add(frame.data_ref().map_or(0, Bytes::len));
                frames.push_back(frame);
                if !is_data || length > bytes_max {
                    return Read::Cut(frames, body);
                }
            }
        }
    }
    let mut parts = frames.into_iter().filter_map(|frame| frame.into_data().ok());
    let Some(first) = parts.next() else { return Read::Whole(Bytes::new()) };
    let Some(second) = parts.next() else { return Read::Whole(first) };
    let mut whole = BytesMut::with_capacity(length);
    [first, second].into_iter().chain(parts).for_each(|part| whole.extend_from_slice(&part));
    Read::Whole(whole.freeze())
}
