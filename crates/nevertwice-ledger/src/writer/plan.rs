//! What of a shard's entries comes next, or why nothing may.

use std::collections::HashSet;

use nevertwice_api::SourceEntry;
use nevertwice_api::encoding::decode_entry;
use nevertwice_core::{Event, IdempotencyKey, Principal};

use crate::truth::Fence;

/// What of a shard's entries comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan<'a> {
    /// Entries behind the fence, without a gap, no key twice among them.
    pub(super) entries: Vec<&'a SourceEntry>,
    /// For how long their keys are remembered, in milliseconds.
    pub(super) retention_ms: i64,
    /// Why nothing may come behind them, for people.
    pub(super) stop: Option<String>,
}

/// Looks through entries that lie behind the fence. It reads nothing.
pub(super) fn plan<'a>(fence: &Fence, entries: impl IntoIterator<Item = &'a SourceEntry>) -> Plan<'a> {
    let mut plan = Plan { entries: Vec::new(), retention_ms: fence.retention_ms, stop: None };
    let mut keys: HashSet<(&Principal, &IdempotencyKey)> = HashSet::new();
    let mut last = fence.last;
    for entry in entries {
        let head = &entry.head;
        if head.position.seq != last.seq + 1 {
            plan.stop = Some(format!("entry {} came where {} ends: what lies between is missing", head.position, last));
            return plan;
        }
        if head.position.epoch < last.epoch {
            plan.stop = Some(format!("entry {} is of an epoch that was over at {last}", head.position));
            return plan;
        }
        if plan.retention_ms == 0 {
            match retention_ms(&entry.bytes) {
                Some(retention_ms) => plan.retention_ms = retention_ms,
                None => {
                    plan.stop = Some(format!("entry {} is the shard's first, and opens nothing", head.position));
                    return plan;
                }
            }
        }
        // Whether it was remembered is the database's to say, and that sees those before it only in the next statement.
        if !keys.insert((&head.intent.principal, &head.intent.key)) {
            return plan;
        }
        last = head.position;
        plan.entries.push(entry);
    }
    plan
}

/// What the opening of a shard says of the memory of its keys.
fn retention_ms(bytes: &[u8]) -> Option<i64> {
    let entry = decode_entry(bytes).ok()?;
    entry.events.iter().find_map(|event| match event {
        Event::MarketOpened(opened) => Some(opened.retention_ms),
        Event::SaleOpened(opened) => Some(opened.retention_ms),
        _ => None,
    })
}
