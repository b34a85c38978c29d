//! From the table of routes to a router, and what happens around every handler.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::http::Response;
use axum::routing::{MethodRouter, on};
use nevertwice_api::ErrorCode;
use tokio::time::Instant;

use crate::app::App;
use crate::call::{Call, Unread};
use crate::metrics::RouteNumber;
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::routes::{ROUTES, Route};

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
    let result = run(app, route, request).await;
    let outcome = match &result {
        Ok(reply) => Ok(reply.outcome()),
        Err(refusal) => Err(refusal.code()),
    };
    if outcome == Err(ErrorCode::InvariantBroken) {
        tracing::error!(endpoint = route.word, "a counter would have fallen below zero: somebody has to look");
    }
    let took = started.elapsed();
    metrics.requests.observe(number, outcome, took);
    tracing::debug!(endpoint = route.word, ?outcome, ?took, "answered");
    match result {
        Ok(reply) => reply.into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

async fn run(app: Arc<App>, route: &'static Route, request: Box<Request>) -> Result<Reply, Refusal> {
    let (mut parts, body) = request.into_parts();
    let peer = parts.extensions.get::<Peer>().ok_or_else(|| Refusal::internal("a request from nowhere"))?.0;
    let caller = app.door.admit(route.access, &parts.headers, peer)?;
    tracing::debug!(endpoint = route.word, credential = caller.name.as_str(), %peer, "let in");
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
    (route.handle)(Box::new(Call { app, caller, names, parts, body: Unread::new(body) })).await
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
