//! Answers of the layer itself: problems and replays.

use bytes::Bytes;
use http::header::{ACCESS_CONTROL_EXPOSE_HEADERS, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, TRAILER};
use http::{HeaderName, Response, StatusCode};
use nevertwice_api::encoding::{decode_lines, encode_lines};
use nevertwice_api::wire::Problem;
use nevertwice_api::{AnswerBytes, ErrorCode};
use nevertwice_core::keys::KeyAnswer;

use crate::Policy;
use crate::body::KeysBody;
use crate::grpc::Refused;

/// A refusal, before it is rendered.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: ErrorCode,
    pub(crate) detail: String,
    pub(crate) status: Option<u16>,
    pub(crate) retry_after_ms: Option<i64>,
    pub(crate) figures: Vec<(&'static str, u64)>,
}

impl Refusal {
    pub(crate) fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), status: None, retry_after_ms: None, figures: Vec::new() }
    }

    pub(crate) fn with_status(self, status: u16) -> Self {
        Self { status: Some(status), ..self }
    }

    pub(crate) fn after(self, retry_after_ms: i64) -> Self {
        Self { retry_after_ms: Some(retry_after_ms), ..self }
    }

    pub(crate) fn render<B>(self) -> Response<KeysBody<B>> {
        self.response().map(KeysBody::whole)
    }

    /// The refusal as a problem (RFC 9457).
    pub(crate) fn response(self) -> Response<Bytes> {
        let refused = Refused { code: self.code, detail: self.detail.clone() };
        let mut problem = Problem::new(self.code, self.detail);
        let status = self.status.unwrap_or_else(|| self.code.status());
        problem.status = status;
        problem.figures = self.figures.iter().map(|(name, figure)| ((*name).to_owned(), (*figure).into())).collect();
        let bytes = serde_json::to_vec(&problem).unwrap_or_default();
        let mut response = Response::new(Bytes::from(bytes));
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response.extensions_mut().insert(refused);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(left_ms) = self.retry_after_ms {
            // Whole seconds, and never less than what is left.
            let seconds = left_ms.max(0).saturating_add(999) / 1_000;
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        response
    }
}

/// What the name of a kept trailer begins with: no name of a header has a colon.
const TRAILER_MARK: &str = "trailer:";

/// The header lines that a replay repeats, and behind them the trailers, encoded; none if they are too many.
pub(crate) fn kept_head(headers: &HeaderMap, trailers: Option<&HeaderMap>, policy: &Policy) -> Option<Bytes> {
    let hop_by_hop: Vec<HeaderName> = named_by_connection(headers);
    let is_kept = |name: &HeaderName| !policy.not_replayed.contains(name) && !hop_by_hop.contains(name);
    let kept = headers.iter().filter(|(name, _)| is_kept(name));
    let Some(trailers) = trailers else {
        return encode_lines(kept.map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()))).map(Bytes::from);
    };
    let mut lines: Vec<(String, &[u8])> = kept.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes())).collect();
    let behind = trailers.iter().filter(|(name, _)| is_kept(name));
    lines.extend(behind.map(|(name, value)| (format!("{TRAILER_MARK}{name}"), value.as_bytes())));
    encode_lines(lines.iter().map(|(name, value)| (name.as_bytes(), *value))).map(Bytes::from)
}

/// Headers that `Connection` declares to be of this connection only (RFC 9110, section 7.6.1).
pub(crate) fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let lines = headers.get_all(http::header::CONNECTION).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).filter_map(|name| name.trim().parse().ok()).collect()
}

/// The length that the header lines promise; none if they promise none, or more than one.
fn length_of(headers: &HeaderMap) -> Option<usize> {
    let mut lines = headers.get_all(CONTENT_LENGTH).iter();
    let length = lines.next()?.to_str().ok()?.parse().ok();
    length.filter(|_| lines.next().is_none())
}

/// An answer, repeated. None if the bytes are not those of the answer.
pub(crate) fn replay<B>(answer: &KeyAnswer, bytes: AnswerBytes, policy: &Policy) -> Option<Response<KeysBody<B>>> {
    if !bytes.are_as_long_as(answer) {
        return None;
    }
    let status = u16::try_from(answer.status).ok().and_then(|status| StatusCode::from_u16(status).ok())?;
    let lines = decode_lines(&bytes.head).ok()?;
    // Room for the two lines that are added.
    let (mut headers, mut trailers) = (HeaderMap::with_capacity(lines.len() + 2), None);
    for (name, value) in lines {
        // A piece of what is kept, not a copy.
        let value = HeaderValue::from_maybe_shared(bytes.head.slice_ref(value)).ok()?;
        if let Some(name) = name.strip_prefix(TRAILER_MARK.as_bytes()) {
            let name = HeaderName::from_bytes(name).ok()?;
            // Without this line HTTP/1.1 sends none.
            headers.append(TRAILER, HeaderValue::from(name.clone()));
            trailers.get_or_insert_with(HeaderMap::new).append(name, value);
            continue;
        }
        headers.append(HeaderName::from_bytes(name).ok()?, value);
    }
    // What the first answer promised need not be what was kept of it, and a promise that does not hold shifts the answers behind it.
    if length_of(&headers) != Some(bytes.body.len()) {
        headers.remove(CONTENT_LENGTH);
    }
    headers.insert(policy.marker.clone(), HeaderValue::from_static("true"));
    // Without this line a browser hides the marker from the page.
    headers.append(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from(policy.marker.clone()));
    let mut response = Response::new(KeysBody::with_trailers(bytes.body, trailers));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Some(response)
}
