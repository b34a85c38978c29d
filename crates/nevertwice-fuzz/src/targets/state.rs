//! The records of a shard that get past every checksum: what loading makes of them.

use std::collections::BTreeMap;

use nevertwice_api::encoding::{decode_record, encode_record};
use nevertwice_core::model::audit_records;
use nevertwice_core::{Record, State};

use super::record;
use crate::Verdict;

/// The input is a shard's records, each 4 bytes of length before it.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let mut records = Vec::new();
    let mut rest = bytes;
    while let Some(length) = rest.first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let Some((encoded, after)) = rest[4..].split_at_checked(length) else { break };
        let Ok(read) = decode_record(encoded) else { return Verdict::Refused };
        record::check(&read, encoded);
        records.push(read);
        rest = after;
    }
    let _ = audit_records(records.clone());
    let Ok(state) = State::import((3, 4), records) else { return Verdict::Refused };
    let again = copy(&state);
    assert_eq!(sorted(&again), sorted(&state), "what was shown is shown again");
    Verdict::Accepted
}

/// The same state by way of its records, in tables of another seed.
pub(crate) fn copy(state: &State) -> State {
    let again = State::import((5, 6), records_of(state)).unwrap_or_else(|error| panic!("{}: its own records: {error}", state.shard()));
    assert_eq!(again.position(), state.position());
    assert_eq!(again.state_hash(), state.state_hash(), "{}: what was saved is loaded", state.shard());
    again
}

/// What a state shows.
pub(crate) fn records_of(state: &State) -> Vec<Record> {
    let mut records = Vec::new();
    state.export(&mut |record| records.push(record));
    records
}

/// How often each record is shown; the order is not fixed.
fn sorted(state: &State) -> BTreeMap<Vec<u8>, usize> {
    let mut counted = BTreeMap::new();
    for record in records_of(state) {
        let mut bytes = Vec::new();
        encode_record(&record, &mut bytes);
        *counted.entry(bytes).or_default() += 1;
    }
    counted
}
