//! What a request gets.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use nevertwice_core::Position;
use serde::Serialize;

use crate::refusal::Refusal;

/// What marks an answer to a replay.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// What became of a request, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Something was read or shown.
    Served,
    /// A command was accepted.
    Accepted,
    /// A command had been accepted before.
    Replayed,
    /// A program got what looks like an acceptance and is none.
    Feigned,
}

impl Outcome {
    /// All of them, in the order of their numbers.
    pub(crate) const ALL: [Self; 4] = [Self::Served, Self::Accepted, Self::Replayed, Self::Feigned];

    /// The word for it in metrics and traces.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Served => "served",
            Self::Accepted => "accepted",
            Self::Replayed => "replayed",
            Self::Feigned => "feigned",
        }
    }
}

/// An answer that is not a problem.
#[derive(Debug)]
pub(crate) struct Reply {
    status: StatusCode,
    outcome: Outcome,
    media_type: &'static str,
    header: Option<(HeaderName, HeaderValue)>,
    body: Vec<u8>,
    position: Option<Position>,
}

impl Reply {
    /// What was read, as JSON.
    pub(crate) fn read(body: &impl Serialize) -> Result<Self, Refusal> {
        Ok(Self {
            status: StatusCode::OK,
            outcome: Outcome::Served,
            media_type: "application/json",
            body: json(body)?,
            header: None,
            position: None,
        })
    }

    /// A command's answer: with `fresh` as its status if it was accepted now, 200 if before.
    pub(crate) fn command(body: &impl Serialize, fresh: StatusCode, replayed: bool) -> Result<Self, Refusal> {
        let outcome = if replayed { Outcome::Replayed } else { Outcome::Accepted };
        Self::answered(body, fresh, replayed, outcome)
    }

    /// What looks like such an answer.
    pub(crate) fn feigned(body: &impl Serialize, fresh: StatusCode, replayed: bool) -> Result<Self, Refusal> {
        Self::answered(body, fresh, replayed, Outcome::Feigned)
    }

    fn answered(body: &impl Serialize, fresh: StatusCode, replayed: bool, outcome: Outcome) -> Result<Self, Refusal> {
        let status = if replayed { StatusCode::OK } else { fresh };
        let header = replayed.then_some((REPLAYED, HeaderValue::from_static("true")));
        Ok(Self { status, outcome, media_type: "application/json", body: json(body)?, header, position: None })
    }

    /// Something of another media type.
    pub(crate) const fn other(media_type: &'static str, body: Vec<u8>) -> Self {
        Self { status: StatusCode::OK, outcome: Outcome::Served, media_type, body, header: None, position: None }
    }

    /// A page.
    pub(crate) fn page(status: StatusCode, html: String) -> Self {
        Self {
            status,
            outcome: Outcome::Served,
            media_type: "text/html; charset=utf-8",
            header: None,
            body: html.into_bytes(),
            position: None,
        }
    }

    /// Bytes, and what a header says of them.
    pub(crate) fn bytes(body: Vec<u8>, name: &'static str, value: u64) -> Self {
        let header = (HeaderName::from_static(name), HeaderValue::from(value));
        Self { header: Some(header), ..Self::other("application/octet-stream", body) }
    }

    /// Names the entry that it is about.
    pub(crate) fn at(self, position: Option<Position>) -> Self {
        Self { position, ..self }
    }

    pub(crate) const fn position(&self) -> Option<Position> {
        self.position
    }

    pub(crate) const fn outcome(&self) -> Outcome {
        self.outcome
    }

    pub(crate) fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some((name, value)) = self.header {
            headers.insert(name, value);
        }
        response
    }
}

fn json(body: &impl Serialize) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::with_capacity(640);
    serde_json::to_writer(&mut bytes, body).map_err(|_| Refusal::internal("an answer that is not JSON"))?;
    Ok(bytes)
}
