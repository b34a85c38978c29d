//! What an answer of the handler says about its effect.

use http::header::{HeaderName, RETRY_AFTER};
use http::response::Parts;

use crate::Policy;

/// The header with which a handler says so itself. It is taken off before the client sees the answer.
pub(crate) static EFFECT: HeaderName = HeaderName::from_static("idempotency-effect");

/// What becomes of the key. In an answer's extensions it is the word of whoever stands between the layer and the handler, as the
/// proxy does: an answer that is not the handler's own must not be taken for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The answer is kept.
    Kept,
    /// Nothing can have happened: the key is free.
    Nothing,
    /// Nobody knows: the key ends as a lapsed lease.
    Unknown,
}

/// Reads what is said, takes the header off, and else goes by the status.
pub(crate) fn of_answer(head: &mut Parts, policy: &Policy) -> Effect {
    let said = head.headers.remove(&EFFECT);
    if let Some(effect) = head.extensions.remove::<Effect>() {
        return effect;
    }
    match said.as_ref().map(|value| value.as_bytes()) {
        Some(b"none") => return Effect::Nothing,
        Some(b"done") => return Effect::Kept,
        _ => {}
    }
    match head.status.as_u16() {
        401 | 403 | 409 | 425 | 429 => Effect::Nothing,
        408 => Effect::Unknown,
        503 if head.headers.contains_key(RETRY_AFTER) => Effect::Nothing,
        500..=599 if policy.store_5xx => Effect::Kept,
        500..=599 => Effect::Unknown,
        400..=499 if policy.client_errors_free => Effect::Nothing,
        _ => Effect::Kept,
    }
}
