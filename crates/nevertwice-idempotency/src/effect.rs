//! What an answer of the handler says about its effect.

use http::StatusCode;
use http::header::{HeaderMap, RETRY_AFTER};

use crate::Policy;

/// The header with which a handler says so itself. It is taken off before the client sees the answer.
pub(crate) const EFFECT: &str = "idempotency-effect";

/// What becomes of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The answer is kept.
    Kept,
    /// Nothing can have happened: the key is free.
    Nothing,
    /// Nobody knows: the key ends as a lapsed lease.
    Unknown,
}

/// Reads the header, takes it off, and else goes by the status.
pub(crate) fn of_answer(status: StatusCode, headers: &mut HeaderMap, policy: &Policy) -> Effect {
    match headers.remove(EFFECT).as_ref().map(|value| value.as_bytes()) {
        Some(b"none") => return Effect::Nothing,
        Some(b"done") => return Effect::Kept,
        _ => {}
    }
    match status.as_u16() {
        401 | 403 | 409 | 425 | 429 => Effect::Nothing,
        408 => Effect::Unknown,
        503 if headers.contains_key(RETRY_AFTER) => Effect::Nothing,
        500..=599 if policy.store_5xx => Effect::Kept,
        500..=599 => Effect::Unknown,
        400..=499 if policy.client_errors_free => Effect::Nothing,
        _ => Effect::Kept,
    }
}
