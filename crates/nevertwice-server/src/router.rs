//! From the table of routes to a router, and what happens around every handler.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::http::Response;
use axum::http::request::Parts;
use axum::routing::{MethodRouter, on};
use nevertwice_api::ErrorCode;
use nevertwice_core::{Name, ShardId, TraceContext};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::access::{Access, CredentialName, Identity};
use crate::app::App;
use crate::call::{Call, Unread};
use crate::intent;
use crate::metrics::RouteNumber;
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::refused::Asker;
use crate::reply::Reply;
use crate::routes::{Method, ROUTES, Route};
use crate::trace::Traced;

pub(crate) fn router(app: &Arc<App>) -> Router {
    let mut router = Router::new();
    for (number, route) in ROUTES.iter().enumerate() {
        router = router.route(route.path, method_router(app, RouteNumber(number), route));
    }
    let (unmatched, wrong_method) = (Arc::clone(app), Arc::clone(app));
    router
        .fallback(move |request: Request| {
            let app = Arc::clone(&unmatched);
            async move {
                let path = request.uri().path();
                refused(
                    &app,
                    Refusal::new(
                        ErrorCode::RouteUnknown,
                        format!("There is nothing at {path:.200}"),
                        "See /openapi.json for the paths that there are",
                    ),
                )
            }
        })
        .method_not_allowed_fallback(move |request: Request| {
            let app = Arc::clone(&wrong_method);
            async move { refused(&app, wrong_method_at(&request)) }
        })
}

fn method_router(app: &Arc<App>, number: RouteNumber, route: &'static Route) -> MethodRouter {
    let app = Arc::clone(app);
    on(route.method.filter(), move |request: Request| answer(Arc::clone(&app), number, route, Box::new(request)))
}

async fn answer(app: Arc<App>, number: RouteNumber, route: &'static Route, request: Box<Request>) -> Response<Body> {
    let started = Instant::now();
    let metrics = Arc::clone(&app.metrics);
    let traced = app.steps.trace(request.headers());
    let span = Traced::span(traced.as_ref(), route.word);
    let result = run(app, route, request, traced.map(|traced| traced.caller)).instrument(span.clone()).await;
    let outcome = match &result {
        Ok(reply) => Ok(reply.outcome()),
        Err(refusal) => Err(refusal.code()),
    };
    let took = started.elapsed();
    metrics.requests.observe(number, outcome, took);
    span.in_scope(|| {
        if outcome == Err(ErrorCode::InvariantBroken) {
            tracing::error!(endpoint = route.word, "a counter would have fallen below zero: somebody has to look");
        }
        tracing::debug!(endpoint = route.word, ?outcome, ?took, "answered");
    });
    let mut response = match result {
        Ok(reply) => reply.into_response(),
        Err(refusal) => refusal.into_response(),
    };
    if let Some(traced) = traced {
        traced.answer(response.headers_mut());
    }
    response
}

async fn run(app: Arc<App>, route: &'static Route, request: Box<Request>, trace: Option<TraceContext>) -> Result<Reply, Refusal> {
    let (mut parts, body) = request.into_parts();
    let peer = parts.extensions.get::<Peer>().ok_or_else(|| Refusal::internal("a request from nowhere"))?.0;
    let key = route.keyed.then(|| intent::idempotency_key(&parts.headers));
    let known_key = key.as_ref().and_then(|key| key.as_ref().ok());
    let refused = |parts: &Parts, credential: Option<&CredentialName>, refusal: &Refusal| {
        Asker::stranger(route, parts, credential, peer, known_key).inspect(|asker| asker.tell(refusal));
    };
    let identity = match route.access {
        Access::Anyone => Identity::anyone(),
        _ => app.door.identify(&parts.headers, app.clock.now_ms()).inspect_err(|refusal| refused(&parts, None, refusal))?,
    };
    let names = if route.path.contains('{') {
        Some(RawPathParams::from_request_parts(&mut parts, &()).await.map_err(|_| {
            Refusal::new(
                ErrorCode::NameInvalid,
                "A name in the path is not UTF-8",
                "Names have 1 to 64 of the letters A to Z and a to z, digits, and - _ . : @",
            )
        })?)
    } else {
        None
    };
    let shard = names.as_ref().and_then(shard_in);
    let name = identity.name.clone();
    let admitted = app.door.admit(route.access, shard.as_ref(), identity, &parts.headers, peer);
    let caller = admitted.inspect_err(|refusal| refused(&parts, Some(&name), refusal))?;
    tracing::debug!(endpoint = route.word, credential = caller.name.as_str(), peer = %caller.peer, "let in");
    if route.is_at_once {
        return (route.handle)(Box::new(Call { app, caller, origin: None, key: None, names, parts, body: Unread::new(body) })).await;
    }
    let attempt = known_key.map(|key| app.attempts.begin(&caller.principal, key, app.clock.now_ms()));
    let asker = Asker::known(route, &parts, &caller, known_key);
    let origin = if route.method == Method::Post { caller.origin(trace, route.traffic) } else { None };
    let limited = Arc::clone(&app);
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
fn shard_in(names: &RawPathParams) -> Option<ShardId> {
    names.iter().find_map(|(placeholder, text)| match placeholder {
        "market" => Some(ShardId::market(Name::new(text).ok()?)),
        "sale" => Some(ShardId::sale(Name::new(text).ok()?)),
        _ => None,
    })
}

fn refused(app: &App, refusal: Refusal) -> Response<Body> {
    app.metrics.requests.observe(RouteNumber::UNMATCHED, Err(refusal.code()), std::time::Duration::ZERO);
    refusal.into_response()
}

fn wrong_method_at(request: &Request) -> Refusal {
    let path = request.uri().path();
    let methods: Vec<&str> = ROUTES.iter().filter(|route| fits(route.path, path)).map(|route| route.method.word()).collect();
    let methods = methods.join(", ");
    Refusal::new(ErrorCode::MethodNotAllowed, format!("This path does not take {:.20}", request.method()), &format!("It takes {methods}"))
        .allow(&methods)
}

fn fits(pattern: &str, path: &str) -> bool {
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return true,
            (Some(known), Some(here)) if known.starts_with('{') || known == here => {}
            _ => return false,
        }
    }
}
