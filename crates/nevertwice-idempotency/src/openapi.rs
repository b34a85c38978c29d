//! What a guarded route adds to its operation in an OpenAPI document, so that the document can't say something else than the guard.

use http::Method;
use nevertwice_core::IdempotencyKey;
use serde_json::{Map, Value, json};

use crate::agreement::covers;
use crate::{Keys, Policy};

/// The longest header line that is a key: each of its characters escaped, in quotes.
const LINE_BYTES_MAX: usize = 2 * IdempotencyKey::BYTES_MAX + 2;

impl Keys {
    /// What the guard of that route adds to its operation; none if there is no guard. The path is written as the router has it.
    ///
    /// An object of three members: `parameters` and `responses` as in an Operation Object of OpenAPI 3, and `headers`, which every
    /// response of the route itself may have beside its own.
    #[must_use]
    pub fn openapi(&self, method: &Method, path: &str) -> Option<Value> {
        let guard = self.routes.0.iter().find(|guard| covers(guard, method, path))?;
        Some(of_policy(&guard.policy))
    }
}

fn of_policy(policy: &Policy) -> Value {
    json!({ "parameters": parameters(policy), "responses": responses(policy), "headers": headers(policy) })
}

fn parameters(policy: &Policy) -> Value {
    json!([
        {
            "name": "Idempotency-Key",
            "in": "header",
            "required": policy.required,
            "description": "One key for what is meant once, and the same with every retry: 1 to 255 visible ASCII characters, quoted or bare.",
            "schema": { "type": "string", "minLength": 1, "maxLength": LINE_BYTES_MAX },
        },
        {
            "name": "Idempotency-Expires",
            "in": "header",
            "required": false,
            "description": "From this instant on, in milliseconds since 1970, a key of which nothing is known is refused.",
            "schema": { "type": "integer", "format": "int64", "minimum": 0 },
        },
    ])
}

fn headers(policy: &Policy) -> Value {
    let description = "`true` if this is the answer to an earlier request with the key, repeated.";
    json!({ policy.marker.as_str(): { "description": description, "schema": { "type": "string", "enum": ["true"] } } })
}

fn responses(policy: &Policy) -> Value {
    let mut told = vec![
        (400, "the key is none, or Idempotency-Expires is no instant"),
        (409, "the request was carried out, and its answer was not kept"),
        (410, "the key's time has run out"),
        (413, "the body is too large"),
        (503, "nobody knows what became of an earlier attempt, or the keys can't be reached; the same key again, later"),
        (policy.in_progress_status, "the same request is being worked on; the same key again, after Retry-After"),
        (policy.mismatch_status, "the key was used for something else"),
    ];
    if policy.required {
        told.push((policy.missing_status, "the key is missing"));
    }
    if !policy.anonymous_shares {
        told.push((401, "nobody knows who calls"));
    }
    let mut responses = Map::new();
    for (status, words) in &told {
        let all: Vec<&str> = told.iter().filter(|(other, _)| other == status).map(|(_, words)| *words).collect();
        debug_assert!(all.contains(words));
        responses.insert(status.to_string(), response(*status, &all.join("; or "), policy));
    }
    Value::Object(responses)
}

fn response(status: u16, description: &str, policy: &Policy) -> Value {
    let mut response = json!({
        "description": format!("Nothing was done by this request: {description}."),
        "content": { "application/problem+json": { "schema": problem(status) } },
    });
    if status == policy.in_progress_status || status == 503 {
        let seconds = json!({ "type": "integer", "minimum": 1 });
        response["headers"] = json!({ "Retry-After": { "description": "In so many seconds.", "schema": seconds } });
    }
    response
}

fn problem(status: u16) -> Value {
    let text = json!({ "type": "string" });
    json!({
        "type": "object",
        "required": ["type", "title", "status", "code", "retryable", "detail"],
        "properties": {
            "type": text, "title": text, "status": { "type": "integer", "enum": [status] }, "code": text,
            "retryable": { "type": "boolean" }, "detail": text,
        },
    })
}
