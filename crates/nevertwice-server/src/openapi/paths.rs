//! The paths, from the table of routes.

use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{HttpMethod, Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, Paths};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{Content as MediaType, Ref, Required};

use crate::access::Access;
use crate::routes::{Content, Method, ROUTES, Route};

/// Adds all routes.
pub(super) fn add(paths: &mut Paths) {
    for route in ROUTES {
        let method = match route.method {
            Method::Get => HttpMethod::Get,
            Method::Post => HttpMethod::Post,
        };
        paths.add_path_operation(route.path, vec![method], operation(route));
    }
}

fn operation(route: &Route) -> Operation {
    let mut operation = OperationBuilder::new()
        .operation_id(Some(route.word))
        .summary(Some(route.summary))
        .tag(tag(route.path))
        .description(Some(format!("Who may ask: {}.", route.access.word())))
        .response(route.status.to_string(), response(route.response, "Done"))
        .response("default", problem());
    for name in placeholders(route.path) {
        operation = operation.parameter(parameter(name, ParameterIn::Path, true, "see the summary"));
    }
    for (name, meaning) in route.query {
        let needed = matches!(*name, "side" | "quantity" | "principal" | "key");
        operation = operation.parameter(parameter(name, ParameterIn::Query, needed, meaning));
    }
    if route.keyed {
        operation = operation
            .response("200", replayed(route))
            .parameter(parameter(
                "Idempotency-Key",
                ParameterIn::Header,
                true,
                "what tells one intent from another: 1 to 255 visible ASCII characters, in double quotes or bare; the same in every retry",
            ))
            .parameter(parameter(
                "Idempotency-Expires",
                ParameterIn::Header,
                false,
                "from this instant on (milliseconds since 1970) the intent is given up; the same in every retry",
            ))
            .parameter(parameter(
                "Ack-Level",
                ParameterIn::Header,
                false,
                "further levels that the answer has to have reached, separated by commas",
            ));
    }
    if route.access.is_on_behalf() {
        operation = operation.parameter(parameter(
            "Principal",
            ParameterIn::Header,
            false,
            "on whose behalf a service asks; needed with the key of a service",
        ));
    }
    if route.access != Access::Anyone {
        operation = operation.security(SecurityRequirement::new("key", Vec::<String>::new()));
    }
    if let Some(body) = request(route.request) {
        operation = operation.request_body(Some(body));
    }
    operation.build()
}

fn tag(path: &str) -> &'static str {
    if path.starts_with("/v1/markets") {
        "markets"
    } else if path.starts_with("/v1/sales") {
        "sales"
    } else if path.starts_with("/v1/journal") || path.starts_with("/v1/standby") {
        "copies"
    } else if path.starts_with("/v1/") {
        "history"
    } else if path.starts_with("/sandbox") {
        "sandbox"
    } else {
        "server"
    }
}

/// The names of a path's placeholders.
fn placeholders(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn text() -> Schema {
    ObjectBuilder::new().schema_type(Type::String).into()
}

fn bytes() -> Schema {
    ObjectBuilder::new().schema_type(Type::String).format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary))).into()
}

fn parameter(name: &str, place: ParameterIn, required: bool, meaning: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(if required { Required::True } else { Required::False })
        .description(Some(meaning))
        .schema(Some(text()))
        .build()
}

fn media_type(content: Content) -> Option<(&'static str, MediaType)> {
    let of = |schema: &str| MediaType::new(Some(Ref::from_schema_name(schema)));
    match content {
        Content::Nothing => None,
        Content::Json(schema) => Some(("application/json", of(schema))),
        Content::Ndjson(schema) => Some(("application/x-ndjson", of(schema))),
        Content::Html => Some(("text/html", MediaType::new(Some(text())))),
        Content::Bytes => Some(("application/octet-stream", MediaType::new(Some(bytes())))),
        Content::Text(media_type) => Some((media_type, MediaType::new(Some(text())))),
    }
}

fn request(content: Content) -> Option<RequestBody> {
    let (name, media_type) = media_type(content)?;
    Some(RequestBodyBuilder::new().content(name, media_type).required(Some(Required::True)).build())
}

fn response(content: Content, description: &str) -> Response {
    let mut response = ResponseBuilder::new().description(description);
    if let Some((name, media_type)) = media_type(content) {
        response = response.content(name, media_type);
    }
    response.build()
}

fn replayed(route: &Route) -> Response {
    let description = if route.status == 200 { "Done, now or before" } else { "It had been done before, with the same key" };
    let header = HeaderBuilder::new().schema(Some(text())).description(Some("`true` on a replay")).build();
    let (name, media_type) = media_type(route.response).unwrap_or(("application/json", MediaType::new(Some(text()))));
    ResponseBuilder::new().description(description).header("Idempotent-Replayed", header).content(name, media_type).build()
}

fn problem() -> Response {
    let media_type = MediaType::new(Some(Ref::from_schema_name("Problem")));
    ResponseBuilder::new()
        .description("It was not done; `code` and `detail` say why")
        .content("application/problem+json", media_type)
        .build()
}
