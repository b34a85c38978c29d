//! One request at a guarded route, from its key to its answer.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, Request, Response};
use http_body::Body;
use nevertwice_api::key_header::{self, KeyHeaderError};
use nevertwice_api::{AnswerBytes, ErrorCode, KeyStoreFailure};
use nevertwice_core::IdempotencyKey;
use nevertwice_core::keys::{BodyKept, KeyId, KeyRejection, LapsePolicy, RegisterKey};
use tokio::time::{Instant, timeout_at};
use tower_service::Service;

use crate::answer::{Refusal, replay};
use crate::body::KeysBody;
use crate::claim::{Changed, Claimed, Claims};
use crate::detached::{Begun, Detached};
use crate::effect::EFFECT;
use crate::flights::{Entry, Flight};
use crate::gather::{Gather, gather_in_time};
use crate::heartbeat::Heartbeats;
use crate::key_age::made_at;
use crate::keys::code_of;
use crate::routes::Route;
use crate::run::Attempt;
use crate::{Became, Caller, Keys, Outcome, Policy, StoreDown, fingerprint, grpc};

static KEY: HeaderName = HeaderName::from_static("idempotency-key");
static EXPIRES: HeaderName = HeaderName::from_static("idempotency-expires");

/// What a request means, once it has been read.
pub(crate) struct Meant {
    ids: Vec<KeyId>,
    caller: Caller,
    fingerprint: [u8; 32],
    expires_at: Option<i64>,
}

/// What is held until the key is settled, whether or not the client is still there.
pub(crate) type Held = Option<Arc<dyn Any + Send + Sync>>;

pub(crate) type Answered<RB, E> = Result<Response<KeysBody<RB>>, E>;

/// The answer to a request that is on its way.
pub struct KeysFuture<RB: Send + 'static, E: Send + 'static> {
    work: Detached<Answered<RB, E>>,
    /// None where the request passes unguarded.
    policy: Option<Arc<Policy>>,
    /// Whether it is a call of gRPC, which hears refusals in its own way.
    is_call: bool,
}

impl<RB: Send + 'static, E: Send + 'static> KeysFuture<RB, E> {
    /// Lets a request through, unguarded.
    pub(crate) fn passed<S, B>(request: Request<B>, service: S) -> Self
    where
        S: Service<Request<B>, Response = Response<RB>, Error = E> + Send + 'static,
        S::Future: Send + 'static,
        B: Send + 'static,
    {
        Self { work: Detached::new(|_| passed(request, service)), policy: None, is_call: false }
    }

    /// Tells refusals as gRPC does, if it is one of its calls.
    pub(crate) fn of_call(self, is_call: bool) -> Self {
        Self { is_call, ..self }
    }
}

impl<RB: Send + 'static, E: Send + 'static> Future for KeysFuture<RB, E> {
    type Output = Answered<RB, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answered = ready!(Pin::new(&mut self.work).poll(cx));
        match (answered, &self.policy) {
            (Some(answered), _) if self.is_call => Poll::Ready(answered.map(grpc::refusal)),
            (Some(answered), _) => Poll::Ready(answered),
            (None, Some(policy)) if self.is_call => Poll::Ready(Ok(grpc::refusal(unknown(policy).render()))),
            (None, Some(policy)) => Poll::Ready(Ok(unknown(policy).render())),
            // What passes never begins, and only what has begun may panic and end.
            (None, None) => Poll::Pending,
        }
    }
}

/// Lets a request through, unguarded. What the handler says about a key is meant for nobody then, and taken off.
pub(crate) async fn passed<S, B, RB>(request: Request<B>, mut service: S) -> Answered<RB, S::Error>
where
    S: Service<Request<B>, Response = Response<RB>>,
{
    service.call(request).await.map(|mut response| {
        response.headers_mut().remove(&EFFECT);
        response.map(KeysBody::passed)
    })
}

/// Answers a request of a guarded route. From the claim on it goes on whoever hangs up; until then nothing has been asked for.
pub(crate) fn guarded<S, B, G, RB>(
    keys: Arc<Keys>,
    gather: G,
    route: Arc<Route>,
    request: Request<B>,
    service: S,
    held: Held,
) -> KeysFuture<RB, S::Error>
where
    S: Service<Request<B>, Response = Response<RB>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    B: From<G::Whole> + Send + 'static,
    G: Gather<B>,
    RB: Body<Data = Bytes> + Send + 'static,
    RB::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
{
    let policy = route.policy.clone();
    let work = Detached::new(move |begun| looked_at(keys, gather, route, request, service, held, begun));
    KeysFuture { work, policy: Some(policy), is_call: false }
}

/// Finds out what a request means, and answers it.
async fn looked_at<S, B, G, RB>(
    keys: Arc<Keys>,
    gather: G,
    route: Arc<Route>,
    request: Request<B>,
    service: S,
    held: Held,
    begun: Begun,
) -> Answered<RB, S::Error>
where
    S: Service<Request<B>, Response = Response<RB>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    B: From<G::Whole> + Send + 'static,
    G: Gather<B>,
    RB: Body<Data = Bytes> + Send + 'static,
    RB::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
{
    let ended = |outcome| keys.observer.ended(&route.pattern, outcome);
    let (parts, body) = request.into_parts();
    let key = match key_of(&parts) {
        Ok(Some(key)) => key,
        Ok(None) if !route.policy.required => {
            ended(Outcome::WithoutKey);
            return Box::pin(passed(Request::from_parts(parts, body), service)).await;
        }
        Ok(None) => {
            ended(Outcome::WithoutKey);
            let detail =
                "The Idempotency-Key header is missing. Nothing was done. Draw a key for each intent, and send it with every retry.";
            return Ok(Refusal::new(ErrorCode::IdempotencyKeyMissing, detail).with_status(route.policy.missing_status).render());
        }
        Err(refusal) => {
            ended(Outcome::Refused);
            return Ok(refusal.render());
        }
    };
    let (meant, body) = match read(&keys, &gather, &route, &key, &parts, body).await {
        Ok(read) => read,
        Err(refusal) => {
            ended(Outcome::Refused);
            return Ok(refusal.render());
        }
    };
    // From here on a client that hangs up changes nothing.
    begun.set();
    match told(&keys, &route, &meant, &parts).await {
        Told::Runs { claims, taken_over, flight } => {
            let attempt = Attempt { keys, route, claims, taken_over, _flight: flight, _held: held };
            attempt.run(Request::from_parts(parts, B::from(body)), service).await
        }
        Told::Answer(response) => Ok(response),
        Told::Unguarded => Box::pin(passed(Request::from_parts(parts, B::from(body)), service)).await,
    }
}

/// The key of a request: none where there is no such header.
pub(crate) fn key_of(parts: &Parts) -> Result<Option<IdempotencyKey>, Refusal> {
    let mut lines = parts.headers.get_all(&KEY).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    let invalid = |what: String| {
        Refusal::new(
            ErrorCode::IdempotencyKeyInvalid,
            format!("{what}. Nothing was done. Send one key of 1 to 255 visible ASCII characters."),
        )
    };
    if lines.next().is_some() {
        return Err(invalid("The Idempotency-Key header came more than once".to_owned()));
    }
    key_header::parse(line.as_bytes()).map(Some).map_err(|error: KeyHeaderError| invalid(error.to_string()))
}

fn expires_at(parts: &Parts) -> Result<Option<i64>, Refusal> {
    let mut lines = parts.headers.get_all(&EXPIRES).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    let instant = line.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit())).and_then(|text| text.parse().ok());
    match (instant, lines.next()) {
        (Some(instant), None) => Ok(Some(instant)),
        _ => Err(Refusal::new(
            ErrorCode::IntentExpiresInvalid,
            "The Idempotency-Expires header is not one instant in milliseconds since 1970. Nothing was done.",
        )),
    }
}

/// Reads a request whole and finds out what it means. Nothing is claimed yet: whoever hangs up now has asked for nothing.
pub(crate) async fn read<B, G: Gather<B>>(
    keys: &Keys,
    gather: &G,
    route: &Route,
    key: &IdempotencyKey,
    parts: &Parts,
    body: B,
) -> Result<(Meant, G::Whole), Refusal> {
    let policy = &*route.policy;
    let caller = match keys.identity.caller(parts) {
        Some(caller) => caller,
        None if policy.anonymous_shares => Caller { tenant: String::new(), principal: String::new() },
        None => {
            let detail = "Nobody knows who calls, so the key can't be told from another's. Nothing was done. Send credentials.";
            return Err(Refusal::new(ErrorCode::CredentialsMissing, detail));
        }
    };
    let expires_at = expires_at(parts)?;
    if policy.refuse_old_keys
        && let Some(made_at) = made_at(key.as_str())
        && made_at.saturating_add(policy.retention_ms) <= keys.clock.now_ms()
    {
        let detail = "The key is older than keys are remembered. Nothing was done. Find out what became of the first request.";
        return Err(Refusal::new(ErrorCode::IntentExpired, detail));
    }
    let whole = gather_in_time(&keys.request_timers, gather, policy, body).await?;
    let ids = keys.secrets.ids(&caller, parts, policy, key.as_str());
    let head = fingerprint::Head::of(parts, &route.policy);
    let (whole, fingerprint) = gather.digest(whole, move |body| head.with_body(body)).await?;
    Ok((Meant { ids, caller, fingerprint, expires_at }, whole))
}

/// What the store told of a key, and what that means for the request.
enum Told<RB> {
    /// The attempt may run.
    Runs { claims: Arc<Claims>, taken_over: bool, flight: Option<Flight> },
    /// What is known, or a refusal.
    Answer(Response<KeysBody<RB>>),
    /// The store can't be used, and the route runs all the same.
    Unguarded,
}

/// Claims the key, or finds out what to answer.
async fn told<RB>(keys: &Arc<Keys>, route: &Arc<Route>, meant: &Meant, parts: &Parts) -> Told<RB> {
    let policy = &*route.policy;
    let ended = |outcome| keys.observer.ended(&route.pattern, outcome);
    let refused = |refusal: Refusal, outcome| {
        ended(outcome);
        Told::Answer(refusal.render())
    };
    let owner = keys.attempt();
    let command = RegisterKey {
        fingerprint: meant.fingerprint,
        owner,
        lease_ms: policy.lease_ms,
        retention_ms: policy.retention_ms,
        expires_at: meant.expires_at,
        lapse: policy.lapse,
    };
    let deadline = (policy.wait_ms > 0).then(|| Instant::now() + Duration::from_millis(policy.wait_ms));
    let (claimed, flight) = loop {
        // Where nobody waits, nobody need be found.
        let entry = deadline.zip(meant.ids.last()).map(|(deadline, id)| (deadline, keys.flights.enter(*id)));
        let flight = match entry {
            Some((deadline, Entry::Follows(mut ends))) if Instant::now() < deadline => {
                // Another body is told so at once; the same one waits.
                if let Ok(Claimed::Refused(rejection @ KeyRejection::FingerprintMismatch { .. }, at_ms)) =
                    Box::pin(peek(keys, meant, &command)).await
                {
                    break (Ok(Claimed::Refused(rejection, at_ms)), None);
                }
                let _ = timeout_at(deadline, ends.changed()).await;
                continue;
            }
            Some((_, Entry::First(flight))) => Some(flight),
            _ => None,
        };
        break (Claims::claim(keys, route, keys.principal(&meant.caller), &meant.ids, &command).await, flight);
    };
    let (claims, taken_over) = match claimed {
        Ok(Claimed::Runs { claims, taken_over }) => (claims, taken_over),
        Ok(Claimed::Replay(kept, bytes)) => {
            if policy.authorise_replay.as_ref().is_some_and(|authorise| !authorise(&meant.caller, parts)) {
                let detail = "The answer is known, and the caller may not see it any more. Nothing was done.";
                return refused(Refusal::new(ErrorCode::RoleInsufficient, detail), Outcome::Refused);
            }
            if kept.body == BodyKept::Whole
                && let Some(response) = replay(&kept, bytes, policy)
            {
                ended(Outcome::Replay);
                return Told::Answer(response);
            }
            let figures = vec![("status", u64::from(kept.status)), ("body_bytes", kept.body_bytes)];
            let detail =
                format!("The request was carried out with status {}, and its answer was not kept. It is not run again.", kept.status);
            return refused(Refusal { figures, ..Refusal::new(ErrorCode::AnswerNotKept, detail) }, Outcome::ReplayOfTombstone);
        }
        Ok(Claimed::Refused(rejection, at_ms)) => {
            let (refusal, outcome) = of_rejection(&rejection, at_ms, policy);
            return refused(refusal, outcome);
        }
        Err(KeyStoreFailure::Unavailable | KeyStoreFailure::OutcomeUnknown) if policy.store_down == StoreDown::Open => {
            ended(Outcome::StoreDownOpen);
            return Told::Unguarded;
        }
        Err(KeyStoreFailure::PrincipalFull) => {
            let detail = "You hold as many keys, or as many bytes of answers, as one caller may. Nothing was done. Send the same request \
                          again when earlier keys are forgotten.";
            return refused(Refusal::new(ErrorCode::KeysFull, detail).after(60_000), Outcome::PrincipalFull);
        }
        Err(failure) => {
            let outcome = if failure == KeyStoreFailure::Full { Outcome::StoreFull } else { Outcome::StoreDownClosed };
            let detail = "The key could not be claimed, so nothing was run. Send the same request with the same key again.";
            return refused(Refusal::new(code_of(&failure), detail).after(1_000), outcome);
        }
    };
    let claims = Arc::new(claims);
    if taken_over
        && policy.lapse == LapsePolicy::Ask
        && let Err((refusal, outcome)) = Box::pin(ask(keys, policy, meant, &claims, parts)).await
    {
        return refused(refusal, outcome);
    }
    Told::Runs { claims, taken_over, flight }
}

/// Asks what became of an attempt whose lease had ended, and says why this one may not run.
async fn ask(keys: &Keys, policy: &Policy, meant: &Meant, claims: &Arc<Claims>, parts: &Parts) -> Result<(), (Refusal, Outcome)> {
    let became = match &policy.ask {
        Some(ask) => {
            // The lease is renewed meanwhile: nobody else asks, or runs it, beside this one.
            let heartbeat = Heartbeats::start(claims, Instant::now());
            let became = ask.what_became(parts).await;
            heartbeat.end().await;
            became
        }
        None => Became::Unknown,
    };
    match became {
        Became::Nothing if meant.expires_at.is_some_and(|expires_at| expires_at <= keys.clock.now_ms()) => {
            claims.release().await;
            let detail = "The key's time has run out, and nothing has happened with it. Nothing was done.";
            Err((Refusal::new(ErrorCode::IntentExpired, detail), Outcome::Refused))
        }
        // Nobody runs anything whose lease is not his: another may have taken it over, or may do so now.
        Became::Nothing if claims.renew(policy.lease_ms).await != Changed::Done => Err((lapsed(policy), Outcome::Lapsed)),
        Became::Nothing => Ok(()),
        Became::Done => {
            claims.complete(&AnswerBytes::tombstone(200, 0), &AnswerBytes::default()).await;
            let detail = "The request was carried out, and its answer is lost. It is not run again.";
            Err((Refusal::new(ErrorCode::AnswerNotKept, detail), Outcome::ReplayOfTombstone))
        }
        Became::Unknown => {
            claims.renew(0).await;
            Err((lapsed(policy), Outcome::Lapsed))
        }
    }
}

/// Asks only whether the key is used for something else: under the policy that takes nothing over, by an owner that never runs.
async fn peek(keys: &Keys, meant: &Meant, command: &RegisterKey) -> Result<Claimed, KeyStoreFailure> {
    for id in &meant.ids {
        if let Some(record) = keys.ask("inspect", || keys.store.inspect(*id)).await? {
            let at_ms = record.changed_at;
            if let Err(rejection) = (RegisterKey { lapse: LapsePolicy::Refuse, ..command.clone() }).decide(Some(&record), at_ms).reply {
                return Ok(Claimed::Refused(rejection, at_ms));
            }
        }
    }
    Err(KeyStoreFailure::Unavailable)
}

/// To the attempt that ran.
pub(crate) fn unknown(policy: &Policy) -> Refusal {
    let detail = "The request began to run, and nobody knows what became of it. Find out before a new key is made.";
    Refusal::new(ErrorCode::OutcomeUnknown, detail).after(policy.lease_ms)
}

/// To an attempt that comes after it.
fn lapsed(policy: &Policy) -> Refusal {
    let detail =
        "An attempt with this key began, and nobody knows what became of it. Nothing was run now. Find out before a new key is made.";
    Refusal::new(ErrorCode::OutcomeUnknown, detail).after(policy.lease_ms)
}

fn of_rejection(rejection: &KeyRejection, at_ms: i64, policy: &Policy) -> (Refusal, Outcome) {
    let code = ErrorCode::from(rejection);
    match rejection {
        KeyRejection::FingerprintMismatch { .. } => {
            let detail = "The key was used for something else. Nothing was done. Send the first request as it was, or use a new key.";
            (Refusal::new(code, detail).with_status(policy.mismatch_status), Outcome::Mismatch)
        }
        KeyRejection::KeyInProgress { lease_expires_at, .. } => {
            let detail = "The same request is being worked on. Nothing was done by this one. Send it again with the same key.";
            let refusal = Refusal::new(code, detail).with_status(policy.in_progress_status);
            (refusal.after(lease_expires_at.saturating_sub(at_ms)), Outcome::InProgress)
        }
        KeyRejection::KeyLapsed { .. } => (lapsed(policy), Outcome::Lapsed),
        _ => (Refusal::new(code, format!("{}. Nothing was done.", code.title())), Outcome::Refused),
    }
}
