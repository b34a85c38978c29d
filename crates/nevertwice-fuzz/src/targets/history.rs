//! A batch of entries that get past every checksum: what applying makes of them, and what lies behind it.

use std::collections::BTreeMap;

use nevertwice_api::encoding::{decode_entry, decode_fact, is_no_entry};
use nevertwice_core::model::{Auditor, Workload, WorkloadOptions, audit_records};
use nevertwice_core::{Entry, Query, ScanCursor, ShardId, State};
use nevertwice_local::journal::Frame;
use nevertwice_local::states::States;

use super::{entry, state};
use crate::Verdict;

/// Commands that are put to a state which foreign entries made.
const STEPS: u64 = 12;

/// The input is the payload of a frame: entries, each 4 bytes of length before it. Accepted: at least one was applied.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let mut states = States::new((1, 2));
    let mut auditors: BTreeMap<ShardId, Auditor> = BTreeMap::new();
    let mut rest = bytes;
    let mut applied = false;
    while let Some((payload, after)) = split(rest) {
        let entry = decode_entry(&payload[4..]).ok();
        if let Some(entry) = &entry {
            entry::check(entry, &payload[4..]);
        }
        let before = entry.as_ref().and_then(|entry| states.shard(&entry.shard)).map(State::state_hash);
        if states.apply(&frame(payload, 1), |_, _| {}).is_err() {
            if let Some(entry) = entry.filter(|entry| entry.events.len() == 1 && before.is_some()) {
                let now = states.shard(&entry.shard).map(State::state_hash);
                assert_eq!(now, before, "an entry that does not fit changes nothing");
                examine(&states);
            }
            return Verdict::of(applied);
        }
        if is_no_entry(&payload[4..]) {
            assert!(decode_fact(&payload[4..]).is_ok(), "what was applied can be read");
            rest = after;
            continue;
        }
        let entry = entry.expect("what was applied can be read");
        applied = true;
        // Its verdict is its own: it must have one.
        let auditor = auditors.entry(entry.shard.clone()).or_insert_with(|| Auditor::new(entry.shard.clone()));
        let _ = auditor.follow(&entry);
        rest = after;
    }
    if !rest.is_empty() {
        assert!(states.apply(&frame(rest, 1), |_, _| {}).is_err(), "a piece of an entry is none");
    }
    examine(&states);
    Verdict::of(applied)
}

/// The first entry with its length, and what follows.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = u32::from_le_bytes(*bytes.first_chunk::<4>()?) as usize;
    bytes.split_at_checked(length.checked_add(4)?)
}

fn frame(payload: &[u8], entries: u32) -> Frame<'_> {
    Frame { segment: 1, offset: 0, batch: 1, durable: 0, entries, epoch: 1, crc_before: 0, crc: 0, payload, raw: payload }
}

/// What a server would do with the states: show them, save and load them, decide.
fn examine(states: &States) {
    for held in states.shards() {
        let _ = audit_records(state::records_of(held));
        let again = state::copy(held);
        for query in [
            Query::Market,
            Query::Instruments { from: 0 },
            Query::Sale,
            Query::Bookings { cursor: ScanCursor::default() },
            Query::DueHolds { at_ms: i64::MAX, cursor: ScanCursor::default() },
        ] {
            let _ = again.read(&query);
        }
        decide(again);
    }
}

/// Nothing that a state holds may make a decision panic, and what it decides is written and read like any entry.
fn decide(mut state: State) {
    let mut workload = Workload::new(1, WorkloadOptions::default());
    for _ in 0..STEPS {
        let step = workload.next_step();
        if step.shard != *state.shard() {
            continue;
        }
        let decision = state.decide(&step.command, step.at_ms);
        if let nevertwice_core::Decision::Accepted(made) = &decision {
            check_made(made);
            if state.apply(made).is_err() {
                return;
            }
        }
        workload.observe(&step, &decision);
    }
}

fn check_made(made: &Entry) {
    let mut bytes = Vec::new();
    nevertwice_api::encoding::encode_entry(made, &mut bytes);
    assert_eq!(decode_entry(&bytes).as_ref(), Ok(made), "what was decided is read again");
}
