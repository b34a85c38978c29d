//! What a request gets instead of what it asked for: problem details (RFC 9457).

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use nevertwice_api::wire::Problem;
use nevertwice_api::{ErrorCode, Failure};
use nevertwice_core::Position;
use serde::Serialize;

/// Seconds after which a retryable request may be made again, where nothing else is known.
const RETRY_AFTER: u64 = 1;

/// A refusal, and all that its answer needs.
#[derive(Debug)]
pub(crate) struct Refusal(Box<Inner>);

#[derive(Debug)]
struct Inner {
    code: ErrorCode,
    problem: Problem,
    allow: Option<HeaderValue>,
    /// Seconds after which a retryable request may be made again.
    retry_after: u64,
}

impl Refusal {
    /// What was wrong and what to do next, where nothing was done. Both are whole sentences without their full stop.
    pub(crate) fn new(code: ErrorCode, wrong: impl AsRef<str>, next: &str) -> Self {
        Self::with_detail(code, format!("{}. Nothing was done. {next}.", wrong.as_ref()))
    }

    /// A refusal whose detail says in its own words what was wrong, what was done, and what to do.
    pub(crate) fn with_detail(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self(Box::new(Inner { code, problem: Problem::new(code, detail), allow: None, retry_after: RETRY_AFTER }))
    }

    /// A fault of the server itself.
    pub(crate) fn internal(what: &'static str) -> Self {
        tracing::error!(what, "internal fault");
        Self::with_detail(
            ErrorCode::Internal,
            "The server has a fault. What was asked may or may not have happened. Ask again with the same key, which tells; if this stays so, tell the operator.",
        )
    }

    /// The same refusal of a later step, where an earlier one was done: its detail says what was, and what to do.
    pub(crate) fn but_done(mut self, done: &str, next: &str) -> Self {
        let problem = &mut self.0.problem;
        problem.detail = format!("{}. {done}. {next}.", problem.title);
        self
    }

    /// The same refusal with other advice: what to do next depends on what was asked.
    pub(crate) fn but_next(mut self, next: &str) -> Self {
        let problem = &mut self.0.problem;
        problem.detail = format!("{}. Nothing was done. {next}.", problem.title);
        self
    }

    /// Adds a figure.
    pub(crate) fn figure(mut self, name: &str, value: impl Serialize) -> Self {
        if let Ok(value) = serde_json::to_value(value) {
            self.0.problem.figures.insert(name.to_owned(), value);
        }
        self
    }

    /// Says after how many seconds the same may be asked again.
    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.0.retry_after = seconds.max(1);
        self
    }

    /// Says as of which position it is said.
    pub(crate) fn at(mut self, position: Position) -> Self {
        self.0.problem.position = Some(position.to_string());
        self
    }

    /// As of which position it is said, if a shard was asked.
    pub(crate) fn position(&self) -> Option<Position> {
        self.0.problem.position.as_deref()?.parse().ok()
    }

    pub(crate) fn code(&self) -> ErrorCode {
        self.0.code
    }

    pub(crate) fn into_problem(self) -> Problem {
        self.0.problem
    }

    pub(crate) fn into_response(self) -> Response<Body> {
        let Inner { code, problem, allow, retry_after } = *self.0;
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if code.retryable() && matches!(code.status(), 409 | 429 | 503) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(retry_after));
        }
        if code.status() == 401 {
            // RFC 6750: whoever sent nothing is only told what to send.
            let challenge = if code == ErrorCode::CredentialsMissing { "Bearer" } else { "Bearer error=\"invalid_token\"" };
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        // What is left of its body may still come, and would be taken for the next request.
        if matches!(code, ErrorCode::RequestTimeout | ErrorCode::ShuttingDown) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(allow) = allow {
            headers.insert(header::ALLOW, allow);
        }
        response
    }

    /// Names the methods that the path takes.
    pub(crate) fn allow(mut self, methods: &str) -> Self {
        self.0.allow = HeaderValue::from_str(methods).ok();
        self
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let code = failure.code();
        match failure {
            Failure::Overloaded => Self::new(code, "Too much is waiting to be decided", "Ask again with the same key in a moment"),
            Failure::ShuttingDown => {
                Self::new(code, "The server is about to stop", "Ask again with the same key once it, or another, is there")
            }
            Failure::LevelUnavailable(level) => {
                Self::new(code, format!("This backend does not offer the level {level}"), "Ask for a level that it offers")
                    .figure("level", level)
            }
            Failure::PositionUnknown => Self::new(
                code,
                "The position is not one of the shard's history",
                "Ask about a position that an answer of this server carried; after a rebuild, ask with the intent's key instead",
            ),
            Failure::JournalFailed => Self::with_detail(
                code,
                "The journal can't be written. If the request was under way when that happened, it may or may not have been done; otherwise nothing was done. Ask again with the same key once the operator has restarted the server: the key tells.",
            ),
            Failure::StorageFull => Self::new(
                code,
                "The disk is full, and there is no room for more entries",
                "Ask again with the same key; the server goes on by itself once there is space",
            ),
            Failure::OutcomeUnknown => Self::outcome_unknown(),
            Failure::ReplicasShort { live, min } => Self::with_detail(
                code,
                format!(
                    "{}. This attempt did nothing; an earlier one with the same key may have been accepted and wait for its confirmation. Ask again with the same key.",
                    if live < min {
                        format!("Of the replicas that have to confirm what is decided, {min} at least, {live} are there")
                    } else {
                        "The replicas are there, and have not confirmed in time what waited for them".to_owned()
                    }
                ),
            )
            .figure("replicas_live", live)
            .figure("replicas_min", min),
            Failure::BackendUnavailable => Self::new(
                code,
                "The server on which this one decides can't be used: it can't be reached, or it refuses",
                "Ask again with the same key in a moment",
            ),
            Failure::LedgerBehind { lag_ms, lag_ms_max } => Self::new(
                code,
                format!("The ledger is {lag_ms} ms behind what is decided, and may be {lag_ms_max} ms"),
                "Ask again with the same key, waiting longer each time; the server goes on by itself once the ledger has caught up",
            )
            .figure("lag_ms", lag_ms)
            .figure("lag_ms_max", lag_ms_max),
            Failure::LedgerStopped { what } => Self::new(
                code,
                format!("The ledger takes nothing more of this shard: {what}"),
                "Keep the key, and ask again with it once an operator has found out which data folder the ledger knows",
            ),
            Failure::StandbyFollows => Self::new(
                code,
                "This server is a standby: it copies another server, and decides and reads nothing",
                "Ask the server that it copies, with the same key; if that one is lost, an operator promotes this one",
            ),
        }
    }
}

impl Refusal {
    /// The deadline passed before the level was reached.
    pub(crate) fn outcome_unknown() -> Self {
        Self::with_detail(
            ErrorCode::OutcomeUnknown,
            "The answer did not come in time. What was asked may or may not have happened, or may still happen. Ask again with the same key: it tells, and nothing happens twice.",
        )
    }
}
