//! How the server is.

use axum::http::StatusCode;
use nevertwice_api::wire::Health as Shown;
use nevertwice_api::{ErrorCode, Health, Level};
use nevertwice_core::{Position, Query, ShardId, ShardKind, View};
use std::sync::Arc;

use super::standby::phase_word;
use crate::app::App;
use crate::call::Call;
use crate::metrics::{Copies, LiveOn, Scraped, ShardAt};
use crate::refusal::Refusal;
use crate::reply::Reply;

/// How many shards one scrape looks at.
const SHARDS_MAX: usize = 1_000;

pub(crate) async fn alive(_call: Box<Call>) -> Result<Reply, Refusal> {
    Reply::read(&Shown { status: "ok".to_owned() })
}

pub(crate) async fn ready(call: Box<Call>) -> Result<Reply, Refusal> {
    if call.app.is_stopping() {
        return Err(nevertwice_api::Failure::ShuttingDown.into());
    }
    match call.app.backend.status().health {
        Health::Ready => Reply::read(&Shown { status: "ok".to_owned() }),
        Health::Poisoned => Err(nevertwice_api::Failure::JournalFailed.into()),
        Health::Full => Err(nevertwice_api::Failure::StorageFull.into()),
        Health::Stopping => Err(nevertwice_api::Failure::ShuttingDown.into()),
        Health::Following => Err(following(&call.app)),
    }
}

/// A standby is not ready to decide; how far it is stands beside that.
fn following(app: &App) -> Refusal {
    let refusal = Refusal::from(nevertwice_api::Failure::StandbyFollows);
    let Some(standby) = &app.standby else { return refusal };
    let status = standby.status();
    refusal
        .figure("phase", phase_word(status.phase))
        .figure("batch", status.batch)
        .figure("source_batch", status.source_batch)
        .figure("lag_batches", status.lag_batches())
        .figure("lag_ms", status.lag_ms)
        .figure("silent_ms", status.silent_ms)
}

pub(crate) async fn metrics(call: Box<Call>) -> Result<Reply, Refusal> {
    let app = &call.app;
    let (mut shards, mut live) = (Vec::new(), Vec::new());
    // A backend that can't be read is no reason to show nothing of the rest.
    let known = app.within_deadline(app.backend.shards()).await.unwrap_or_default();
    for shard in known.into_iter().take(SHARDS_MAX) {
        let query = match shard.kind {
            ShardKind::Market => Query::Market,
            ShardKind::Sale => Query::Sale,
        };
        let Ok(read) = app.read(shard.clone(), query, Some(Level::Decided)).await else { continue };
        if let View::Sale(view) = read.view {
            let sale = shard.name.to_string();
            live.extend(view.levels.iter().map(|level| LiveOn { sale: sale.clone(), level: level.level.to_string(), live: level.live }));
        }
        shards.push(ShardAt { shard: shard.to_string(), position: read.position });
    }
    let standby = app.standby.as_ref().filter(|standby| standby.promoted().is_none());
    if let Some(standby) = standby {
        let at = |(shard, position): (ShardId, Position)| ShardAt { shard: shard.to_string(), position };
        shards.extend(standby.positions().await.into_iter().take(SHARDS_MAX).map(at));
    }
    let feed = app.journal.as_ref().and_then(|host| host.feed());
    let ledger = app.ledger.as_ref().map(|ledger| ledger.status(app.clock.now_ms()));
    let copies = Copies {
        durable: feed.as_ref().map(|feed| feed.durable()),
        replicas: feed.as_ref().and_then(|feed| feed.replicas()),
        readers: feed.map(|feed| feed.readers()).unwrap_or_default(),
        standby: standby.map(|standby| standby.status()),
    };
    // A file system may take its time, and this thread has others to serve.
    let machine = Arc::clone(&app.machine);
    let machine = tokio::task::spawn_blocking(move || machine.read()).await.unwrap_or_default();
    let (under_way, waiting) = app.limiter.counts();
    let scraped =
        Scraped { status: app.backend.status(), machine, under_way, waiting, shards, live, copies, ledger, keys: app.keys.status() };
    match app.metrics.text(scraped) {
        Ok(text) => Ok(Reply::other("application/openmetrics-text; version=1.0.0; charset=utf-8", text.into_bytes())),
        Err(_) => Err(Refusal::new(ErrorCode::Internal, "The metrics could not be written", "Tell the operator")),
    }
}

pub(crate) async fn openapi(_call: Box<Call>) -> Result<Reply, Refusal> {
    Ok(Reply::other("application/json", crate::openapi::document().into_bytes()))
}

pub(crate) async fn docs(_call: Box<Call>) -> Result<Reply, Refusal> {
    Ok(Reply::page(StatusCode::OK, crate::openapi::page()))
}
