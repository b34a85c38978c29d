//! What the clients heard over HTTP, against the entries: every yes is one of them and is rendered from it, every intent has one
//! effect, every replay says the same, and a *no* after the intent's end is the last word.

use std::collections::BTreeMap;

use nevertwice_api::wire::{Admission, Order};
use nevertwice_core::{Entry, Event, Position, ShardId};
use serde_json::{Value, json};

use crate::finding::Finding;
use crate::follower::{Followed, Follower};
use crate::http::{Http, Told};
use crate::record::Record;
use crate::world::{Ask, Errand, Intent};

/// Judges what every intent's client heard.
pub(crate) fn judge(_record: &Record, intents: &[Intent], follower: &Follower) -> Result<(), Finding> {
    for (number, intent) in intents.iter().enumerate() {
        let Ask::Http(http) = &intent.ask else { continue };
        if intent.is_read() || intent.errand == Some(Errand::Trap) {
            continue;
        }
        let about = |what: String| {
            let name = format!("intent {number}:");
            Finding::new(format!("intent {number}, {}: {what}", intent.name)).about(http.key.as_str()).about(name)
        };
        let Some(shard) = shard_of(http) else { return Err(about(format!("no shard at {}", http.path))) };
        let followed = follower.shards.iter().find(|(id, _)| **id == shard).map(|(_, followed)| followed);
        judge_intent(intent, http, followed).map_err(about)?;
    }
    Ok(())
}

fn shard_of(http: &Http) -> Option<ShardId> {
    let mut parts = http.path.split('/').skip(2);
    let (kind, name) = (parts.next()?, parts.next());
    let body: Value = serde_json::from_str(http.body.as_deref()?).ok()?;
    let name = |member: &str| name.map(str::to_owned).or_else(|| body[member].as_str().map(str::to_owned));
    match kind {
        "markets" => Some(ShardId::market(nevertwice_core::Name::new(&name("market")?).ok()?)),
        "sales" => Some(ShardId::sale(nevertwice_core::Name::new(&name("sale")?).ok()?)),
        _ => None,
    }
}

fn judge_intent(intent: &Intent, http: &Http, followed: Option<&Followed>) -> Result<(), String> {
    let mut results: BTreeMap<Position, &Value> = BTreeMap::new();
    let mut firsts = 0;
    for told in &intent.told {
        match told {
            Told::Yes { position, replayed, result, .. } => {
                let entry = followed.and_then(|followed| followed.entry(*position));
                let entry = entry.ok_or_else(|| format!("it was told yes at {position}, and no such entry is there"))?;
                is_rendered(entry, http, result)?;
                if let Some(first) = results.insert(*position, result)
                    && first != result
                {
                    return Err(format!("at {position} it was told {first}, and then {result}"));
                }
                firsts += u32::from(!replayed);
            }
            Told::No { position: Some(position), .. } if position.seq > 0 && !followed.is_some_and(|followed| followed.has(*position)) => {
                return Err(format!("it was told no as of {position}, and no such entry is there"));
            }
            _ => {}
        }
    }
    // A doubled reply is heard twice; what matters is that no two positions claim to be the first within one retention, which the
    // auditor has seen to. Here: a key that was told yes at two positions was forgotten in between.
    if let (Some((first, _)), Some((last, _)), Some(followed)) = (results.first_key_value(), results.last_key_value(), followed)
        && first != last
    {
        let at = |position: &Position| followed.entry(*position).map_or(0, |entry| entry.at_ms);
        if at(last) - at(first) < retention_ms(followed) {
            return Err(format!("it was told yes at {first} and at {last}, within one retention; {firsts} said to be the first"));
        }
    }
    Ok(())
}

fn retention_ms(followed: &Followed) -> i64 {
    let opened = followed.chain.first().and_then(|entry| entry.events.first());
    match opened {
        Some(Event::MarketOpened(opened)) => opened.retention_ms,
        Some(Event::SaleOpened(opened)) => opened.retention_ms,
        _ => 0,
    }
}

/// Whether a result tells what its entry says.
fn is_rendered(entry: &Entry, http: &Http, result: &Value) -> Result<(), String> {
    let (principal, key) = (entry.intent.principal.as_str(), entry.intent.key.as_str());
    if (principal, key) != (http.principal.as_str(), http.key.as_str()) {
        return Err(format!("it was told yes at {}, which belongs to {principal}/{key}", entry.position));
    }
    if result["at_ms"] != json!(entry.at_ms) {
        return Err(format!("at {}: the result says {}, and the entry was made at {}", entry.position, result["at_ms"], entry.at_ms));
    }
    let expected = match entry.events.first() {
        Some(Event::OrderFilled(filled)) => {
            let rendered = Order::of(entry).and_then(|order| serde_json::to_value(order).ok()).unwrap_or_default();
            // The rendering is the product's own; the figures that matter are compared one by one.
            let figures = [
                ("quantity", filled.quantity),
                ("notional", filled.notional),
                ("fee", filled.fee),
                ("balance", filled.balance),
                ("holding", filled.holding),
            ];
            if let Some((name, figure)) = figures.into_iter().find(|(name, figure)| result[*name] != json!(figure)) {
                return Err(format!("at {}: `{name}` is {}, and the entry says {figure}", entry.position, result[name]));
            }
            rendered
        }
        Some(Event::CandidateAdmitted(_)) => Admission::of(entry).and_then(|it| serde_json::to_value(it).ok()).unwrap_or_default(),
        _ => return Ok(()),
    };
    if *result == expected { Ok(()) } else { Err(format!("at {}: the result is {result}, and not {expected}", entry.position)) }
}
