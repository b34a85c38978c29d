//! What one answer means. This is the table of `docs/clients.md`, and the only place that knows it.

use serde_json::Value;

use crate::http::Reply;

/// What an answer says of the intent, and of an earlier attempt whose answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It happened.
    Yes,
    /// It did not happen, and no earlier attempt can make it happen.
    No,
    /// This attempt did nothing. An earlier one may still be on its way.
    NoThisTime,
    /// This attempt did nothing, and another may well succeed.
    Again,
    /// It may have happened. The same key will tell.
    AgainInDoubt,
    /// It may have happened, and asking again at once is of no use.
    InDoubt,
}

/// Answers that a server may give only where it did nothing.
const NOTHING_DONE: &[&str] = &[
    "instant_out_of_range",
    "in_flight_limited",
    "intents_full",
    "key_store_unavailable",
    "keys_full",
    "ledger_behind",
    "ledger_stopped",
    "overloaded",
    "rate_limited",
    "replicas_short",
    "request_timeout",
    "shutting_down",
    "standby_follows",
    "storage_full",
    "upstream_unreachable",
];
/// The refusal that holds for every copy of the request, those that are still on their way included.
const EXPIRED: &str = "intent_expired";

/// An answer, read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) verdict: Verdict,
    /// The server's code, or `http_STATUS`.
    pub(crate) code: String,
    pub(crate) replayed: bool,
}

impl Answer {
    pub(crate) fn read(reply: &Reply) -> Self {
        let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let named = body["code"].as_str().filter(|code| !code.is_empty() && reply.status >= 400);
        let code = named.map_or_else(|| format!("http_{}", reply.status), str::to_owned);
        // Browsers may hide the header, and proxies take it off: the body counts as well.
        let replayed = is_marked(reply) || body["replayed"] == true || code == "answer_not_kept";
        Self { verdict: verdict(reply, &code, &body), code, replayed }
    }
}

fn is_marked(reply: &Reply) -> bool {
    reply.header("idempotent-replayed") == Some("true")
}

fn verdict(reply: &Reply, code: &str, problem: &Value) -> Verdict {
    let status = reply.status;
    if (200..300).contains(&status) || status == 303 {
        return Verdict::Yes;
    }
    if code == "answer_not_kept" {
        return of_the_answer_not_kept(problem);
    }
    if status >= 400 && is_marked(reply) {
        return if status < 500 { Verdict::No } else { Verdict::InDoubt };
    }
    let may_be_asked_again = matches!(status, 408 | 429 | 502 | 503 | 504) || (status == 409 && is_in_progress(reply, code));
    match status {
        _ if may_be_asked_again && problem["retryable"] == false => {
            if status >= 500 {
                Verdict::InDoubt
            } else {
                Verdict::NoThisTime
            }
        }
        _ if may_be_asked_again => {
            if status == 429 || NOTHING_DONE.contains(&code) {
                Verdict::Again
            } else {
                Verdict::AgainInDoubt
            }
        }
        400..500 if code == EXPIRED => Verdict::No,
        400..500 | 307 | 308 => Verdict::NoThisTime,
        _ => Verdict::InDoubt,
    }
}

/// A 409 of the key and not of the handler: it is called so, or it has no code and says when to ask again.
fn is_in_progress(reply: &Reply, code: &str) -> bool {
    code == "key_in_progress" || (code == "http_409" && reply.header("retry-after").is_some())
}

/// The request was carried out; only its answer is gone. What that answer was may be told.
fn of_the_answer_not_kept(problem: &Value) -> Verdict {
    match problem["figures"]["status"].as_u64() {
        Some(400..500) => Verdict::No,
        Some(500..) => Verdict::InDoubt,
        _ => Verdict::Yes,
    }
}
