//! What calls of gRPC say in their own way: how an answer ended, and a refusal.
//!
//! A call of gRPC ends with a `grpc-status`, in the trailers or, where nothing else is said, in the head; the status of HTTP is always
//! 200, and a client that gets another one loses the problem's details.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use nevertwice_api::ErrorCode;

use crate::body::KeysBody;

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// The metadata with a refusal's stable code.
const CODE: HeaderName = HeaderName::from_static("idempotency-refusal");

/// A refusal, in the extensions of its response.
#[derive(Clone)]
pub(crate) struct Refused {
    pub(crate) code: ErrorCode,
    pub(crate) detail: String,
}

/// Whether a message is one of gRPC (not of gRPC-Web, which has its trailers in the body).
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    let Some(media) = headers.get(CONTENT_TYPE).and_then(|value| value.as_bytes().strip_prefix(b"application/grpc")) else {
        return false;
    };
    matches!(media.first(), None | Some(b'+' | b';' | b' '))
}

/// How a call ended. None: it does not say.
pub(crate) fn status(head: &HeaderMap, trailers: Option<&HeaderMap>) -> Option<u32> {
    let said = trailers.and_then(|trailers| trailers.get(STATUS)).or_else(|| head.get(STATUS))?;
    said.to_str().ok()?.parse().ok()
}

/// The layer's own refusal, as a client of gRPC understands it; any other response as it is.
pub(crate) fn refusal<B>(mut response: Response<KeysBody<B>>) -> Response<KeysBody<B>> {
    let Some(Refused { code, detail }) = response.extensions_mut().remove() else { return response };
    let mut told = Response::new(KeysBody::whole(Bytes::new()));
    let headers = told.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(STATUS, HeaderValue::from(status_of(code)));
    headers.insert(CODE, HeaderValue::from_static(code.code()));
    if let Ok(message) = HeaderValue::from_str(&percent_encoded(&detail)) {
        headers.insert(MESSAGE, message);
    }
    if let Some(seconds) = response.headers().get(RETRY_AFTER) {
        headers.insert(RETRY_AFTER, seconds.clone());
    }
    told
}

/// The status of a refusal.
const fn status_of(code: ErrorCode) -> u32 {
    match code {
        ErrorCode::CredentialsMissing => 16,
        ErrorCode::RoleInsufficient => 7,
        ErrorCode::BodyTooLarge | ErrorCode::KeysFull => 8,
        ErrorCode::IntentExpired => 9,
        ErrorCode::KeyInProgress => 10,
        ErrorCode::AnswerNotKept => 6,
        ErrorCode::OutcomeUnknown => 2,
        ErrorCode::KeyStoreUnavailable | ErrorCode::RequestTimeout => 14,
        _ => 3,
    }
}

/// Text as `grpc-message` has it: visible ASCII but for the percent sign, and everything else by its bytes.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_of_grpc_are_known_and_others_are_not() {
        for (media, is) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("application/grpc; charset=utf-8", true),
            ("application/grpc-web", false),
            ("application/json", false),
        ] {
            assert_eq!(is_grpc(&HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(media))])), is, "{media}");
        }
    }

    #[test]
    fn a_message_has_only_what_a_header_may_have() {
        assert_eq!(percent_encoded("100 % \u{fc}\n"), "100 %25 %C3%BC%0A");
    }
}
