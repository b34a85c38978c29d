//! What a route may answer: every status with what it carries. The check of the running server holds them to it.

use std::collections::BTreeMap;

use utoipa::openapi::Ref;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::response::{Response, ResponseBuilder, Responses, ResponsesBuilder};
use utoipa::openapi::{Content as MediaType, schema::Type};

use super::paths::{media_type, placeholders};
use super::schemas;
use crate::access::Access;
use crate::routes::{Content, Method, Route};

pub(super) fn of(route: &Route) -> Responses {
    let mut responses = ResponsesBuilder::new();
    for (status, description) in refusals(route) {
        responses = responses.response(status.to_string(), problem(route, status, description));
    }
    responses = responses.response(route.status.to_string(), done(route, route.status));
    if route.keyed {
        responses = responses.response("200", done(route, 200));
    }
    responses.build()
}

fn done(route: &Route, status: u16) -> Response {
    let description = match (route.keyed, status == route.status, status) {
        (true, true, 200) => "Done, now or before with the same key",
        (true, false, _) => "It had been done before, with the same key",
        _ => "Done",
    };
    let mut response = ResponseBuilder::new().description(description);
    if let Some((name, media_type)) = media_type(route.response) {
        response = response.content(name, media_type);
    }
    if route.keyed && status == 200 {
        response = response.header("Idempotent-Replayed", header(Type::String, "`true` on a replay, absent otherwise"));
    }
    response.build()
}

fn header(kind: Type, description: &str) -> Header {
    HeaderBuilder::new().schema(Some(schemas::of_type(kind))).description(Some(description)).build()
}

/// Statuses of problems, from what the route takes and asks.
fn refusals(route: &Route) -> BTreeMap<u16, &'static str> {
    let mut refusals = BTreeMap::from([
        (403, "The credentials do not allow it, or what was asked for is somebody else's"),
        (431, "The head is too large"),
        (500, "A fault of the server; the same key tells what became of it"),
        (503, "It can't be answered now, or its outcome is unknown; ask again with the same key"),
    ]);
    let takes_names = placeholders(route.path).next().is_some();
    let takes_body = !matches!(route.request, Content::Nothing);
    if route.access != Access::Anyone {
        refusals.insert(401, "No credentials that the server knows");
    }
    if takes_names || takes_body || !route.query.is_empty() || route.access.is_on_behalf() || route.access == Access::Operator {
        refusals.insert(400, "Something in the request is not what this takes");
    }
    if takes_names || takes_body {
        refusals.insert(404, "What it names is not there");
    }
    if takes_body || route.method == Method::Post {
        refusals.insert(408, "The request did not arrive whole in time");
        refusals.insert(413, "The body is larger than the server takes");
        refusals.insert(415, "The body is of another media type");
    }
    if route.word == "inspect_key" {
        refusals.insert(404, "Nothing is known of the key");
    }
    if route.keyed || route.fenced || matches!(route.word, "show_quote" | "show_standby") {
        refusals.insert(409, "It does not fit how things are; `code` and `figures` say what is in its way");
    }
    if route.keyed || route.word == "register_key" {
        refusals.insert(410, "The intent's time has run out, and nothing is known of its key");
        refusals.insert(422, "The key was used for something else");
    }
    if route.reaches_gateway {
        refusals.insert(502, "The payment gateway gave no usable answer; ask again with the same key");
    }
    if is_payment_page(route) {
        refusals.insert(409, "The payment can't be made any more, or was made too late");
    }
    refusals
}

/// Pages that say even what is wrong to people.
fn is_payment_page(route: &Route) -> bool {
    route.response == Content::Html && route.path.starts_with("/sandbox/")
}

fn problem(route: &Route, status: u16, description: &str) -> Response {
    let media_type = MediaType::new(Some(Ref::from_schema_name("Problem")));
    let mut response = ResponseBuilder::new().description(description).content("application/problem+json", media_type);
    if is_payment_page(route) && matches!(status, 404 | 409 | 503) {
        response = response.content("text/html", MediaType::new(Some(schemas::text())));
    }
    match status {
        401 => response = response.header("WWW-Authenticate", header(Type::String, "`Bearer`")),
        409 | 503 => {
            response = response.header("Retry-After", header(Type::Integer, "seconds after which to ask again, where that may help"));
        }
        _ => {}
    }
    response.build()
}
