//! A standby: how it is, and its promotion.

use std::sync::Arc;

use axum::http::StatusCode;
use nevertwice_api::wire::{Promote, Promoted, Standby as Shown, StandbyShard};
use nevertwice_api::{ErrorCode, FolderAsker};
use nevertwice_core::{Intent, Position, ShardId};
use nevertwice_local::backup::ShardAt;
use nevertwice_local::standby::{Phase, Standby};

use crate::app::App;
use crate::call::{Call, invalid_query};
use crate::refusal::Refusal;
use crate::reply::Reply;

pub(crate) async fn show(call: Box<Call>) -> Result<Reply, Refusal> {
    let parameters = call.parameters(&["hashes"])?;
    let hashes = match parameters.text("hashes") {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(invalid_query("The query parameter `hashes` is not `true` or `false`")),
    };
    let standby = standby(&call.app)?;
    let status = standby.status();
    let shards = if hashes {
        standby.shards().await.into_iter().map(with_hash).collect()
    } else {
        standby.positions().await.iter().map(|(shard, position)| at(shard, *position)).collect()
    };
    Reply::read(&Shown {
        phase: phase_word(status.phase).to_owned(),
        trouble: status.trouble.clone(),
        batch: status.batch,
        applied: status.applied,
        source_batch: status.source_batch,
        lag_batches: status.lag_batches(),
        lag_ms: status.lag_ms,
        silent_ms: status.silent_ms,
        shards,
    })
}

pub(crate) async fn promote(call: Box<Call>) -> Result<Reply, Refusal> {
    let call = call.command().await?;
    let Promote {} = call.body()?;
    let standby = standby(&call.app)?;
    let Intent { principal, key, .. } = call.intent(&["promote_standby"])?;
    let asker = call.origin.as_deref().map(|origin| FolderAsker { origin: origin.clone(), principal, key });
    // It goes on whatever becomes of who asked: a promotion that was begun is not left half done.
    let promotion = async move {
        let task = tokio::task::spawn_blocking(move || become_primary(&standby, asker.as_ref()));
        task.await.map_err(|_| Refusal::internal("a promotion that panicked"))?
    };
    let promoted = call.app.see_through(promotion).await?;
    tracing::warn!(who = call.caller.name.as_str(), from = %call.caller.peer, epoch = promoted.epoch, replayed = promoted.replayed, "promoted");
    Reply::command(&promoted, StatusCode::OK, promoted.replayed)
}

fn become_primary(standby: &Standby, asker: Option<&FolderAsker>) -> Result<Promoted, Refusal> {
    let replayed = standby.promoted().is_some();
    let (backend, report) = standby.promote(asker).map_err(|error| {
        Refusal::with_detail(
            ErrorCode::StandbyFollows,
            format!("The standby could not be promoted: {error}. It does not follow any more, and decides nothing. Look at its log, and start it again."),
        )
    })?;
    let shards = report.positions.iter().map(|(shard, position)| at(shard, *position)).collect();
    Ok(Promoted { batch: report.journal.last_batch, epoch: backend.epoch(), shards, replayed })
}

/// The standby that this server is, or was.
fn standby(app: &App) -> Result<Arc<Standby>, Refusal> {
    app.standby.clone().ok_or_else(|| Refusal::new(ErrorCode::NotStandby, "This server is no standby", "Check the address"))
}

/// The word for what a standby does.
pub(crate) const fn phase_word(phase: Option<Phase>) -> &'static str {
    match phase {
        None => "promoted",
        Some(Phase::Connecting) => "connecting",
        Some(Phase::Installing) => "installing",
        Some(Phase::Following) => "following",
        Some(Phase::Differs) => "differs",
        Some(Phase::Failed) => "failed",
        Some(Phase::Stopped) => "stopped",
    }
}

fn at(shard: &ShardId, position: Position) -> StandbyShard {
    StandbyShard { shard: shard.to_string(), position: position.to_string(), state_hash: None }
}

fn with_hash(found: ShardAt) -> StandbyShard {
    StandbyShard { state_hash: Some(found.hash), ..at(&found.shard, found.position) }
}
