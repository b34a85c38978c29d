//! What an answer of the handler says about its effect.

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue, RETRY_AFTER};
use http::response::Parts;

use crate::{Policy, grpc};

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

/// How far an answer was read when it is asked what its effect is.
#[derive(Clone, Copy)]
pub(crate) enum Seen<'a> {
    /// Not to its end.
    Head,
    /// To its end, with the trailers, if it had any.
    End(Option<&'a HeaderMap>),
}

/// Reads what is said, takes the header off, and else goes by the status; of gRPC, by its own.
pub(crate) fn of_answer(head: &mut Parts, seen: Seen<'_>, policy: &Policy) -> Effect {
    let said = said_of(&head.headers);
    head.headers.remove(&EFFECT);
    if let Some(effect) = head.extensions.remove::<Effect>() {
        return effect;
    }
    if let Some(effect) = said {
        return effect;
    }
    if let Seen::End(trailers) = seen
        && head.status == 200
        && grpc::is_grpc(&head.headers)
    {
        return of_call(grpc::status(&head.headers, trailers), policy);
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

/// What the header says. Lines that contradict each other say that nobody knows.
fn said_of(headers: &HeaderMap) -> Option<Effect> {
    let word = |value: &HeaderValue| match value.as_bytes() {
        b"none" => Some(Effect::Nothing),
        b"done" => Some(Effect::Kept),
        _ => None,
    };
    let mut said = headers.get_all(&EFFECT).iter().filter_map(word);
    let first = said.next()?;
    Some(if said.all(|other| other == first) { first } else { Effect::Unknown })
}

/// By the status of a call of gRPC, each as the status of HTTP that means the same.
fn of_call(status: Option<u32>, policy: &Policy) -> Effect {
    match status {
        Some(0) => Effect::Kept,
        // PERMISSION_DENIED, RESOURCE_EXHAUSTED, ABORTED, UNAUTHENTICATED: 403, 429, 409, 401.
        Some(7 | 8 | 10 | 16) => Effect::Nothing,
        // INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, FAILED_PRECONDITION, OUT_OF_RANGE: other 4xx.
        Some(3 | 5 | 6 | 9 | 11) if policy.client_errors_free => Effect::Nothing,
        Some(3 | 5 | 6 | 9 | 11) => Effect::Kept,
        // CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS: 5xx.
        Some(_) if policy.store_5xx => Effect::Kept,
        // It broke off before it said how it ended.
        Some(_) | None => Effect::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_contradict_each_other_are_nobodys_word() {
        let said = |lines: &[&'static str]| {
            said_of(&lines.iter().map(|line| (EFFECT.clone(), HeaderValue::from_static(line))).collect::<HeaderMap>())
        };
        for (lines, effect) in [
            (&[][..], None),
            (&["odd"], None),
            (&["none"], Some(Effect::Nothing)),
            (&["done", "done"], Some(Effect::Kept)),
            (&["none", "done"], Some(Effect::Unknown)),
            (&["done", "none"], Some(Effect::Unknown)),
        ] {
            assert_eq!(said(lines), effect, "{lines:?}");
        }
    }
}
