//! What most endpoints do.

use axum::http::StatusCode;
use nevertwice_api::Answer;
use nevertwice_api::wire::{Envelope, Read};
use nevertwice_core::{Action, Decision, Intent, Query, ShardId, View};
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
    let envelope = envelope::<R>(call.app.submit(shard, intent, action, call.levels).await?)?;
    Reply::command(&envelope, fresh, envelope.replayed)
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
