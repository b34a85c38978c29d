//! Many orders in one request: NDJSON in and out, each line its own key and its own answer.
//!
//! All lines are submitted in order before the first answer is awaited; so they share fsyncs, and take effect in the order in
//! which they stand. A line that is wrong touches no other.

use nevertwice_api::wire::{BatchAnswer, Envelope, Order, PlaceOrder};
use nevertwice_api::{Answer, BoxFuture, ErrorCode, Failure, Levels, Request, fingerprint};
use nevertwice_core::{Command, IdempotencyKey, Intent, Origin, Position, ShardId};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::envelope;
use crate::access::Caller;
use crate::app::App;
use crate::attempts::Attempt;
use crate::call::Call;
use crate::metrics::RouteNumber;
use crate::refusal::Refusal;
use crate::reply::{Outcome, Reply};
use crate::{body, convert, intent};

/// What a line is; its order stays as it was written, for the fingerprint.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    key: String,
    principal: Option<String>,
    expires_at: Option<i64>,
    #[serde(borrow)]
    order: &'a RawValue,
}

/// A line on its way.
struct UnderWay<'a> {
    key: Option<IdempotencyKey>,
    attempt: Option<Attempt<'a>>,
    answer: Result<BoxFuture<'static, Result<Answer, Failure>>, Refusal>,
}

pub(crate) async fn place(call: Box<Call>) -> Result<Reply, Refusal> {
    let market = call.market()?;
    call.parameters(&[])?;
    let Call { app, caller, origin, parts, body, .. } = *call;
    let levels = intent::ack_levels(&parts.headers)?;
    body::check_media_type(&parts.headers, &["application/x-ndjson", "application/ndjson"])?;
    let limits = &app.limits;
    let bytes_max = limits.batch_lines_max.saturating_mul(limits.batch_line_bytes_max.saturating_add(1));
    let bytes = body::read(&app, body.take(), &parts.headers, bytes_max).await?;
    let lines = lines(&bytes, limits.batch_lines_max)?;
    app.limiter.take_lines(&caller, lines.len(), app.steady.now_ms())?;
    let under_way: Vec<UnderWay<'_>> =
        lines.into_iter().map(|line| submit(&app, &caller, origin.as_deref(), &market, levels, line)).collect();
    let deadline = Instant::now() + limits.answer_deadline;
    let mut out = Vec::with_capacity(under_way.len().saturating_mul(640));
    for UnderWay { key, attempt, answer } in under_way {
        let answered = match answer {
            Ok(answer) => app.until(deadline, answer).await.and_then(envelope::<Order>),
            Err(refusal) => Err(refusal),
        };
        let outcome = outcome(&answered);
        if let Some(attempt) = attempt {
            attempt.end(outcome.into(), place_of(&answered));
        }
        app.metrics.requests.count(RouteNumber::BATCH_LINE, outcome);
        let line = show(key.as_ref(), answered);
        serde_json::to_writer(&mut out, &line).map_err(|_| Refusal::internal("an answer that is not JSON"))?;
        out.push(b'\n');
    }
    Ok(Reply::other("application/x-ndjson", out))
}

/// The lines of a batch, without those that are empty.
pub(crate) fn lines(bytes: &[u8], lines_max: usize) -> Result<Vec<&[u8]>, Refusal> {
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).collect();
    if lines.len() > lines_max {
        return Err(Refusal::new(
            ErrorCode::BatchTooLong,
            format!("The batch has {} lines, more than {lines_max}", lines.len()),
            "Send it in several requests",
        )
        .figure("batch_lines_max", lines_max));
    }
    Ok(lines)
}

fn submit<'a>(app: &'a App, caller: &Caller, origin: Option<&Origin>, market: &ShardId, levels: Levels, line: &[u8]) -> UnderWay<'a> {
    let (key, request) = read_line(caller, market, levels, line, app.limits.batch_line_bytes_max);
    let mut attempt = None;
    let allowed = request.and_then(|mut request| {
        let principal = &request.command.intent.principal;
        attempt = Some(app.attempts.begin(principal, &request.command.intent.key, app.clock.now_ms()));
        app.limiter.take_line(caller, principal, app.steady.now_ms())?;
        request.command.origin = origin.cloned().map(Box::new);
        Ok(request)
    });
    UnderWay { key, attempt, answer: allowed.map(|request| app.backend.submit(request)) }
}

/// What a line asks for; its key is known even where the rest of it is wrong.
pub(crate) fn read_line(
    caller: &Caller,
    market: &ShardId,
    levels: Levels,
    line: &[u8],
    line_bytes_max: usize,
) -> (Option<IdempotencyKey>, Result<Request, Refusal>) {
    if line.len() > line_bytes_max {
        let refusal = Refusal::new(ErrorCode::BodyTooLarge, format!("The line is longer than {line_bytes_max} bytes"), "Shorten it");
        return (None, Err(refusal));
    }
    let read: Line<'_> = match body::parse(line) {
        Ok(read) => read,
        Err(refusal) => return (None, Err(refusal)),
    };
    match intent::plain_key(&read.key) {
        Ok(key) => {
            let request = request(caller, market, levels, &key, &read);
            (Some(key), request)
        }
        Err(refusal) => (None, Err(refusal)),
    }
}

fn request(caller: &Caller, market: &ShardId, levels: Levels, key: &IdempotencyKey, line: &Line<'_>) -> Result<Request, Refusal> {
    let principal = caller.line_principal(line.principal.as_deref())?;
    if line.expires_at.is_some_and(|expires_at| expires_at < 0) {
        return Err(body::invalid("expires_at", "it is not an instant in milliseconds since 1970"));
    }
    let order = line.order.get().as_bytes();
    let action = convert::order(&body::parse::<PlaceOrder>(order)?)?;
    caller.check_account(&action.account)?;
    // The same as for a single request, so that either repeats the other.
    let operation = ["place_order", market.name.as_str()];
    let fingerprint = fingerprint::of_json(&operation, order).map_err(|error| body::malformed(&error.to_string()))?;
    let intent = Intent { principal, key: key.clone(), fingerprint, expires_at: line.expires_at };
    Ok(Request { shard: market.clone(), command: Command::new(intent, action), levels })
}

/// The entry's place, or that as of which the line was refused.
fn place_of(answered: &Result<Envelope<Order>, Refusal>) -> Option<Position> {
    answered.as_ref().map_or_else(Refusal::position, |answer| answer.result.position.parse().ok())
}

fn outcome(answered: &Result<Envelope<Order>, Refusal>) -> Result<Outcome, ErrorCode> {
    match answered {
        Ok(answer) if answer.replayed => Ok(Outcome::Replayed),
        Ok(_) => Ok(Outcome::Accepted),
        Err(refusal) => Err(refusal.code()),
    }
}

fn show(key: Option<&IdempotencyKey>, answered: Result<Envelope<Order>, Refusal>) -> BatchAnswer {
    let key = key.map(ToString::to_string);
    match answered {
        Ok(answer) => {
            let status = if answer.replayed { 200 } else { 201 };
            BatchAnswer { key, status, answer: Some(answer), problem: None }
        }
        Err(refusal) => {
            let problem = refusal.into_problem();
            BatchAnswer { key, status: problem.status, answer: None, problem: Some(problem) }
        }
    }
}
