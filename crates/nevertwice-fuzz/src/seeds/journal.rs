//! Entries, records and files that real lives of a server left.

use std::collections::BTreeMap;
use std::mem::{Discriminant, discriminant};

use nevertwice_api::encoding::{encode_entry, encode_record};
use nevertwice_core::model::{Workload, WorkloadOptions};
use nevertwice_core::{Decision, Entry, Event, Record, ShardId, State};
use nevertwice_local::journal::is_segment;
use nevertwice_local::snapshot::is_snapshot;
use nevertwice_local::storage::Storage as _;

use super::house::{House, Left};
use super::list::Input;
use crate::forge;
use crate::targets::snapshot::BATCH;
use crate::targets::state::records_of;

/// Steps after which nearly every event has happened.
const STEPS: u64 = 6_000;

/// One entry of every kind that the workload makes.
pub(super) fn entries() -> Vec<Input> {
    let mut kinds: Vec<Discriminant<Event>> = Vec::new();
    let mut inputs = Vec::new();
    for entry in history(STEPS).0 {
        let Some(event) = entry.events.first() else { continue };
        if !kinds.contains(&discriminant(event)) {
            kinds.push(discriminant(event));
            inputs.push((word(&format!("{event:?}")), encoded(&entry)));
        }
    }
    inputs
}

/// One record of every kind.
pub(super) fn records() -> Vec<Input> {
    let mut kinds: Vec<Discriminant<Record>> = Vec::new();
    let mut inputs = Vec::new();
    for record in history(STEPS).1.values().flat_map(records_of) {
        if !kinds.contains(&discriminant(&record)) {
            kinds.push(discriminant(&record));
            let mut bytes = Vec::new();
            encode_record(&record, &mut bytes);
            inputs.push((word(&format!("{record:?}")), bytes));
        }
    }
    inputs
}

/// The beginning of each shard's history, as a frame's payload.
pub(super) fn histories() -> Vec<Input> {
    let (entries, states) = history(700);
    let payload = |shard: &ShardId, count: usize| -> Vec<u8> {
        entries.iter().filter(|entry| entry.shard == *shard).take(count).flat_map(|entry| prefixed(encoded(entry))).collect()
    };
    states.keys().flat_map(|shard| [12, 45].map(|count| (format!("{}-{count}", shard.name), payload(shard, count)))).collect()
}

/// Each shard's records.
pub(super) fn states() -> Vec<Input> {
    let (_, states) = history(500);
    let bytes = |state: &State| {
        let records = records_of(state).into_iter().flat_map(|record| {
            let mut bytes = Vec::new();
            encode_record(&record, &mut bytes);
            prefixed(bytes)
        });
        records.collect()
    };
    states.values().map(|state| (state.shard().name.to_string(), bytes(state))).collect()
}

/// The first and the last segment of a folder, as they are and as the only one.
pub(super) fn segments() -> Vec<Input> {
    let house = House::build(4, Left::Stopped);
    let mut names: Vec<String> = house.storage.list().expect("memory can be listed").into_iter().filter(|name| is_segment(name)).collect();
    names.sort();
    let read = |name: &String| {
        let mut bytes = house.storage.read(name).expect("it is listed");
        // A few frames do, and the zeros that follow say nothing.
        bytes.truncate(5 * 4096);
        bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
        bytes
    };
    let (first, last) = (read(&names[0]), read(&names[names.len() - 1]));
    vec![
        ("first".to_owned(), [vec![0], first.clone()].concat()),
        ("first-forged".to_owned(), [vec![1], first].concat()),
        ("last-forged".to_owned(), [vec![3], last].concat()),
    ]
}

/// A snapshot, as it is and with only its checksums wrong.
pub(super) fn snapshots() -> Vec<Input> {
    let house = House::build(5, Left::StoppedWithSnapshots);
    let names = house.storage.list().expect("memory can be listed");
    let name = names.iter().find(|name| is_snapshot(name)).expect("it has made snapshots");
    let mut bytes = house.storage.read(name).expect("it is listed");
    forge::snapshot(&mut bytes, BATCH);
    let unsealed = [vec![1], bytes.clone()].concat();
    vec![("good".to_owned(), [vec![0], bytes].concat()), ("forged".to_owned(), unsealed)]
}

/// One damage of each kind to each folder, and some together.
pub(super) fn damages() -> Vec<Input> {
    let mut inputs = Vec::new();
    for house in 0..3_u8 {
        inputs.push((format!("{house}-none"), vec![house]));
        let mut script = vec![house];
        for kind in 0..11_u8 {
            let step = [kind, kind.wrapping_mul(5).wrapping_add(house), 17 * kind, 40 + kind, 0, 0, kind + 2, 90 + kind];
            inputs.push((format!("{house}-{kind}"), [&[house], &step[..]].concat()));
            if kind % 3 == 0 {
                script.extend_from_slice(&step);
            }
        }
        inputs.push((format!("{house}-some"), script));
    }
    inputs
}

/// What a workload's first steps make, decided by the core alone.
fn history(steps: u64) -> (Vec<Entry>, BTreeMap<ShardId, State>) {
    let options = WorkloadOptions { markets: 1, sales: 1, accounts: 4, instruments: 3, candidates: 8, ..WorkloadOptions::default() };
    let mut workload = Workload::new(7, options);
    let mut states: BTreeMap<ShardId, State> = BTreeMap::new();
    let mut entries = Vec::new();
    for _ in 0..steps {
        let step = workload.next_step();
        let state = states.entry(step.shard.clone()).or_insert_with(|| State::new(step.shard.clone(), 1, (7, 11)));
        let decision = state.decide(&step.command, step.at_ms);
        workload.observe(&step, &decision);
        if let Decision::Accepted(entry) = decision {
            state.apply(&entry).expect("what was decided fits");
            entries.push(entry);
        }
    }
    (entries, states)
}

fn encoded(entry: &Entry) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_entry(entry, &mut bytes);
    bytes
}

/// With its length before it.
fn prefixed(bytes: Vec<u8>) -> Vec<u8> {
    [&(bytes.len() as u32).to_le_bytes()[..], &bytes].concat()
}

/// The name of a variant, from its debug form.
fn word(debug: &str) -> String {
    debug.chars().take_while(char::is_ascii_alphanumeric).collect()
}
