//! How the server is.

use axum::http::StatusCode;
use nevertwice_api::wire::Health as Shown;
use nevertwice_api::{ErrorCode, Health, Level};
use nevertwice_core::{Query, ShardKind, View};
use std::sync::Arc;

use crate::call::Call;
use crate::metrics::{LiveOn, Scraped, ShardAt};
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
    }
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
    // A file system may take its time, and this thread has others to serve.
    let machine = Arc::clone(&app.machine);
    let machine = tokio::task::spawn_blocking(move || machine.read()).await.unwrap_or_default();
    let (under_way, waiting) = app.limiter.counts();
    let scraped = Scraped { status: app.backend.status(), machine, under_way, waiting, shards, live };
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
