//! What most endpoints do.

use axum::http::StatusCode;
use nevertwice_api::wire::{Envelope, Read};
use nevertwice_api::{Answer, ErrorCode};
use nevertwice_core::{Action, Decision, Intent, Position, Query, Rejection, ShardId, View};
use serde::Serialize;

use crate::app::ReadOf;
use crate::call::{Call, CommandCall};
use crate::convert::{self, FromEntry};
use crate::refusal::Refusal;
use crate::reply::Reply;

/// Submits a command whose operation is its word and the path's names, and answers with what its entry says.
pub(super) async fn decide<R: FromEntry>(
    call: &CommandCall,
    shard: ShardId,
    path_names: &[&str],
    action: Action,
    fresh: StatusCode,
) -> Result<Reply, Refusal> {
    let mut operation = vec![action.word()];
    operation.extend_from_slice(path_names);
    let intent = call.intent(&operation)?;
    submit::<R>(call, shard, intent, action, fresh).await
}

/// Submits a command whose intent is known, and answers with what its entry says.
pub(super) async fn submit<R: FromEntry>(
    call: &CommandCall,
    shard: ShardId,
    intent: Intent,
    action: Action,
    fresh: StatusCode,
) -> Result<Reply, Refusal> {
    let smaller = convert::smaller(&action);
    let answer = call.submit(shard, call.of(intent, action)).await?;
    let position = position(&answer);
    let envelope = envelope::<R>(answer).map_err(|refusal| match smaller {
        Some(next) if refusal.code() == ErrorCode::AmountTooLarge => refusal.but_next(next),
        _ => refusal,
    })?;
    Ok(Reply::command(&envelope, fresh, envelope.replayed)?.at(position))
}

/// The place of the entry that was made, now or before.
pub(crate) const fn position(answer: &Answer) -> Option<Position> {
    match &answer.decision {
        Decision::Accepted(entry) | Decision::Replayed(entry) => Some(entry.position),
        Decision::Rejected(_) => None,
    }
}

/// What a decision says on the wire.
pub(crate) fn envelope<R: FromEntry>(answer: Answer) -> Result<Envelope<R>, Refusal> {
    let (entry, replayed) = match answer.decision {
        Decision::Accepted(entry) => (entry, false),
        Decision::Replayed(entry) => (entry, true),
        Decision::Rejected(rejection) => return Err(convert::refuse(&rejection, answer.position)),
    };
    let result = R::from_entry(&entry).ok_or_else(|| Refusal::internal("an entry of another kind than its command"))?;
    Ok(Envelope::new(result, replayed, answer.position, answer.levels))
}

/// Whether the intent is a new one, in time: for what is looked at before the shard is asked. What would be replayed or refused
/// because of its key must not depend on it.
pub(super) async fn is_new(call: &CommandCall, shard: &ShardId, operation: &[&str]) -> Result<bool, Refusal> {
    let Intent { principal, key, fingerprint, expires_at } = call.intent(operation)?;
    let ReadOf { view, position, .. } = call.app.read(shard.clone(), Query::Intent { principal, key }, None).await?;
    let View::Intent(known) = view else { return Err(Refusal::internal("a view of another kind than its query")) };
    match known {
        Some(known) if known.intent.fingerprint == fingerprint => Ok(false),
        Some(known) => Err(convert::refuse(&Rejection::FingerprintMismatch { position: known.position }, position)),
        None => match expires_at.filter(|expires_at| *expires_at <= call.app.clock.now_ms()) {
            Some(expires_at) => Err(convert::refuse(&Rejection::IntentExpired { expires_at }, position)),
            None => Ok(true),
        },
    }
}

/// Reads, and answers with what `show` makes of it. `level` comes from the query.
pub(super) async fn read<T: Serialize>(
    call: &Call,
    shard: ShardId,
    query: Query,
    level: Option<nevertwice_api::Level>,
    show: impl FnOnce(View) -> Option<T>,
) -> Result<Reply, Refusal> {
    let ReadOf { view, position, levels } = call.app.read(shard, query, level).await?;
    let result = show(view).ok_or_else(|| Refusal::internal("a view of another kind than its query"))?;
    Reply::read(&Read::new(result, position, levels))
}
