//! The paths, from the table of routes.

use utoipa::openapi::path::{HttpMethod, Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, Paths};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{Content as MediaType, Ref, Required};

use super::{responses, schemas};
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
        .responses(responses::of(route));
    for name in placeholders(route.path) {
        operation = operation.parameter(parameter(name, ParameterIn::Path, true, "see the summary"));
    }
    for (name, meaning) in route.query {
        let needed = matches!(*name, "side" | "quantity" | "principal" | "key");
        let schema = schemas::of_query(route.word, name);
        operation = operation.parameter(parameter_of(schema, name, ParameterIn::Query, needed, meaning));
    }
    if route.keyed {
        operation = operation
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
            ));
    }
    if route.keyed || route.fenced {
        operation = operation.parameter(parameter(
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
    } else if path.starts_with("/v1/keys") {
        "keys"
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
pub(super) fn placeholders(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn bytes() -> Schema {
    ObjectBuilder::new().schema_type(Type::String).format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary))).into()
}

fn parameter(name: &str, place: ParameterIn, required: bool, meaning: &str) -> Parameter {
    parameter_of(schemas::parameter(name), name, place, required, meaning)
}

fn parameter_of(schema: Schema, name: &str, place: ParameterIn, required: bool, meaning: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(if required { Required::True } else { Required::False })
        .description(Some(meaning))
        .schema(Some(schema))
        .build()
}

pub(super) fn media_type(content: Content) -> Option<(&'static str, MediaType)> {
    let of = |schema: &str| MediaType::new(Some(Ref::from_schema_name(schema)));
    match content {
        Content::Nothing => None,
        Content::Json(schema) => Some(("application/json", of(schema))),
        Content::Ndjson(schema) => Some(("application/x-ndjson", of(schema))),
        Content::Html => Some(("text/html", MediaType::new(Some(schemas::text())))),
        Content::Bytes => Some(("application/octet-stream", MediaType::new(Some(bytes())))),
        Content::Text("application/json") => Some(("application/json", MediaType::new(Some(schemas::any_object())))),
        Content::Text(media_type) => Some((media_type, MediaType::new(Some(schemas::text())))),
    }
}

fn request(content: Content) -> Option<RequestBody> {
    let (name, media_type) = media_type(content)?;
    let body = RequestBodyBuilder::new().content(name, media_type).required(Some(Required::True));
    Some(match content {
        Content::Ndjson(_) => body.description(Some("Lines, each a JSON text of that schema")).build(),
        _ => body.build(),
    })
}
