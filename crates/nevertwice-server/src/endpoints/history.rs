//! What has happened: what operators did, and what became of one tap. It is read beside whoever decides.

use std::sync::Arc;

use nevertwice_api::{AuditAsk, ErrorCode, Failure, Health, History, HistoryFailure, Sought, wire};
use nevertwice_core::{Entry, IntentRecord, Principal, Query, ShardId, View};
use tokio::time::Duration;

use super::keys::read_scope_of_query;
use crate::app::App;
use crate::call::{Call, Parameters, invalid_query, read_shard};
use crate::convert;
use crate::explain::{Known, explain as put_together};
use crate::intent;
use crate::key_records::KeyName;
use crate::refusal::Refusal;
use crate::reply::Reply;

/// How long the journal is searched for one intent.
const SEARCH_MAX: Duration = Duration::from_secs(10);

/// How many shards are asked whether they remember an intent, where none is named.
const SHARDS_MAX: usize = 1_000;

pub(crate) async fn audit(call: Box<Call>) -> Result<Reply, Refusal> {
    let parameters = call.parameters(&["shard", "from", "until", "cursor"])?;
    let cursor = parameters.text("cursor").map(str::parse).transpose();
    let asked = AuditAsk {
        shard: shard(&parameters)?,
        from_ms: parameters.instant("from")?,
        until_ms: parameters.instant("until")?,
        cursor: cursor.map_err(|error| invalid_query(&format!("The query parameter `cursor` is not one: {error}")))?,
    };
    let history = history(&call.app)?;
    let page = blocking(move || history.audit(&asked)).await?;
    let facts = page.facts.iter().filter_map(wire::AuditFact::of).collect();
    let next = page.next.map(|next| next.to_string());
    Reply::read(&wire::AuditPage { facts, next, begins_after: page.begins_after, is_whole: page.is_whole })
}

pub(crate) async fn explain(call: Box<Call>) -> Result<Reply, Refusal> {
    let parameters = call.parameters(&["principal", "key", "shard", "scope"])?;
    let principal = Principal::new(parameters.needed("principal")?)
        .map_err(|error| invalid_query(&format!("The query parameter `principal` is no principal: {error}")))?;
    let key = intent::plain_key(parameters.needed("key")?)?;
    let scope = parameters.text("scope").map(read_scope_of_query).transpose()?;
    let app = &call.app;
    let history = history(app)?;
    // A search takes a processor's time and the disk's: one is under way at a time.
    let Ok(_turn) = app.explaining.try_acquire() else {
        return Err(Refusal::new(ErrorCode::Overloaded, "Something else is being explained", "Ask again in a moment"));
    };
    let shard = shard(&parameters)?;
    let known = remembered(app, shard.as_ref(), &principal, &key).await?;
    let places: Vec<_> = known.iter().map(|entry| (entry.shard.clone(), entry.position)).collect();
    let attempts = app.attempts.of(&principal, &key);
    let name = KeyName { principal: principal.clone(), scope, key: key.clone() };
    let record = app.keys.inspect(&name).await?.map(|record| convert::key_record(&name, &record, app.clock.now_ms()));
    let sought = Sought { shard, principal: principal.clone(), key: key.clone(), known };
    let finding = blocking(move || history.follow(&sought, SEARCH_MAX)).await?;
    Reply::read(&put_together(Known { principal: &principal, key: &key, attempts, remembered: &places, finding: &finding, record }))
}

/// The entries with which a retry of the intent would be answered now.
async fn remembered(
    app: &App,
    shard: Option<&ShardId>,
    principal: &Principal,
    key: &nevertwice_core::IdempotencyKey,
) -> Result<Vec<Entry>, Refusal> {
    let shards = match shard {
        Some(shard) => vec![shard.clone()],
        None => app.within_deadline(app.backend.shards()).await?,
    };
    let mut entries = Vec::new();
    for shard in shards.into_iter().take(SHARDS_MAX) {
        let query = Query::Intent { principal: principal.clone(), key: key.clone() };
        match app.read(shard.clone(), query, None).await {
            Ok(read) => {
                let View::Intent(known) = read.view else { return Err(Refusal::internal("a view of another kind than its query")) };
                entries.extend(known.map(|known| entry(shard, known)));
            }
            Err(refusal) if matches!(refusal.code(), ErrorCode::UnknownMarket | ErrorCode::UnknownSale) => {}
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(entries)
}

fn entry(shard: ShardId, known: IntentRecord) -> Entry {
    let IntentRecord { intent, position, at_ms, events } = known;
    Entry { shard, position, at_ms, intent, events, origin: None, before: None }
}

fn shard(parameters: &Parameters) -> Result<Option<ShardId>, Refusal> {
    parameters.text("shard").map(read_shard).transpose()
}

fn history(app: &App) -> Result<Arc<dyn History>, Refusal> {
    if app.backend.status().health == Health::Following {
        return Err(Failure::StandbyFollows.into());
    }
    app.backend.history().ok_or_else(|| {
        Refusal::new(ErrorCode::HistoryUnavailable, "This backend keeps no history that could be shown", "Ask where its entries are kept")
    })
}

/// Reads where waiting for the disk is allowed.
async fn blocking<T: Send + 'static>(read: impl FnOnce() -> Result<T, HistoryFailure> + Send + 'static) -> Result<T, Refusal> {
    let read = tokio::task::spawn_blocking(read).await.map_err(|_| Refusal::internal("a reader of the history that panicked"))?;
    read.map_err(|failure| {
        let next = match failure {
            HistoryFailure::Damaged { .. } => "Look at the disk, and compare the data folder with a copy",
            HistoryFailure::Unreadable { .. } => "Ask again in a moment",
        };
        Refusal::new(failure.code(), failure.to_string(), next)
    })
}
