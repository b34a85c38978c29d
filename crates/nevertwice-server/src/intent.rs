//! The headers that make a request an intent.
//!
//! One header line with one key, as [`key_header`] reads it: whatever could be two keys to somebody is refused.

use axum::http::HeaderMap;
use nevertwice_api::key_header::{self, KeyHeaderError};
use nevertwice_api::{ErrorCode, Level, Levels};
use nevertwice_core::IdempotencyKey;

use crate::refusal::Refusal;

const KEY: &str = "idempotency-key";
const EXPIRES: &str = "idempotency-expires";
const ACK_LEVEL: &str = "ack-level";

/// The key of a request.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<IdempotencyKey, Refusal> {
    let mut lines = headers.get_all(KEY).iter();
    let Some(line) = lines.next() else {
        return Err(Refusal::new(
            ErrorCode::IdempotencyKeyMissing,
            "The Idempotency-Key header is missing",
            "Draw a key for each thing that is meant once, for instance a UUID, and send it with the request and with every retry",
        ));
    };
    if lines.next().is_some() {
        return Err(invalid_key("The Idempotency-Key header came more than once"));
    }
    key_header::parse(line.as_bytes()).map_err(|error| invalid_key(&error.to_string()))
}

/// Checks a key that did not come in a header.
pub(crate) fn plain_key(text: &str) -> Result<IdempotencyKey, Refusal> {
    IdempotencyKey::new(text).map_err(|error| invalid_key(&KeyHeaderError::Text(error).to_string()))
}

fn invalid_key(wrong: &str) -> Refusal {
    Refusal::new(
        ErrorCode::IdempotencyKeyInvalid,
        wrong,
        "Send one key of 1 to 255 visible ASCII characters, in double quotes or bare; a bare one has no commas and no quotes",
    )
}

/// The instant from which on the intent is given up.
pub(crate) fn expires_at(headers: &HeaderMap) -> Result<Option<i64>, Refusal> {
    let mut lines = headers.get_all(EXPIRES).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    let digits = line.to_str().ok().filter(|text| text.len() <= 16 && text.bytes().all(|byte| byte.is_ascii_digit()));
    match (digits.and_then(|digits| digits.parse().ok()), lines.next()) {
        (Some(instant), None) => Ok(Some(instant)),
        _ => Err(Refusal::new(
            ErrorCode::IntentExpiresInvalid,
            "The Idempotency-Expires header is not one instant in milliseconds since 1970",
            "Send a whole number without a sign, the same in every retry, or leave the header out",
        )),
    }
}

/// Further levels that the answer has to have reached.
pub(crate) fn ack_levels(headers: &HeaderMap) -> Result<Levels, Refusal> {
    let mut levels = Levels::NONE;
    for line in headers.get_all(ACK_LEVEL) {
        for word in line.as_bytes().split(|byte| *byte == b',') {
            let word = std::str::from_utf8(word).unwrap_or_default();
            levels = levels.and(Levels::reached(level(word.trim())?));
        }
    }
    Ok(levels)
}

/// Reads a level's word.
pub(crate) fn level(word: &str) -> Result<Level, Refusal> {
    word.parse().map_err(|_| {
        Refusal::new(
            ErrorCode::LevelInvalid,
            "An acknowledgement level is none of the four",
            "Name one of decided, replicated, journaled, ledgered, or leave it out for the shard's own",
        )
    })
}
