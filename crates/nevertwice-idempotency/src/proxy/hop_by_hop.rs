//! Headers that belong to one connection (RFC 9110, section 7.6.1).

use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, EXPECT, FORWARDED, HOST, HeaderMap, HeaderName,
    HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE,
};

use crate::answer::named_by_connection;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
static ALWAYS: [HeaderName; 8] =
    [CONNECTION, KEEP_ALIVE, PROXY_CONNECTION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE];

/// What is meant for whoever answers, so that nobody may declare it to be of one connection: a client that could would take the words
/// of the front before us off its own request.
static END_TO_END: [HeaderName; 7] = [AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, FORWARDED, HOST];

fn is_end_to_end(name: &HeaderName, identity: &[HeaderName]) -> bool {
    let word = name.as_str();
    END_TO_END.contains(name) || identity.contains(name) || word.starts_with("idempotency-") || word.starts_with("x-forwarded-")
}

/// Takes off a request what belongs to the client's connection. `TE: trailers` is of the next one, too, and stays.
pub(super) fn of_request(headers: &mut HeaderMap, identity: &[HeaderName]) {
    let wants_trailers = headers.get_all(TE).iter().any(has_trailers);
    take_off(headers, identity);
    // It is met here: the body is asked for when it is read.
    headers.remove(EXPECT);
    if wants_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
}

/// Takes off an answer what belongs to the upstream's connection. A length beside a transfer coding is no length (RFC 9112, section
/// 6.3): passed on, it would cut the answer, or shift those behind it.
pub(super) fn of_answer(headers: &mut HeaderMap) {
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    take_off(headers, &[]);
}

fn take_off(headers: &mut HeaderMap, identity: &[HeaderName]) {
    if headers.contains_key(CONNECTION) {
        for name in named_by_connection(headers).iter().filter(|name| !is_end_to_end(name, identity)) {
            headers.remove(name);
        }
    }
    for name in &ALWAYS {
        headers.remove(name);
    }
}

fn has_trailers(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else { return false };
    text.split(',').any(|coding| coding.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("trailers"))
}

/// The protocol that a request asks to change to, if its connection may.
pub(super) fn upgrade_of(headers: &HeaderMap) -> Option<HeaderValue> {
    if !named_by_connection(headers).contains(&UPGRADE) {
        return None;
    }
    headers.get(UPGRADE).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_a_connection_goes_and_what_is_meant_for_the_end_stays() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Hop, x-user"),
            ("connection", "Authorization, idempotency-key, host, x-forwarded-for"),
            ("x-hop", "1"),
            ("x-user", "ann"),
            ("authorization", "Bearer a"),
            ("idempotency-key", "k"),
            ("host", "shop"),
            ("x-forwarded-for", "1.2.3.4"),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "keep-alive"),
            ("proxy-authorization", "Basic a"),
            ("te", "gzip, Trailers;q=0.5"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
            ("expect", "100-continue"),
            ("accept", "*/*"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        of_request(&mut headers, &[HeaderName::from_static("x-user")]);
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "authorization", "host", "idempotency-key", "te", "x-forwarded-for", "x-user"]);
        assert_eq!(headers["te"], "trailers");
    }

    #[test]
    fn a_length_beside_a_transfer_coding_goes_with_it() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("2"));
        of_answer(&mut headers);
        assert_eq!(headers["content-length"], "2");
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        of_answer(&mut headers);
        assert!(headers.is_empty(), "{headers:?}");
    }

    #[test]
    fn a_change_of_protocol_is_asked_for_by_both_headers() {
        let mut headers = HeaderMap::from_iter([(UPGRADE, HeaderValue::from_static("websocket"))]);
        assert_eq!(upgrade_of(&headers), None);
        headers.insert(CONNECTION, HeaderValue::from_static("keep-alive, Upgrade"));
        assert_eq!(upgrade_of(&headers).expect("it asks"), "websocket");
    }
}
