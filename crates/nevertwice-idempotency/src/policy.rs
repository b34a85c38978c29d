//! What a route chooses.

use std::fmt;
use std::sync::Arc;

use http::HeaderName;
use http::request::Parts;
use nevertwice_api::{BoxFuture, Levels};
use nevertwice_core::keys::LapsePolicy;
use nevertwice_core::limits::{LEASE_MS_MAX, RETENTION_MS_MAX, RETENTION_MS_MIN};

use crate::fingerprint::query_fields;
use crate::{Caller, FingerprintRules};

/// What names a key, beside who calls and the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Nothing: a key used again at another path is a mismatch.
    Principal,
    /// The path and the chosen query: the same key at another path is another key.
    Route,
}

/// What of the query counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    /// All fields.
    All,
    /// None.
    Nothing,
    /// The fields of these names.
    Named(Vec<String>),
}

impl Query {
    pub(crate) fn chosen(&self, query: &str) -> Vec<u8> {
        let mut chosen = Vec::new();
        for (name, value) in query_fields(query.as_bytes()) {
            let counts = match self {
                Self::All => true,
                Self::Nothing => false,
                Self::Named(names) => names.iter().any(|named| named.as_bytes() == name),
            };
            if counts {
                for part in [name, value] {
                    chosen.extend((part.len() as u64).to_le_bytes());
                    chosen.extend(part);
                }
            }
        }
        chosen
    }
}

/// What becomes of an answer that is too large to be kept. Neither ever frees the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oversize {
    /// The key is used, and a retry is told so, without the answer.
    Tombstone,
    /// Up to so many bytes go to the store all the same; beyond them it is a tombstone.
    Spill {
        /// The most bytes of a body.
        bytes_max: usize,
    },
}

/// What becomes of an answer with trailers. Neither ever frees the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trailers {
    /// The key is used, and a retry is told so, without the answer.
    Tombstone,
    /// They are kept and repeated as the header lines are: an answer of gRPC says in them how it ended.
    Keep,
}

/// What happens when the store can't be used. One that is full can be: it refuses whatever this says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreDown {
    /// The request is refused, retryable. Nothing runs twice.
    Closed,
    /// The request runs unguarded. Retries may run again.
    Open,
}

/// What became of a request whose lease ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    /// Nothing has happened: it may run now.
    Nothing,
    /// It had its effect; its answer is not known.
    Done,
    /// Nobody knows yet.
    Unknown,
}

/// Tells what became of a request whose lease ended: asks the payment provider, looks into the database.
pub trait AskWhatBecame: Send + Sync + 'static {
    /// What became of the request, before it is run again.
    fn what_became(&self, parts: &Parts) -> BoxFuture<'static, Became>;
}

/// Allows a replay, beyond the authorisation that ran before the layer.
pub type AuthoriseReplay = Arc<dyn Fn(&Caller, &Parts) -> bool + Send + Sync>;

/// Everything that a route chooses.
#[derive(Clone)]
pub struct Policy {
    /// Whether a request without a key is refused; otherwise it passes unguarded.
    pub required: bool,
    /// What names a key.
    pub scope: Scope,
    /// What of the query counts.
    pub query: Query,
    /// What of the request counts.
    pub fingerprint: FingerprintRules,
    /// Whether callers whom nobody knows share one space of keys. Otherwise they are refused.
    pub anonymous_shares: bool,
    /// The most bytes of a request that are read.
    pub request_bytes_max: usize,
    /// How long a request may take to arrive.
    pub request_ms_max: u64,
    /// The status where the key is missing.
    pub missing_status: u16,
    /// The status where the key was used for something else.
    pub mismatch_status: u16,
    /// The status where somebody works on it.
    pub in_progress_status: u16,
    /// The header that marks a replay.
    pub marker: HeaderName,
    /// How long a duplicate waits for the running call of the same process, in milliseconds; 0: it is told at once.
    pub wait_ms: u64,
    /// How long a claim is its owner's without a heartbeat.
    pub lease_ms: i64,
    /// How long the heartbeat goes on. A handler that takes longer lets its lease end; if nobody takes over, it may still answer.
    pub heartbeat_ms_max: u64,
    /// How long a key is remembered.
    pub retention_ms: i64,
    /// What happens to a key whose lease has ended.
    pub lapse: LapsePolicy,
    /// Whom `lapse: Ask` asks.
    pub ask: Option<Arc<dyn AskWhatBecame>>,
    /// Whether the route's 4xx have no effect and free the key.
    pub client_errors_free: bool,
    /// Whether the route's 5xx are answers that are kept.
    pub store_5xx: bool,
    /// The most bytes of a body that are kept.
    pub stored_bytes_max: usize,
    /// What becomes of a larger one.
    pub oversize: Oversize,
    /// What becomes of an answer with trailers.
    pub trailers: Trailers,
    /// Whether the first caller gets an answer as it comes, while it is copied; otherwise when it was read as far as it is kept, so
    /// that one that breaks off is told as such.
    pub streams: bool,
    /// Headers that are not replayed.
    pub not_replayed: Vec<HeaderName>,
    /// What happens when the store can't be used.
    pub store_down: StoreDown,
    /// Levels that a claim and an answer must have reached.
    pub levels: Levels,
    /// Whether a key that carries its own time (UUIDv7, ULID) and is older than the retention is refused.
    pub refuse_old_keys: bool,
    /// Allows each replay, if set.
    pub authorise_replay: Option<AuthoriseReplay>,
    /// How long clients of this route retry, if it is known: a lease that is longer is said at start.
    pub retry_budget_ms: Option<i64>,
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy").field("scope", &self.scope).field("lapse", &self.lapse).finish_non_exhaustive()
    }
}

/// What belongs to one connection, one moment or one caller's session, and not to the answer.
const NOT_REPLAYED: &[&str] = &[
    "age",
    "authentication-info",
    "connection",
    "date",
    "idempotency-effect",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-connection",
    "ratelimit",
    "ratelimit-limit",
    "ratelimit-policy",
    "ratelimit-remaining",
    "ratelimit-reset",
    "request-id",
    "retry-after",
    "server-timing",
    "set-cookie",
    "te",
    "traceparent",
    "traceresponse",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "www-authenticate",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-request-id",
];

/// Whether a header says something about an answer, its body or its connection already, so that it can't be a mark.
fn has_meaning(name: &HeaderName) -> bool {
    const OTHERS: &[&str] = &["allow", "cache-control", "etag", "expires", "last-modified", "link", "location", "server", "vary"];
    let word = name.as_str();
    NOT_REPLAYED.contains(&word) || OTHERS.contains(&word) || word.starts_with("content-") || word.starts_with("access-control-")
}

impl Policy {
    /// The contract of draft-ietf-httpapi-idempotency-key-header-07: 400 without a key, 422 for another body, 409 in progress.
    #[must_use]
    pub fn ietf() -> Self {
        Self {
            required: true,
            scope: Scope::Principal,
            query: Query::All,
            fingerprint: FingerprintRules::default(),
            anonymous_shares: false,
            request_bytes_max: 1 << 20,
            request_ms_max: 30_000,
            missing_status: 400,
            mismatch_status: 422,
            in_progress_status: 409,
            marker: HeaderName::from_static("idempotent-replayed"),
            wait_ms: 0,
            lease_ms: 60_000,
            heartbeat_ms_max: 60 * 60 * 1_000,
            retention_ms: 24 * 60 * 60 * 1_000,
            lapse: LapsePolicy::Refuse,
            ask: None,
            client_errors_free: false,
            store_5xx: false,
            stored_bytes_max: 64 << 10,
            oversize: Oversize::Tombstone,
            trailers: Trailers::Tombstone,
            streams: false,
            not_replayed: NOT_REPLAYED.iter().map(|name| HeaderName::from_static(name)).collect(),
            store_down: StoreDown::Closed,
            levels: Levels::NONE,
            refuse_old_keys: false,
            authorise_replay: None,
            retry_budget_ms: None,
        }
    }

    /// As Stripe documents it: the key is optional, another body is 400, and 5xx are answers.
    #[must_use]
    pub fn stripe() -> Self {
        Self { required: false, mismatch_status: 400, store_5xx: true, ..Self::ietf() }
    }

    /// As the Universal Commerce Protocol has it: another body is 409. It guards PUT as well; see [`Routes::ucp`](crate::Routes::ucp).
    #[must_use]
    pub fn ucp() -> Self {
        Self { mismatch_status: 409, ..Self::ietf() }
    }

    /// For unary calls of gRPC, whose key is the metadata `idempotency-key`: trailers are kept, for they say how a call ended.
    #[must_use]
    pub fn grpc() -> Self {
        Self { trailers: Trailers::Keep, ..Self::ietf() }
    }

    /// The most bytes of a body that go to the store.
    pub(crate) fn kept_bytes_max(&self) -> usize {
        match self.oversize {
            Oversize::Tombstone => self.stored_bytes_max,
            Oversize::Spill { bytes_max } => bytes_max.max(self.stored_bytes_max),
        }
    }

    /// What is nonsense in it, in words.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        if !(RETENTION_MS_MIN..=RETENTION_MS_MAX).contains(&self.retention_ms) {
            return Some("the retention is out of range");
        }
        if !(3..=LEASE_MS_MAX).contains(&self.lease_ms) || self.lease_ms >= self.retention_ms {
            return Some("the lease is out of range, or not below the retention");
        }
        if (self.lapse == LapsePolicy::Ask) != self.ask.is_some() {
            return Some("a lapsed key is to be asked about, and there is nobody to ask; or the other way round");
        }
        if has_meaning(&self.marker) {
            return Some("the marker of a replay is a header that means something else");
        }
        let statuses = [self.missing_status, self.mismatch_status, self.in_progress_status];
        statuses.iter().any(|status| !(400..=499).contains(status)).then_some("a refusal's status is not 4xx")
    }
}
