//! From the table of routes to whoever answers, and what happens around every handler.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::{Body, HttpBody as _};
use axum::http::request::Parts;
use axum::http::{Method as HttpMethod, Request, Response, header};
use nevertwice_api::ErrorCode;
use nevertwice_core::{Name, ShardId, TraceContext};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::access::{Access, CredentialName, Identity};
use crate::app::App;
use crate::call::{Call, Unread};
use crate::intent;
use crate::metrics::RouteNumber;
use crate::names::Names;
use crate::refusal::Refusal;
use crate::refused::Asker;
use crate::reply::Reply;
use crate::routes::{Method, ROUTES, Route};
use crate::share::Share;
use crate::trace::Traced;

/// The routes of one path, by their methods.
#[derive(Clone, Copy, Debug, Default)]
struct AtPath {
    get: Option<RouteNumber>,
    post: Option<RouteNumber>,
}

impl AtPath {
    fn of(self, method: &HttpMethod) -> Option<RouteNumber> {
        match *method {
            HttpMethod::GET | HttpMethod::HEAD => self.get,
            HttpMethod::POST => self.post,
            _ => None,
        }
    }

    fn words(self) -> String {
        let methods = [(self.get, Method::Get), (self.post, Method::Post)];
        let words: Vec<&str> = methods.iter().filter(|(route, _)| route.is_some()).map(|(_, method)| method.word()).collect();
        words.join(", ")
    }
}

/// Finds the route of a request. It is a table beside the routes alone: no service is made, cloned or boxed for a request, as a
/// router of services does, which costs an order some percent of its time.
#[derive(Debug)]
pub(crate) struct Router(matchit::Router<AtPath>);

impl Router {
    /// The routes of the table.
    ///
    /// # Panics
    /// If two paths of the table are in each other's way.
    pub(crate) fn new() -> Self {
        let mut paths: Vec<(&str, AtPath)> = Vec::new();
        for (number, route) in ROUTES.iter().enumerate() {
            let place = paths.iter().position(|(path, _)| *path == route.path).unwrap_or_else(|| {
                paths.push((route.path, AtPath::default()));
                paths.len() - 1
            });
            let at_path = &mut paths[place].1;
            match route.method {
                Method::Get => at_path.get = Some(RouteNumber(number)),
                Method::Post => at_path.post = Some(RouteNumber(number)),
            }
        }
        let mut router = matchit::Router::new();
        for (path, at_path) in paths {
            router.insert(path, at_path).expect("the paths of the table are in nobody's way");
        }
        Self(router)
    }

    fn find(&self, method: &HttpMethod, path: &str) -> Result<(RouteNumber, &'static Route), Refusal> {
        let Ok(found) = self.0.at(path) else {
            return Err(Refusal::new(
                ErrorCode::RouteUnknown,
                format!("There is nothing at {path:.200}"),
                "See /openapi.json for the paths that there are",
            ));
        };
        let route = found.value.of(method).and_then(|number| Some((number, ROUTES.get(number.0)?)));
        route.ok_or_else(|| {
            let methods = found.value.words();
            let wrong = format!("This path does not take {:.20}", method.as_str());
            Refusal::new(ErrorCode::MethodNotAllowed, wrong, &format!("It takes {methods}")).allow(&methods)
        })
    }
}

/// Answers a request that came from an address.
pub(crate) async fn answer(app: Share, request: Request<Body>, peer: IpAddr) -> Response<Body> {
    let (number, route) = match app.router.find(request.method(), request.uri().path()) {
        Ok(found) => found,
        Err(refusal) => return refused(&app, refusal),
    };
    let is_head = request.method() == HttpMethod::HEAD;
    let started = Instant::now();
    let traced = app.steps.trace(request.headers());
    let recording = app.recorder.as_ref().and_then(|recorder| {
        recorder.begin(traced.as_ref(), route, || shard_in(&Names::of(route.path, request.uri().path()).unwrap_or_default()))
    });
    let span = Traced::span(traced.as_ref(), route.word);
    let answering = run(app.clone(), route, request, peer, traced.map(|traced| traced.caller)).instrument(span.clone());
    let result = match &recording {
        None => answering.await,
        Some(recording) => Arc::clone(recording).scope(Box::pin(answering)).await,
    };
    let outcome = match &result {
        Ok(reply) => Ok(reply.outcome()),
        Err(refusal) => Err(refusal.code()),
    };
    let took = started.elapsed();
    app.metrics.requests.observe(number, outcome, took);
    span.in_scope(|| {
        if outcome == Err(ErrorCode::InvariantBroken) {
            tracing::error!(endpoint = route.word, "a counter would have fallen below zero: somebody has to look");
        }
        tracing::debug!(endpoint = route.word, ?outcome, ?took, "answered");
    });
    let position = recording.as_ref().and_then(|_| result.as_ref().map_or_else(Refusal::position, Reply::position));
    let mut response = match result {
        Ok(reply) => reply.into_response(),
        Err(refusal) => refusal.into_response(),
    };
    if let (Some(recorder), Some(recording)) = (&app.recorder, recording) {
        recorder.end(&recording, response.status(), outcome, position);
    }
    if let Some(traced) = traced {
        traced.answer(response.headers_mut());
    }
    if is_head { without_body(response) } else { response }
}

/// The head of an answer alone; it says how long the body would have been (RFC 9110, 9.3.2).
fn without_body(response: Response<Body>) -> Response<Body> {
    let (mut head, body) = response.into_parts();
    if let Some(length) = body.size_hint().exact() {
        head.headers.insert(header::CONTENT_LENGTH, length.into());
    }
    Response::from_parts(head, Body::empty())
}

async fn run(
    app: Share,
    route: &'static Route,
    request: Request<Body>,
    peer: IpAddr,
    trace: Option<TraceContext>,
) -> Result<Reply, Refusal> {
    let (parts, body) = request.into_parts();
    let key = route.keyed.then(|| intent::idempotency_key(&parts.headers));
    let known_key = key.as_ref().and_then(|key| key.as_ref().ok());
    let refused = |parts: &Parts, credential: Option<&CredentialName>, refusal: &Refusal| {
        Asker::stranger(route, parts, credential, peer, known_key).inspect(|asker| asker.tell(refusal));
    };
    let identity = match route.access {
        Access::Anyone => Identity::anyone(),
        _ => app.door.identify(&parts.headers, app.clock.now_ms()).inspect_err(|refusal| refused(&parts, None, refusal))?,
    };
    let names = Names::of(route.path, parts.uri.path())?;
    let shard = shard_in(&names);
    let name = identity.name.clone();
    let admitted = app.door.admit(route.access, shard.as_ref(), identity, &parts.headers, peer);
    let caller = admitted.inspect_err(|refusal| refused(&parts, Some(&name), refusal))?;
    tracing::debug!(endpoint = route.word, credential = caller.name.as_str(), peer = %caller.peer, "let in");
    if route.is_at_once {
        return (route.handle)(Box::new(Call { app, caller, origin: None, key: None, names, parts, body: Unread::new(body) })).await;
    }
    let limited = app.clone();
    let attempt = known_key.map(|key| limited.attempts.begin(&caller.principal, key, app.clock.now_ms()));
    let asker = Asker::known(route, &parts, &caller, known_key);
    let origin = if route.method == Method::Post { caller.origin(trace, route.traffic) } else { None };
    // Held until the answer is there.
    let result = match limited.limiter.enter(&caller, limited.steady.now_ms()).await {
        Ok(_entered) => (route.handle)(Box::new(Call { app, caller, origin, key, names, parts, body: Unread::new(body) })).await,
        Err(refusal) => Err(refusal),
    };
    if let (Some(asker), Err(refusal)) = (asker, &result) {
        asker.tell(refusal);
    }
    if let Some(attempt) = attempt {
        let outcome = result.as_ref().map(Reply::outcome).map_err(Refusal::code);
        attempt.end(outcome.into(), result.as_ref().map_or_else(Refusal::position, Reply::position));
    }
    result
}

/// The shard that a path names, if it names one.
fn shard_in(names: &Names) -> Option<ShardId> {
    let name = |placeholder| Name::new(names.get(placeholder)?).ok();
    name("market").map(ShardId::market).or_else(|| name("sale").map(ShardId::sale))
}

fn refused(app: &App, refusal: Refusal) -> Response<Body> {
    app.metrics.requests.observe(RouteNumber::UNMATCHED, Err(refusal.code()), std::time::Duration::ZERO);
    refusal.into_response()
}
