//! What the texts and numbers of the API may be: of parameters by their name, and of the members of requests by theirs.

use nevertwice_api::encoding::LINES_MAX;
use nevertwice_api::{ErrorCode, Level};
use nevertwice_core::limits::{
    AMOUNT_MAX, DECIMALS_MAX, HOLD_MS_MAX, HOLDING_MAX, HOUSE_LOSS_MAX, ISSUANCE_MAX, KEY_BODY_BYTES_MAX, LEASE_MS_MAX, LEVELS_MAX,
    LOAD_CANDIDATES_MAX, RETENTION_MS_MAX, RETENTION_MS_MIN, SEATS_MAX,
};
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{Components, RefOr};

const NAME: &str = "^[A-Za-z0-9._:@-]{1,64}$";
const POSITION: &str = "^(0|[1-9][0-9]{0,8})-(0|[1-9][0-9]{0,17})$";
/// In double quotes, a backslash before a quote and before a backslash; or bare, without commas, quotes and backslashes.
const KEY: &str = r#"^("([!#-\[\]-~]|\\["\\]){1,255}"|[!#-+\--\[\]-~]{1,255})$"#;
const VISIBLE: &str = "^[!-~]+$";
const DIGEST: &str = "^[0-9A-Fa-f]{64}$";
const BASE64: &str = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

/// A parameter of a route's query: the audit's pages and instants are not those of the other lists.
pub(super) fn of_query(route: &str, name: &str) -> Schema {
    match (route, name) {
        ("show_audit", "cursor") => pattern(r"^[0-9]{1,18}\.[0-9]{1,9}$"),
        ("show_audit", "from" | "until") => range(0, AMOUNT_MAX),
        ("show_audit" | "explain", "shard") => pattern("^(market|sale)/[A-Za-z0-9._:@-]{1,64}$"),
        ("explain" | "inspect_key", "key") => visible(255),
        ("explain" | "inspect_key", "scope") => visible(128),
        ("show_standby", "hashes") => words(["true", "false"]),
        _ => parameter(name),
    }
}

/// A parameter of the path, the query or the head.
pub(super) fn parameter(name: &str) -> Schema {
    match name {
        "market" | "sale" | "instrument" | "account" => pattern(NAME),
        "position" | "booking" => pattern(POSITION),
        "code" => words(ErrorCode::ALL.iter().map(|code| code.code())),
        "level" => words(Level::ALL.iter().map(|level| level.word())),
        "side" => words(["buy", "sell"]),
        "quantity" => range(1, HOLDING_MAX),
        "from" | "cursor" => range(0, i64::from(u32::MAX)),
        "Idempotency-Key" => pattern(KEY),
        "Idempotency-Expires" => range(0, AMOUNT_MAX),
        "Ack-Level" => pattern("^(decided|replicated|journaled|ledgered)( *, *(decided|replicated|journaled|ledgered))*$"),
        "Principal" => visible(128),
        _ => text(),
    }
}

pub(super) fn of_type(kind: Type) -> Schema {
    ObjectBuilder::new().schema_type(kind).into()
}

pub(super) fn text() -> Schema {
    of_type(Type::String)
}

/// Whatever an object has in it.
pub(super) fn any_object() -> Schema {
    of_type(Type::Object)
}

fn pattern_builder(pattern: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern))
}

fn pattern(pattern: &str) -> Schema {
    pattern_builder(pattern).into()
}

fn visible(length_max: usize) -> Schema {
    pattern_builder(VISIBLE).max_length(Some(length_max)).into()
}

fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Schema {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).into()
}

fn range(min: i64, max: i64) -> Schema {
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(min)).maximum(Some(max)).into()
}

/// What a member of a request may be at most, whatever the state of its market or sale. Answers are as they are.
fn bound(member: &str, object: &mut utoipa::openapi::schema::Object) {
    let (min, max) = match member {
        "market" | "sale" | "instrument" | "account" | "level" => {
            object.pattern = Some(NAME.to_owned());
            return;
        }
        "key" | "principal" | "booked_with" | "payment" | "scope" => {
            object.pattern = Some(VISIBLE.to_owned());
            object.max_length = Some(if matches!(member, "principal" | "scope") { 128 } else { 255 });
            return;
        }
        "owner" | "fingerprint" => {
            object.pattern = Some(DIGEST.to_owned());
            return;
        }
        "body_base64" => {
            object.pattern = Some(BASE64.to_owned());
            return;
        }
        "generation" => (0, AMOUNT_MAX),
        "lease_ms" => (0, LEASE_MS_MAX),
        "status" => (100, 599),
        "tombstone_bytes" => (0, i64::try_from(KEY_BODY_BYTES_MAX).unwrap_or(i64::MAX)),
        "decimals" => (0, i64::from(DECIMALS_MAX)),
        "fee_bps" | "max_slippage_bps" => (0, 10_000),
        "quantity" | "quantity_max" | "holding_max" => (1, HOLDING_MAX),
        "house_loss_max" => (0, HOUSE_LOSS_MAX),
        "retention_ms" => (RETENTION_MS_MIN, RETENTION_MS_MAX),
        "hold_ms" => (1, HOLD_MS_MAX),
        "opening_balance" => (0, ISSUANCE_MAX),
        "cap" | "total_cap" => (0, SEATS_MAX),
        "base" | "slope" | "price" | "limit_price" | "expected_price" | "expires_at" | "opens_at" | "closes_at" => (0, AMOUNT_MAX),
        _ => return,
    };
    object.minimum = Some(min.into());
    object.maximum = Some(max.into());
}

/// Bounds the members of all requests: the schemas that refuse unknown members.
pub(super) fn bound_requests(components: &mut Components) {
    for schema in components.schemas.values_mut() {
        let RefOr::T(Schema::Object(request)) = schema else { continue };
        if request.additional_properties.is_none() {
            continue;
        }
        for (member, schema) in &mut request.properties {
            match schema {
                RefOr::T(Schema::Object(object)) => bound(member, object),
                RefOr::T(Schema::Array(array)) => {
                    array.max_items = Some(match member.as_str() {
                        "candidates" => LOAD_CANDIDATES_MAX,
                        "headers" => LINES_MAX,
                        _ => LEVELS_MAX,
                    });
                }
                _ => {}
            }
        }
    }
}
