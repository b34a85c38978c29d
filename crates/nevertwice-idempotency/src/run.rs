//! Runs the handler under its claims: the heartbeat beside it, and what becomes of the key when it has answered.

use std::error::Error;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, response};
use http_body::{Body, Frame};
use nevertwice_api::{AnswerBytes, HeldKey};
use tokio::time::Instant;
use tower_service::Service;

use crate::answer::kept_head;
use crate::body::KeysBody;
use crate::claim::{Changed, Claims};
use crate::detached::caught;
use crate::effect::{Effect, Seen, of_answer};
use crate::flights::Flight;
use crate::guard::{Answered, Held, unknown};
use crate::heartbeat::Heartbeats;
use crate::read::{Copied, Read, copy, pass_rest, read_answer};
use crate::routes::Route;
use crate::tee::{TeeWriter, tee};
use crate::{Keys, Outcome, Policy};

/// The number of the claim under which a handler runs, in the request's extensions. Pass it on to what the handler calls: whoever
/// remembers the highest one that it has seen can refuse an attempt that was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation(pub u64);

/// The claims under which a handler runs, in the request's extensions: one, or two while the secret of keys is being changed. A handler
/// that keeps its answer itself, in the transaction of its own database that has its effect, names them there; the layer then finds the
/// answer kept, and keeps none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldKeys(pub Arc<[HeldKey]>);

/// What an attempt holds until its key is settled.
pub(crate) struct Attempt {
    pub(crate) keys: Arc<Keys>,
    pub(crate) route: Arc<Route>,
    pub(crate) claims: Arc<Claims>,
    pub(crate) taken_over: bool,
    /// Those of this process who wait for the answer go on when it ends.
    pub(crate) _flight: Option<Flight>,
    pub(crate) _held: Held,
}

/// What is known of an answer when its key is settled.
struct Ended {
    effect: Effect,
    status: u16,
    /// The header lines that are kept; none if they are too many.
    lines: Option<Bytes>,
    body: BodyRead,
    /// Bytes of the body, as far as it was read.
    length: u64,
}

enum BodyRead {
    Whole(Bytes),
    Cut,
    Broken,
}

/// What is kept of the head, and of the trailers, of an answer with that effect.
fn lines(effect: Effect, headers: &HeaderMap, trailers: Option<&HeaderMap>, policy: &Policy) -> Option<Bytes> {
    if effect == Effect::Kept { kept_head(headers, trailers, policy) } else { None }
}

impl Attempt {
    pub(crate) async fn run<S, B, RB>(self, mut request: Request<B>, mut service: S) -> Answered<RB, S::Error>
    where
        S: Service<Request<B>, Response = Response<RB>> + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Send + 'static,
        B: Send + 'static,
        RB: Body<Data = Bytes> + Send + 'static,
        RB::Error: Into<Box<dyn Error + Send + Sync>> + Send,
    {
        request.extensions_mut().insert(Generation(self.claims.generation()));
        request.extensions_mut().insert(HeldKeys(self.claims.held_keys()));
        let start = Instant::now();
        let heartbeat = Heartbeats::start(&self.claims, start);
        let answered = match catch_unwind(AssertUnwindSafe(|| service.call(request))) {
            Ok(answering) => caught(pin!(whole(pin!(answering), &self.route.policy))).await,
            Err(_) => None,
        };
        heartbeat.end().await;
        let (mut head, read) = match answered {
            Some(Ok(answered)) => answered,
            Some(Err(error)) => {
                Box::pin(self.end_unknown()).await;
                return Err(error);
            }
            None => {
                Box::pin(self.end_unknown()).await;
                return Ok(unknown(&self.route.policy).render());
            }
        };
        let seen = if let Read::Whole(_, trailers) = &read { Seen::End(trailers.as_ref()) } else { Seen::Head };
        let effect = of_answer(&mut head, seen, &self.route.policy);
        let status = head.status.as_u16();
        match read {
            Read::Whole(bytes, trailers) => {
                let lines = lines(effect, &head.headers, trailers.as_ref(), &self.route.policy);
                let body = BodyRead::Whole(bytes.clone());
                self.settle(Ended { effect, status, lines, body, length: bytes.len() as u64 }, start).await;
                Ok(Response::from_parts(head, KeysBody::with_trailers(bytes, trailers)))
            }
            Read::Cut(first, next, rest) => {
                let next_bytes = next.as_ref().and_then(Frame::data_ref).map_or(0, Bytes::len);
                let length = first.len().saturating_add(next_bytes) as u64;
                Box::pin(self.settle(Ended { effect, status, lines: None, body: BodyRead::Cut, length }, start)).await;
                Ok(Response::from_parts(head, KeysBody::resumed(first, next, rest)))
            }
            Read::Broken => {
                let ended = Ended { effect, status, lines: None, body: BodyRead::Broken, length: 0 };
                Box::pin(self.settle(ended, start)).await;
                Ok(unknown(&self.route.policy).render())
            }
            Read::Unread(body) => {
                let (writer, reader) = tee();
                let (headers, route) = (head.headers.clone(), Arc::clone(&self.route));
                let ended = move |body, length, trailers: Option<&HeaderMap>| {
                    let lines = lines(effect, &headers, trailers, &route.policy);
                    Ended { effect, status, lines, body, length }
                };
                tokio::spawn(Box::pin(self.carry(body, writer, start, ended)));
                Ok(Response::from_parts(head, KeysBody::copied(reader)))
            }
        }
    }

    /// Copies an answer that the client sees as it comes, settles the key, and only then shows the end of it.
    async fn carry<RB>(
        self,
        body: Pin<Box<RB>>,
        writer: TeeWriter,
        start: Instant,
        ended: impl FnOnce(BodyRead, u64, Option<&HeaderMap>) -> Ended,
    ) where
        RB: Body<Data = Bytes> + Send + 'static,
        RB::Error: Into<Box<dyn Error + Send + Sync>> + Send,
    {
        let heartbeat = Heartbeats::start(&self.claims, Instant::now());
        let copied = caught(pin!(copy(body, writer, &self.route.policy))).await;
        heartbeat.end().await;
        let Some((copied, writer)) = copied else { return self.end_unknown().await };
        let length = writer.copied() as u64;
        match copied {
            Copied::Whole(bytes, trailers) => {
                self.settle(ended(BodyRead::Whole(bytes), length, trailers.as_ref()), start).await;
                writer.finish(trailers);
            }
            Copied::Cut(first, rest) => {
                self.settle(ended(BodyRead::Cut, length, None), start).await;
                drop(self);
                pass_rest(first, rest, writer).await;
            }
            Copied::Broken(error) => {
                self.settle(ended(BodyRead::Broken, length, None), start).await;
                writer.fail(error);
            }
        }
    }

    /// Settles the key by what was answered.
    async fn settle(&self, ended: Ended, start: Instant) {
        self.keys.observer.handled(&self.route.pattern, start.elapsed(), ended.length);
        let outcome = match (ended.effect, &ended.body) {
            (Effect::Nothing, _) => match self.note(Box::pin(self.claims.release()).await) {
                Changed::Done => Outcome::Freed,
                // Nothing has happened, and the key can't be told so: it ends as a lapsed lease.
                _ => Outcome::Unknown,
            },
            (Effect::Unknown, _) | (Effect::Kept, BodyRead::Broken) => return Box::pin(self.end_unknown()).await,
            (Effect::Kept, _) => self.keep(ended).await,
        };
        self.keys.observer.ended(&self.route.pattern, outcome);
    }

    /// Ends the lease: what became of the work is not known.
    async fn end_unknown(&self) {
        self.note(self.claims.renew(0).await);
        self.keys.observer.ended(&self.route.pattern, Outcome::Unknown);
    }

    /// Brings the answer to the store, or a tombstone where it can't be kept. The key is never freed for that.
    async fn keep(&self, ended: Ended) -> Outcome {
        let Ended { status, lines, body, length, .. } = ended;
        if let (BodyRead::Whole(body), Some(lines)) = (body, lines) {
            let bytes = AnswerBytes { head: lines, body };
            match self.note(self.claims.complete(&bytes.describe(status), &bytes).await) {
                Changed::Done if self.taken_over => return Outcome::Rerun,
                Changed::Done => return Outcome::Fresh,
                Changed::BytesRefused => {}
                Changed::Stale | Changed::Failed => return Outcome::Unknown,
            }
        }
        let tombstone = AnswerBytes::tombstone(status, length);
        match self.note(Box::pin(self.claims.complete(&tombstone, &AnswerBytes::default())).await) {
            Changed::Done => Outcome::Tombstone,
            _ => Outcome::Unknown,
        }
    }

    fn note(&self, changed: Changed) -> Changed {
        if changed == Changed::Stale {
            self.keys.observer.stale_owner_refused(&self.route.pattern);
        }
        changed
    }
}

/// The answer of a handler, its body read as far as the policy wants it before the client sees anything.
async fn whole<F, RB, E>(answering: Pin<&mut F>, policy: &Policy) -> Result<(response::Parts, Read<RB>), E>
where
    F: Future<Output = Result<Response<RB>, E>>,
    RB: Body<Data = Bytes>,
{
    let (head, body) = answering.await?.into_parts();
    let read = read_answer(&head, body, policy).await;
    Ok((head, read))
}
