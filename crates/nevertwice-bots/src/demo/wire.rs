//! Requests as the API wants them, and what its answers say.

use nevertwice_api::wire;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::shared::Shared;
use crate::http::{Outcome, Reply, Request};
use crate::record::{Asked, Effect, IntentId, Position, Told};

/// The market of the demonstration.
pub(super) const MARKET: &str = "worldcup-2026";
/// The sale of the demonstration.
pub(super) const SALE: &str = "seats-2026";

/// One intent, ready to be asked any number of times.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) intent: IntentId,
    pub(super) asked: Asked,
    pub(super) request: Request,
    pub(super) answer: Answer,
}

/// Which `result` a yes carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Order,
    Repriced,
    Admission,
    Ended,
    /// A page for people.
    Page,
}

/// A `POST` with the intent's headers.
pub(super) fn post<T: serde::Serialize>(shared: &Shared, path: String, body: &T, intent: &IntentId) -> Result<Request, serde_json::Error> {
    let request = Request::post(path, body)?
        .header("principal", intent.principal.clone())
        .header("idempotency-key", intent.key.clone())
        .header("idempotency-expires", shared.expires_at.to_string());
    Ok(authorized(shared, request))
}

/// A `GET`, with credentials if there are any.
pub(super) fn get(shared: &Shared, path: String) -> Request {
    authorized(shared, Request::get(path))
}

fn authorized(shared: &Shared, request: Request) -> Request {
    match &shared.authorization {
        Some(authorization) => request.header("authorization", authorization.clone()),
        None => request,
    }
}

/// What an outcome tells of an intent.
pub(super) fn told(outcome: &Outcome, answer: Answer) -> Told {
    match outcome {
        Outcome::Reply(reply) => told_by(reply, answer),
        Outcome::Lost | Outcome::TimedOut => Told::Nothing,
        Outcome::Refused | Outcome::Unsendable => Told::Unseen,
    }
}

fn told_by(reply: &Reply, answer: Answer) -> Told {
    if answer == Answer::Page {
        return match reply.status {
            200 => Told::Shown,
            404 => Told::No { code: "payment_unknown".to_owned() },
            409 => Told::No { code: "payment_closed".to_owned() },
            _ => Told::Nothing,
        };
    }
    if reply.is_success() {
        return yes(reply, answer).unwrap_or(Told::Nothing);
    }
    match reply.json::<wire::Problem>() {
        // What may be otherwise soon settles nothing, whether or not something was done.
        Ok(problem) if problem.retryable || problem.status >= 500 => Told::Nothing,
        Ok(problem) => Told::No { code: problem.code },
        Err(_) => Told::Nothing,
    }
}

/// Any accepted answer, its `result` as the text that came.
#[derive(Deserialize)]
struct Accepted {
    result: Box<RawValue>,
    replayed: bool,
}

fn yes(reply: &Reply, answer: Answer) -> Option<Told> {
    let accepted: Accepted = reply.json().ok()?;
    let result = accepted.result.get();
    let (position, effect) = match answer {
        Answer::Order => {
            let order: wire::Order = serde_json::from_str(result).ok()?;
            let wire::Order { position, total, balance, holding, price_before, price_after, .. } = order;
            (position, Effect::Filled { total, balance, holding, price_before, price_after })
        }
        Answer::Repriced => {
            let repriced: wire::InstrumentRepriced = serde_json::from_str(result).ok()?;
            let wire::InstrumentRepriced { position, price_before, price_after, .. } = repriced;
            (position, Effect::Repriced { price_before, price_after })
        }
        Answer::Admission => {
            let admission: wire::Admission = serde_json::from_str(result).ok()?;
            let effect = Effect::Admitted { level: admission.level, seat: admission.seat.into() };
            (admission.booking, effect)
        }
        Answer::Ended | Answer::Page => {
            let ended: Placed = serde_json::from_str(result).ok()?;
            (ended.position, Effect::Done)
        }
    };
    let position: Position = position.parse().ok()?;
    // The header and the body say the same, or the answer cannot be trusted.
    let marked = reply.header("idempotent-replayed") == Some("true");
    (marked == accepted.replayed).then(|| Told::Yes { position, replayed: accepted.replayed, effect, digest: digest(result) })
}

#[derive(Deserialize)]
struct Placed {
    position: String,
}

/// FNV-1a over the text of a result: two that differ in anything differ in it.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
