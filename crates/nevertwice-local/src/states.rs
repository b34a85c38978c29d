//! The states of all shards, made of a snapshot and of frames: at recovery, beside the sequencer for the next snapshot, and
//! for who looks at a folder that nobody runs.
//!
//! A frame's payload is a list of entries, each 4 bytes of length (little-endian) and the entry in the encoding of
//! `nevertwice-api`; the seal of a folder that was promoted or restored tells of that in the place of an entry. A snapshot's records are state records in the same encoding: for each shard its own record first, then
//! what it consists of.

use std::collections::BTreeMap;

use nevertwice_api::encoding::{DecodeError, decode_fact, decode_record, encode_entry, encode_folder_fact, encode_record, is_no_entry};
use nevertwice_api::{Fact, FolderFact};
use nevertwice_core::{Entry, Record, ShardId, State};

use crate::error::{Damage, IoFailure, OpenError};
use crate::folder::JournalId;
use crate::journal::Frame;
use crate::snapshot::{ReadError, SnapshotReader, SnapshotWriter};
use crate::storage::Storage;

/// The seed of the shards' hash tables.
pub type Seed = (u64, u64);

/// All shards.
pub struct States {
    seed: Seed,
    shards: BTreeMap<ShardId, State>,
}

impl States {
    /// No shard yet.
    pub fn new(seed: Seed) -> States {
        States { seed, shards: BTreeMap::new() }
    }

    /// The shards, in the order of their names.
    pub fn shards(&self) -> impl Iterator<Item = &State> {
        self.shards.values()
    }

    /// One shard, if it was ever opened.
    pub fn shard(&self, shard: &ShardId) -> Option<&State> {
        self.shards.get(shard)
    }

    /// The last instant of any shard; 0 for none.
    pub fn last_at_ms(&self) -> i64 {
        self.shards.values().map(State::at_ms).max().unwrap_or(0)
    }

    pub(crate) fn into_shards(self) -> impl Iterator<Item = State> {
        self.shards.into_values()
    }

    /// Loads a snapshot that was verified. The inner error says why it does not count in spite of that.
    pub fn load(storage: &dyn Storage, id: JournalId, batch: u64, seed: Seed) -> Result<Result<States, String>, OpenError> {
        let mut reader = match SnapshotReader::open(storage, id, batch)? {
            Ok(reader) => reader,
            Err(bad) => return Ok(Err(bad)),
        };
        let mut states = States::new(seed);
        let mut records = Records { reader: &mut reader, next_shard: None, failure: None };
        records.next_shard = records.read();
        while let Some(first) = records.next_shard.take() {
            let imported = State::import(seed, ShardRecords { first: Some(first), records: &mut records });
            match (records.failure.take(), imported) {
                (Some(Failure::Open(error)), _) => return Err(error),
                (Some(Failure::Bad(bad)), _) => return Ok(Err(bad)),
                (None, Err(error)) => return Ok(Err(error.to_string())),
                (None, Ok(state)) => {
                    if states.shards.insert(state.shard().clone(), state).is_some() {
                        return Ok(Err("a shard is in it twice".to_owned()));
                    }
                }
            }
        }
        match records.failure {
            Some(Failure::Open(error)) => Err(error),
            Some(Failure::Bad(bad)) => Ok(Err(bad)),
            None => Ok(Ok(states)),
        }
    }

    /// Writes all records.
    pub fn save(&self, writer: &mut SnapshotWriter) -> Result<(), IoFailure> {
        let mut bytes = Vec::new();
        let mut written = Ok(());
        for state in self.shards.values() {
            state.export(&mut |record| {
                if written.is_ok() {
                    bytes.clear();
                    encode_record(&record, &mut bytes);
                    written = writer.record(&bytes);
                }
            });
        }
        written
    }

    /// Applies a frame's entries, and says how many there were. `seen` hears of each, with the state after it.
    pub fn apply(&mut self, frame: &Frame<'_>, mut seen: impl FnMut(&State, &Entry)) -> Result<u64, OpenError> {
        let damage = |what: String| Damage { segment: frame.segment, offset: frame.offset, what };
        let (mut entries, mut items) = (0, 0_u64);
        for bytes in Items(frame.payload) {
            let bytes = bytes.map_err(|bad| damage(format!("batch {}: {bad}", frame.batch)))?;
            let fact = match decode_fact(bytes) {
                Ok(fact) => fact,
                Err(DecodeError::TooNew { version, known }) => return Err(OpenError::too_new(version, known)),
                Err(error) => return Err(damage(format!("batch {}, entry {items}: {error}", frame.batch)).into()),
            };
            items += 1;
            // What was done to the folder or to a key changes no state.
            let Fact::Entry(entry) = fact else { continue };
            let state = match self.shards.get_mut(&entry.shard) {
                Some(state) => state,
                None => {
                    let state = State::new(entry.shard.clone(), entry.position.epoch, self.seed);
                    self.shards.entry(entry.shard.clone()).or_insert(state)
                }
            };
            if let Err(error) = state.apply(&entry) {
                return Err(damage(format!("batch {}, {} {}: {error}", frame.batch, entry.shard, entry.position)).into());
            }
            seen(state, &entry);
            entries += 1;
        }
        if items != u64::from(frame.entries) {
            return Err(damage(format!("batch {} holds {items} entries, not {}", frame.batch, frame.entries)).into());
        }
        Ok(entries)
    }
}

/// Appends an entry to a payload.
pub(crate) fn push_entry(payload: &mut Vec<u8>, entry: &Entry) {
    push_with_length(payload, |payload| encode_entry(entry, payload));
}

/// Appends what `encode` does, with its length before it.
pub(crate) fn push_with_length(payload: &mut Vec<u8>, encode: impl FnOnce(&mut Vec<u8>)) {
    let at = payload.len();
    payload.extend_from_slice(&[0; 4]);
    encode(payload);
    let len = (payload.len() - at - 4) as u32;
    payload[at..at + 4].copy_from_slice(&len.to_le_bytes());
}

/// What was done to the folder, as a payload with its one item.
pub(crate) fn folder_payload(fact: &FolderFact) -> Vec<u8> {
    let mut payload = Vec::new();
    push_with_length(&mut payload, |payload| encode_folder_fact(fact, payload));
    payload
}

/// The bytes of a payload's entries. What was done to the folder or to a key is none of them.
pub(crate) fn entries_of(payload: &[u8]) -> impl Iterator<Item = Result<&[u8], &'static str>> {
    Items(payload).filter(|bytes| !bytes.is_ok_and(is_no_entry))
}

/// The bytes of all that is in a payload: entries, and what was done to the folder and to keys.
pub(crate) struct Items<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Items<'a> {
    type Item = Result<&'a [u8], &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let split = self.0.split_first_chunk::<4>().and_then(|(len, rest)| rest.split_at_checked(u32::from_le_bytes(*len) as usize));
        match split {
            Some((entry, rest)) => {
                self.0 = rest;
                Some(Ok(entry))
            }
            None => {
                self.0 = &[];
                Some(Err("its payload ends inside an entry"))
            }
        }
    }
}

enum Failure {
    Open(OpenError),
    Bad(String),
}

struct Records<'a> {
    reader: &'a mut SnapshotReader,
    next_shard: Option<Record>,
    failure: Option<Failure>,
}

impl Records<'_> {
    fn read(&mut self) -> Option<Record> {
        let read = match self.reader.next_record() {
            Ok(None) => return None,
            Ok(Some(bytes)) => decode_record(bytes),
            Err(ReadError::Io(failure)) => {
                self.failure = Some(Failure::Open(failure.into()));
                return None;
            }
            Err(ReadError::Bad(bad)) => {
                self.failure = Some(Failure::Bad(bad));
                return None;
            }
        };
        match read {
            Ok(record) => return Some(record),
            Err(DecodeError::TooNew { version, known }) => self.failure = Some(Failure::Open(OpenError::too_new(version, known))),
            Err(error) => self.failure = Some(Failure::Bad(error.to_string())),
        }
        None
    }
}

/// One shard's records, up to the next shard's.
struct ShardRecords<'a, 'b> {
    first: Option<Record>,
    records: &'a mut Records<'b>,
}

impl Iterator for ShardRecords<'_, '_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        match self.records.read() {
            Some(shard @ Record::Shard(_)) => {
                self.records.next_shard = Some(shard);
                None
            }
            other => other,
        }
    }
}
